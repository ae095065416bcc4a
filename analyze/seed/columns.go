package seed

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// Columns holds of each entry of a trace what the analyses look at, column by column.
//
//	t := seed.NewColumns(nil)
//	for e := range entries {
//		t.Add(e)
//	}
//	s := t.Summary()
//	fmt.Println(s.OperationSummary(), s.FlamegraphCollapsed())
//
// A Columns is not safe for concurrent use, except that its methods other than
// Add may be called from several goroutines while none calls Add.
type Columns struct {
	// TotalDuration is the sum of the durations of the entries that are not host-side, in nanoseconds, or the total that the
	// trace states.
	TotalDuration int64

	pairs    pairs
	pair     []int32 // number in pairs
	duration []int64 // ns
	memory   []int64 // bytes
	// durations and memories bound every sum of durations or memory sizes.
	durations, memories magnitude
}

// NewColumns returns the columns of t, which does not change; a nil t is empty.
func NewColumns(t *seed.Trace) *Columns {
	c := &Columns{}
	if t == nil {
		return c
	}
	for i := range t.Entries {
		c.Add(&t.Entries[i])
	}
	c.TotalDuration = t.TotalDuration
	return c
}

// Add appends an entry and adds its duration to the total, unless it is
// host-side. It keeps nothing of e but its strings.
func (t *Columns) Add(e *op.Entry) {
	t.pair = append(t.pair, t.pairs.number(e))
	t.duration, t.memory = append(t.duration, e.Duration), append(t.memory, e.MemoryBytes.V)
	t.durations.add(e.Duration)
	t.memories.add(e.MemoryBytes.V)
	if e.Side != op.SideHost {
		t.TotalDuration = wide.AddSaturating(t.TotalDuration, e.Duration)
	}
}

// Slow is the place of an entry among those that were added, and its duration.
type Slow struct {
	Index      int
	DurationNS int64
}

// SlowestOps returns the n entries with the longest durations, longest first and
// in order of appearance where durations are equal.
func (t *Columns) SlowestOps(n int) []Slow {
	n = min(n, len(t.duration))
	if n <= 0 {
		return []Slow{}
	}
	var longest []Slow
	lowest := int64(math.MinInt64) // duration of the last candidate
	for i, d := range t.duration {
		if d < lowest {
			continue
		}
		longest = append(longest, Slow{i, d})
		if len(longest) >= 2*n {
			longest = longestFirst(longest)[:n]
			lowest = wide.AddSaturating(longest[n-1].DurationNS, 1)
		}
	}
	return longestFirst(longest)[:n]
}

func longestFirst(entries []Slow) []Slow {
	slices.SortStableFunc(entries, func(a, b Slow) int { return cmp.Compare(b.DurationNS, a.DurationNS) })
	return entries
}

// magnitude is the sum of the magnitudes of numbers, which bounds the sum of any
// of them.
type magnitude struct{ sum uint64 }

func (m *magnitude) add(v int64) {
	if !m.fitsInt64() {
		return // any more might wrap
	}
	if v < 0 {
		m.sum -= uint64(v)
	} else {
		m.sum += uint64(v)
	}
}

// fitsInt64 reports whether sums fit an int64, in whatever order and of
// whichever numbers.
func (m magnitude) fitsInt64() bool { return m.sum <= math.MaxInt64 }
