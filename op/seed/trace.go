package seed

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Trace is a small execution trace held in memory: the container of the
// recorder this project started from, with its convenience methods. Larger
// data is streamed through package analyze instead.
type Trace struct {
	Entries []op.Entry
	// TotalDuration is the sum of the durations of the entries that are not host-side,
	// in nanoseconds, or the total that the file states from which the trace was read.
	TotalDuration int64
	// Metadata describes the trace.
	Metadata map[string]string
}

// AddEntry appends a copy of e and adds its duration to the total, unless it is
// the host's view of work that has an entry of its own.
func (t *Trace) AddEntry(e *op.Entry) {
	if e.Side != op.SideHost {
		t.TotalDuration = opmodel.AddSaturating(t.TotalDuration, e.Duration)
	}
	t.Entries = append(t.Entries, *e.Clone())
}

// WithMetadata sets a key of the metadata and returns t.
func (t *Trace) WithMetadata(key, value string) *Trace {
	if t.Metadata == nil {
		t.Metadata = make(map[string]string)
	}
	t.Metadata[key] = value
	return t
}

// TotalDurationUS returns the total duration in microseconds.
func (t *Trace) TotalDurationUS() float64 { return float64(t.TotalDuration) / 1000 }

// StepCount returns the number of entries.
func (t *Trace) StepCount() int { return len(t.Entries) }

// TotalMemoryBytes returns the sum of the entries' memory.
func (t *Trace) TotalMemoryBytes() int64 {
	sum := int64(0)
	for i := range t.Entries {
		sum = opmodel.AddSaturating(sum, t.Entries[i].MemoryBytes.V)
	}
	return sum
}

// PeakMemoryBytes returns the largest memory of a single entry; 0 when there
// are none.
func (t *Trace) PeakMemoryBytes() int64 {
	peak := int64(0)
	for i := range t.Entries {
		peak = max(peak, t.Entries[i].MemoryBytes.V)
	}
	return peak
}

// SlowestOps returns the n entries of the longest duration, longest first and
// in order of appearance where durations are equal.
func (t *Trace) SlowestOps(n int) []*op.Entry {
	all := make([]*op.Entry, len(t.Entries))
	for i := range t.Entries {
		all[i] = &t.Entries[i]
	}
	slices.SortStableFunc(all, func(a, b *op.Entry) int { return cmp.Compare(b.Duration, a.Duration) })
	return all[:max(0, min(n, len(all)))]
}
