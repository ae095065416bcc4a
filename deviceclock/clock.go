package deviceclock

import (
	"math"
	"sync"
	"time"
)

// Config describes a device's clock. Zero fields stand for the defaults.
type Config struct {
	// TickNanos is the nominal length of a tick in nanoseconds. 0 is 1.
	TickNanos float64
	// MaxDrift bounds the difference in rate between the device's clock and the host's, in parts per million. 0 is
	// 1000, enough for a host's clock that is being slewed.
	MaxDrift float64
	// Wander bounds the change of the drift between two pairs, in parts per million. 0 is 20.
	Wander float64
	// Resolution is the number of ticks between two values of the device's clock. 0 is 1.
	Resolution int64
}

// Pair is a reading of the device's clock, in ticks, between two readings of the host's, in Unix nanoseconds.
type Pair struct{ Before, Device, After int64 }

// Time is a time of the device in Unix nanoseconds.
type Time struct {
	Unix int64
	// Error bounds the error of Unix, in nanoseconds.
	Error int64
	// Settled reports whether a later pair exists. Otherwise the clock may have been set since the last pair.
	Settled bool
}

// Stats counts pairs and conversions.
type Stats struct {
	Pairs    uint64 // pairs in the map
	Wide     uint64 // pairs too slow to tighten a bound
	Outliers uint64 // pairs that contradict the others
	Invalid  uint64 // pairs with readings out of order, or before the last pair
	Steps    uint64 // times the device's clock was set or restarted
	Backward uint64 // times in a [Stream] before an earlier time of it
	Unknown  uint64 // times without a conversion
	MaxError int64  // largest bound returned, in nanoseconds
}

// Clock converts the times of a device. It is safe for concurrent use.
type Clock struct {
	tick, drift, wander, resolution float64 // ns, parts, parts, ns

	mu    sync.Mutex
	pairs []Pair // in order, since the device's clock was last set
	set   int64  // the host's time after the last step, or math.MinInt64 without a step
	// candidate contradicts the pair before. The next pair makes it an outlier or a step.
	candidate *Pair
	stats     Stats
}

const maxPairs = 1024 // bounds the number of pairs in memory

// New returns a Clock without pairs. It converts no time before the first pair.
func New(cfg Config) *Clock {
	or := func(v, without float64) float64 {
		if !(v > 0) || math.IsInf(v, 0) {
			return without
		}
		return v
	}
	c := &Clock{
		tick: or(cfg.TickNanos, 1), drift: or(cfg.MaxDrift, 1000) / 1e6, wander: or(cfg.Wander, 20) / 1e6,
		set: math.MinInt64,
	}
	c.resolution = or(float64(cfg.Resolution), 1) * c.tick
	return c
}

// Sample adds a pair with the device's time in ticks from read. It returns read's error, and then adds no pair.
func (c *Clock) Sample(read func() (int64, error)) error {
	before := time.Now().UnixNano()
	device, err := read()
	if err != nil {
		return err
	}
	c.Add(Pair{before, device, time.Now().UnixNano()})
	return nil
}

// Stats returns the counts so far.
func (c *Clock) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Add adds a pair taken after the earlier pairs.
func (c *Clock) Add(p Pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last()
	switch {
	case p.Before > p.After || last != nil && p.After < last.Before:
		c.stats.Invalid++
		return
	case last == nil:
		c.keep(p)
		return
	case c.follows(last, &p):
		c.drop() // the candidate contradicts both neighbors
		return
	case c.candidate == nil:
		c.candidate = &p
		return
	}
	candidate := *c.candidate
	c.drop()
	if p.Device < candidate.Device || !c.agrees(&candidate, &p) {
		c.candidate = &p
		return
	}
	c.stats.Outliers-- // the candidate was a step
	c.stats.Steps++
	c.set = candidate.Before
	c.pairs = nil
	c.keep(candidate)
	c.follows(&candidate, &p)
}

// drop counts the candidate as an outlier.
func (c *Clock) drop() {
	if c.candidate != nil {
		c.stats.Outliers++
		c.candidate = nil
	}
}

// last returns the last pair, or nil.
func (c *Clock) last() *Pair {
	if len(c.pairs) == 0 {
		return nil
	}
	return &c.pairs[len(c.pairs)-1]
}

// keep appends a pair.
func (c *Clock) keep(p Pair) {
	c.stats.Pairs++
	if c.pairs = append(c.pairs, p); len(c.pairs) > maxPairs {
		c.pairs = c.pairs[1:]
	}
}

// agrees reports whether p can follow q without a step.
func (c *Clock) agrees(q, p *Pair) bool {
	in := c.after(q, p.Device)
	return p.Device >= q.Device && in.from <= float64(p.After-q.Before) && float64(p.Before-q.Before) <= in.to
}

// follows adds p after last, or skips it if it is too slow. It reports false if p contradicts last.
func (c *Clock) follows(last, p *Pair) bool {
	if !c.agrees(last, p) {
		return false
	}
	in := c.after(last, p.Device) // since last.Before
	from := last.Before + int64(math.Floor(in.from))
	to := last.Before + int64(math.Ceil(in.to))
	if p.Before <= from && to <= p.After && to-from < p.After-p.Before {
		c.stats.Wide++
		return true
	}
	c.keep(Pair{max(p.Before, from), p.Device, min(p.After, to)})
	return true
}

// span is an interval of host time in ns since a pair's Before. Such differences fit the precision of floats.
type span struct{ from, to float64 }

// after returns the time, since q.Before, at which the device's clock shows d after q.
func (c *Clock) after(q *Pair, d int64) span {
	return c.ahead(q, d, span{1 - c.drift, 1 + c.drift})
}

// ahead is after with the host's clock running at a rate within rates.
func (c *Clock) ahead(q *Pair, d int64, rates span) span {
	delta := ticks(q.Device, d) * c.tick
	return span{delta*rates.from - c.resolution, float64(q.After-q.Before) + delta*rates.to + c.resolution}
}

// behind is ahead for a time before q.
func (c *Clock) behind(q *Pair, d int64, rates span) span {
	delta := ticks(d, q.Device) * c.tick
	return span{-delta*rates.to - c.resolution, float64(q.After-q.Before) - delta*rates.from + c.resolution}
}

// rates returns the possible rates of the host's clock between two pairs, in ns per ns of the device.
func (c *Clock) rates(p, q *Pair) span {
	r := span{1 - c.drift, 1 + c.drift}
	if delta := ticks(p.Device, q.Device) * c.tick; delta > 2*c.resolution {
		r.from = max(r.from, float64(q.Before-p.After)/(delta+c.resolution)-c.wander)
		r.to = min(r.to, float64(q.After-p.Before)/(delta-c.resolution)+c.wander)
	}
	return span{min(r.from, r.to), max(r.from, r.to)}
}

// ticks returns the ticks between two times of the device, even beyond the range of int64.
func ticks(from, to int64) float64 {
	d := to - from
	if (d < 0) != (to < from) {
		return float64(to) - float64(from)
	}
	return float64(d)
}
