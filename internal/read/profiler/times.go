package profiler

import (
	"time"

	"github.com/optrace/optrace/op"
)

// HasTime reports whether an event of a device has a time. CUPTI leaves start and duration 0 where it knows neither.
// A start more than an hour before the launch is wrong. All times are nanoseconds of one clock.
func HasTime(start, duration int64, launch op.Int) bool {
	if start == 0 && duration == 0 {
		return false
	}
	return !launch.Known || launch.V-start < int64(time.Hour)
}

// Eras counts the starts of a recording by spans of 104 days. A start months away from most others is wild: a fault of
// the profiler, such as one in 1970. The zero value is ready for use.
type Eras struct {
	counts map[int64]int64
	usual  int64
}

// Add counts a Unix time.
func (e *Eras) Add(start op.Int) {
	if e.counts == nil {
		e.counts = make(map[int64]int64)
	}
	era := start.V >> 53
	e.counts[era]++
	if n := e.counts[e.usual]; n < e.counts[era] || n == e.counts[era] && e.usual < era {
		e.usual = era
	}
}

// Tame returns a Unix time, unknown if it is wild. All starts must have been added.
func (e *Eras) Tame(start op.Int) op.Int {
	if far := start.V>>53 - e.usual; far < -1 || far > 1 {
		return op.Int{}
	}
	return start
}

// Check takes a wild start from an entry.
func (e *Eras) Check(entry *op.Entry) {
	if start := e.Tame(entry.Start); start != entry.Start {
		entry.Start = start
		entry.Warn |= op.WarnBadTime
	}
}
