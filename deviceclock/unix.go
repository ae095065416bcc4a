package deviceclock

import (
	"math"
	"sort"
)

// Unix converts a time of the device to Unix nanoseconds. The result lies between from and to, such as the launch of an
// operation and now. Unix reports false if no such time agrees with the pairs, or if the clock may have been set after
// the time: a restarted clock shows the same times again.
func (c *Clock) Unix(device, from, to int64) (t Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := place{from: 1}
	if len(c.pairs) > 0 && from >= c.set {
		p = c.place(device)
	}
	if p.from, p.to = max(p.from, from), min(p.to, to); p.from > p.to {
		c.stats.Unknown++
		return Time{}, false
	}
	at := min(max(p.at, p.from), p.to)
	t = Time{Unix: at, Error: max(apart(p.from, at), apart(at, p.to)), Settled: p.settled}
	c.stats.MaxError = max(c.stats.MaxError, t.Error)
	return t, true
}

// place is the interval of a time, in Unix ns. It is empty if from is greater than to.
type place struct {
	from, to, at int64
	settled      bool
}

// place returns the place of a time.
func (c *Clock) place(device int64) place {
	next := sort.Search(len(c.pairs), func(i int) bool { return c.pairs[i].Device > device })
	switch next {
	case 0:
		return c.before(device)
	case len(c.pairs):
		return c.beyond(device)
	}
	return c.between(&c.pairs[next-1], &c.pairs[next], device)
}

// between returns the place of a time between two pairs.
func (c *Clock) between(p, q *Pair, device int64) place {
	rates := c.rates(p, q)
	ahead := c.ahead(p, device, rates)
	behind := c.behind(q, device, rates)
	since := float64(q.Before - p.Before)
	part := ticks(p.Device, device) / ticks(p.Device, q.Device)
	middle := float64(p.After-p.Before) / 2
	next := since + float64(q.After-q.Before)/2
	from := max(ahead.from, since+behind.from)
	to := min(ahead.to, since+behind.to)
	return placed(p.Before, span{min(from, to), max(from, to)}, middle+part*(next-middle), true)
}

// before returns the place of a time before the first pair.
func (c *Clock) before(device int64) place {
	p := &c.pairs[0]
	in := c.behind(p, device, span{1 - c.drift, 1 + c.drift})
	rate := c.rate(c.pairs[:min(len(c.pairs), recent)])
	at := float64(p.After-p.Before)/2 - ticks(device, p.Device)*c.tick*rate
	return placed(p.Before, in, at, c.set != math.MinInt64)
}

// beyond returns the place of a time at or after the last pair.
func (c *Clock) beyond(device int64) place {
	p := c.last()
	rate := c.rate(c.pairs[max(0, len(c.pairs)-recent):])
	at := float64(p.After-p.Before)/2 + ticks(p.Device, device)*c.tick*rate
	return placed(p.Before, c.after(p, device), at, device == p.Device)
}

const recent = 16 // the number of pairs that determine the rate beyond all pairs

// rate returns the rate of the host's clock over some pairs.
func (c *Clock) rate(pairs []Pair) float64 {
	p := &pairs[0]
	q := &pairs[len(pairs)-1]
	delta := ticks(p.Device, q.Device) * c.tick
	if delta <= 0 {
		return 1
	}
	r := (float64(q.Before-p.Before) + float64((q.After-q.Before)-(p.After-p.Before))/2) / delta
	return min(max(r, 1-c.drift), 1+c.drift)
}

// placed returns the place of a span since base, with the time at moved into the span.
func placed(base int64, in span, at float64, settled bool) place {
	const far = 1 << 62 // floats farther away lose nanoseconds
	if !(in.from > -far && in.to < far) {
		return place{from: 1, to: 0}
	}
	at = min(max(at, in.from), in.to)
	return place{
		from: add(base, math.Floor(in.from)), to: add(base, math.Ceil(in.to)), at: add(base, math.Round(at)),
		settled: settled,
	}
}

// add returns base + ns, within int64.
func add(base int64, ns float64) int64 {
	d := int64(ns)
	switch sum := base + d; {
	case d > 0 && sum < base:
		return math.MaxInt64
	case d < 0 && sum > base:
		return math.MinInt64
	default:
		return sum
	}
}

// apart returns b - a for b >= a, within int64.
func apart(a, b int64) int64 {
	if d := b - a; d >= 0 {
		return d
	}
	return math.MaxInt64
}

// Stream converts the times of one stream of a device in order. No result lies before an earlier one, even if the clock
// learns more in between. One goroutine uses a Stream at a time.
type Stream struct {
	clock        *Clock
	device, unix int64  // the last time
	steps        uint64 // of the clock at the last time
	known        bool
}

// Stream returns a Stream of c.
func (c *Clock) Stream() *Stream { return &Stream{clock: c} }

// Unix is [Clock.Unix] for the next time of the stream. It replaces a result before the last one by the last one, and
// enlarges its bound by the difference. Backward of [Stats] counts device times that run backward without a step.
func (s *Stream) Unix(device, from, to int64) (t Time, ok bool) {
	if t, ok = s.clock.Unix(device, from, to); !ok {
		return t, false
	}
	s.clock.mu.Lock()
	steps := s.clock.stats.Steps
	if s.known && device < s.device && steps == s.steps {
		s.clock.stats.Backward++
	}
	s.clock.mu.Unlock()
	if s.known && t.Unix < s.unix {
		back := apart(t.Unix, s.unix)
		t.Error = min(t.Error, math.MaxInt64-back) + back
		t.Unix = s.unix
	}
	s.device = device
	s.unix = t.Unix
	s.steps = steps
	s.known = true
	return t, true
}
