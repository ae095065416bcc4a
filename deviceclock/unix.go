package deviceclock

import (
	"math"
	"slices"
)

// Unix returns the Unix time of a time of the device, of which is known that it lies
// between from and to, such as the launch of an operation and now: a device's clock that
// started again shows the same times a second time. It reports false where no pairs are
// known that such a time agrees with.
func (c *Clock) Unix(device, from, to int64) (t Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok = c.unix(device, from, to); ok {
		c.stats.MaxError = max(c.stats.MaxError, t.Error)
	} else {
		c.stats.Unknown++
	}
	return t, ok
}

// place is where a time may lie, in Unix ns.
type place struct {
	from, to, at int64
	settled      bool
}

func (c *Clock) unix(device, from, to int64) (t Time, ok bool) {
	var all place
	for i := range slices.Backward(c.epochs) {
		p := c.placeIn(i, device)
		if p.from, p.to = max(p.from, from), min(p.to, to); p.from > p.to {
			continue
		}
		p.at = min(max(p.at, p.from), p.to)
		if !ok {
			all, t.epoch, ok = p, c.first+i, true
			continue
		}
		all.from, all.to, all.settled = min(all.from, p.from), max(all.to, p.to), all.settled && p.settled
		all.at = all.from + apart(all.from, all.to)/2
		t.epoch = -1
	}
	t.Unix, t.Error, t.Settled = all.at, max(apart(all.from, all.at), apart(all.at, all.to)), all.settled
	return t, ok
}

// placeIn returns where a time lies if it belongs to an epoch; p.from is greater than
// p.to where it cannot.
func (c *Clock) placeIn(i int, device int64) (p place) {
	e := c.epochs[i]
	at := e.find(device)
	switch {
	case at < 0:
		p = c.before(e, device)
		if i > 0 { // the epoch began after the last pair of the one before
			last := c.epochs[i-1]
			p.from, p.settled = max(p.from, last[len(last)-1].Before), true
		}
	case at == len(e)-1:
		p = c.beyond(e, device)
		if i < len(c.epochs)-1 {
			p.to, p.settled = min(p.to, c.epochs[i+1][0].After), true
		}
	default:
		p = c.between(&e[at], &e[at+1], device)
	}
	return p
}

// between returns where a time between two pairs lies.
func (c *Clock) between(p, q *Pair, device int64) place {
	rates := c.rates(p, q)
	ahead, behind := c.ahead(p, device, rates), c.behind(q, device, rates)
	since := float64(q.Before - p.Before)
	part := ticks(p.Device, device) / ticks(p.Device, q.Device)
	middle, next := float64(p.After-p.Before)/2, since+float64(q.After-q.Before)/2
	from, to := max(ahead.from, since+behind.from), min(ahead.to, since+behind.to)
	return placed(p.Before, span{min(from, to), max(from, to)}, middle+part*(next-middle), true)
}

// before returns where a time before the first pair lies.
func (c *Clock) before(e epoch, device int64) place {
	p := &e[0]
	in := c.behind(p, device, span{1 - c.drift, 1 + c.drift})
	return placed(p.Before, in, float64(p.After-p.Before)/2-ticks(device, p.Device)*c.tick*c.rate(e[:min(len(e), recent)]), false)
}

// beyond returns where a time at or after the last pair lies.
func (c *Clock) beyond(e epoch, device int64) place {
	p := &e[len(e)-1]
	in := c.after(p, device)
	at := float64(p.After-p.Before)/2 + ticks(p.Device, device)*c.tick*c.rate(e[max(0, len(e)-recent):])
	return placed(p.Before, in, at, device == p.Device)
}

// recent is of how many pairs the rate is taken beyond them.
const recent = 16

// rate returns the rate of the host's clock over some pairs.
func (c *Clock) rate(e epoch) float64 {
	p, q := &e[0], &e[len(e)-1]
	delta := ticks(p.Device, q.Device) * c.tick
	if delta <= 0 {
		return 1
	}
	r := (float64(q.Before-p.Before) + float64((q.After-q.Before)-(p.After-p.Before))/2) / delta
	return min(max(r, 1-c.drift), 1+c.drift)
}

// placed returns the place of a span since base, with the time at, which it may not
// reach.
func placed(base int64, in span, at float64, settled bool) place {
	const far = 1 << 62 // what is farther away is not known to the nanosecond
	if !(in.from > -far && in.to < far) {
		return place{from: 1, to: 0}
	}
	at = min(max(at, in.from), in.to)
	return place{
		from: add(base, math.Floor(in.from)), to: add(base, math.Ceil(in.to)), at: add(base, math.Round(at)), settled: settled,
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

// apart returns b - a, which is not negative, within int64.
func apart(a, b int64) int64 {
	if d := b - a; d >= 0 {
		return d
	}
	return math.MaxInt64
}

// Stream maps the times of one stream of a device, which are taken in order: no time
// lies before an earlier one, whatever the clock learns in between. It is used by one
// goroutine at a time.
type Stream struct {
	clock        *Clock
	device, unix int64
	epoch        int
	known        bool
}

// Stream returns a Stream of c.
func (c *Clock) Stream() *Stream { return &Stream{clock: c} }

// Unix is [Clock.Unix] for the next time of the stream. A time that would lie before
// the last one becomes that one, and its bound grows by as much. A device's clock that runs
// backward within an epoch is counted.
func (s *Stream) Unix(device, from, to int64) (t Time, ok bool) {
	if t, ok = s.clock.Unix(device, from, to); !ok {
		return t, false
	}
	if s.known && device < s.device && t.epoch == s.epoch {
		s.clock.mu.Lock()
		s.clock.stats.Backward++
		s.clock.mu.Unlock()
	}
	if s.known && t.Unix < s.unix {
		back := apart(t.Unix, s.unix)
		t.Error = min(t.Error, math.MaxInt64-back) + back
		t.Unix = s.unix
	}
	s.device, s.unix, s.epoch, s.known = device, t.Unix, t.epoch, true
	return t, true
}
