package deviceclock

import (
	"math"
	"sync"
	"time"
)

// Config says what is known of a device's clock. The zero value stands for the
// defaults.
type Config struct {
	// TickNanos is the nominal length of a tick in nanoseconds. 0 is 1.
	TickNanos float64
	// MaxDrift bounds by how much the device's clock runs faster or slower than the
	// host's, in parts per million; 0 is 1000, which leaves room for a host's clock that
	// is being slewed.
	MaxDrift float64
	// Wander bounds by how much the drift differs from its mean between two pairs, in
	// parts per million; 0 is 20.
	Wander float64
	// Resolution is for how many ticks the device's clock stays the same. 0 is 1.
	Resolution int64
}

// Pair is a reading of the device's clock, in ticks, between two readings of the
// host's, in Unix nanoseconds.
type Pair struct{ Before, Device, After int64 }

// Time is a time of the device in Unix nanoseconds.
type Time struct {
	Unix int64
	// Error bounds by how much Unix may be off.
	Error int64
	// Settled reports whether a pair was taken after the time; otherwise the
	// clock may have been set since the last pair.
	Settled bool
}

// Stats counts pairs, and what the clock was asked.
type Stats struct {
	// Pairs counts the pairs that the map is made of.
	Pairs uint64
	// Wide counts those that took too long to add anything.
	Wide uint64
	// Outliers counts those that contradict the others.
	Outliers uint64
	// Invalid counts those whose readings are not in order, or come before the last
	// pair.
	Invalid uint64
	// Steps counts how often the device's clock was set or started again.
	Steps uint64
	// Backward counts the times of streams that lie before an earlier one.
	Backward uint64
	// Unknown counts the times that could not be mapped.
	Unknown uint64
	// MaxError is the largest bound that was returned, in nanoseconds.
	MaxError int64
}

// Clock maps the times of a device. It is safe for concurrent use.
type Clock struct {
	tick, drift, wander, resolution float64 // ns, parts, parts, ns

	mu    sync.Mutex
	pairs []Pair // in order, since the device's clock was set last
	// set is the host's time from which on it was not set again, math.MinInt64 where it was not at all.
	set int64
	// candidate contradicts the pair before; the next one decides what it is.
	candidate *Pair
	stats     Stats
}

// maxPairs bounds the pairs that are kept.
const maxPairs = 1024

// New returns a Clock without pairs, which maps nothing.
func New(cfg Config) *Clock {
	or := func(v, without float64) float64 {
		if !(v > 0) || math.IsInf(v, 0) {
			return without
		}
		return v
	}
	c := &Clock{tick: or(cfg.TickNanos, 1), drift: or(cfg.MaxDrift, 1000) / 1e6, wander: or(cfg.Wander, 20) / 1e6, set: math.MinInt64}
	c.resolution = or(float64(cfg.Resolution), 1) * c.tick
	return c
}

// Sample takes a pair: read returns the device's time in ticks. An error of read is
// returned, and there is no pair.
func (c *Clock) Sample(read func() (int64, error)) error {
	before := time.Now().UnixNano()
	device, err := read()
	if err != nil {
		return err
	}
	c.Add(Pair{before, device, time.Now().UnixNano()})
	return nil
}

// Stats returns the counts.
func (c *Clock) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Add adds a pair, which was taken after those before.
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
		c.drop() // the candidate contradicts those around it
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
	c.stats.Outliers-- // it was none
	c.stats.Steps++
	c.set, c.pairs = candidate.Before, nil
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

// last returns the last pair, nil if there is none.
func (c *Clock) last() *Pair {
	if len(c.pairs) == 0 {
		return nil
	}
	return &c.pairs[len(c.pairs)-1]
}

// keep adds a pair to those that are kept.
func (c *Clock) keep(p Pair) {
	c.stats.Pairs++
	if c.pairs = append(c.pairs, p); len(c.pairs) > maxPairs {
		c.pairs = c.pairs[1:]
	}
}

// agrees reports whether p may follow q without a step between them.
func (c *Clock) agrees(q, p *Pair) bool {
	in := c.after(q, p.Device)
	return p.Device >= q.Device && in.from <= float64(p.After-q.Before) && float64(p.Before-q.Before) <= in.to
}

// follows adds p behind last, or passes over it if it took too long. It
// reports false if p contradicts last.
func (c *Clock) follows(last, p *Pair) bool {
	if !c.agrees(last, p) {
		return false
	}
	in := c.after(last, p.Device) // since last.Before
	from, to := last.Before+int64(math.Floor(in.from)), last.Before+int64(math.Ceil(in.to))
	if p.Before <= from && to <= p.After && to-from < p.After-p.Before {
		c.stats.Wide++
		return true
	}
	c.keep(Pair{max(p.Before, from), p.Device, min(p.After, to)})
	return true
}

// span is an interval of host time, in ns since some pair's Before: differences are
// small enough for the precision of floats.
type span struct{ from, to float64 }

// after returns when the device's clock shows d, which it does after q, since q.Before.
func (c *Clock) after(q *Pair, d int64) span {
	return c.ahead(q, d, span{1 - c.drift, 1 + c.drift})
}

// ahead is after where the host's clock runs at a rate within rates.
func (c *Clock) ahead(q *Pair, d int64, rates span) span {
	delta := ticks(q.Device, d) * c.tick
	return span{delta*rates.from - c.resolution, float64(q.After-q.Before) + delta*rates.to + c.resolution}
}

// behind is ahead for a time before q.
func (c *Clock) behind(q *Pair, d int64, rates span) span {
	delta := ticks(d, q.Device) * c.tick
	return span{-delta*rates.to - c.resolution, float64(q.After-q.Before) - delta*rates.from + c.resolution}
}

// rates returns between which rates the host's clock ran between two pairs, in ns per
// ns of the device.
func (c *Clock) rates(p, q *Pair) span {
	r := span{1 - c.drift, 1 + c.drift}
	if delta := ticks(p.Device, q.Device) * c.tick; delta > 2*c.resolution {
		r.from = max(r.from, float64(q.Before-p.After)/(delta+c.resolution)-c.wander)
		r.to = min(r.to, float64(q.After-p.Before)/(delta-c.resolution)+c.wander)
	}
	return span{min(r.from, r.to), max(r.from, r.to)}
}

// ticks returns the ticks from one time of the device to another, which may be more
// than an int64 holds.
func ticks(from, to int64) float64 {
	d := to - from
	if (d < 0) != (to < from) {
		return float64(to) - float64(from)
	}
	return float64(d)
}
