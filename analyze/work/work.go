package work

import (
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// Figures is what operations computed and moved, as far as that is known: FLOPs as they were
// recorded or, where none were, as they follow from name and shapes (package analyze/flops), and
// bytes as they follow from shapes and element types.
type Figures struct {
	// FLOPsCount is how many operations FLOPs is the sum of. FLOPsDerived is the part of it
	// that was not recorded, of FLOPsDerivedCount operations.
	FLOPsCount        int64 `json:"flops_count"`
	FLOPsDerived      int64 `json:"flops_derived"`
	FLOPsDerivedCount int64 `json:"flops_derived_count"`
	// FLOPsPerSecond is over the operations whose FLOPs are known; nil when there are none,
	// and for the host's view of operations, which lasts as long as the call.
	FLOPsPerSecond op.Float `json:"flops_per_second"`
	// MovedBytes is the size of the inputs and outputs of MovedCount operations; nil when
	// it is known of none.
	MovedBytes op.Int `json:"moved_bytes"`
	MovedCount int64  `json:"moved_count"`
	// FLOPsPerByte is the arithmetic intensity of these operations; nil when they moved
	// nothing.
	FLOPsPerByte op.Float `json:"flops_per_byte"`
	// Roofline is about those of these operations whose device's peaks are known; nil where
	// there are none, and for the host's view of operations.
	Roofline *Roofline `json:"roofline,omitempty"`
}

// Work is what one entry did. The zero value is not known.
type Work struct {
	Flops, Bytes int64
	// Bound is the least time that it takes by the peaks of its device, or of those that the host launched it
	// to, in picoseconds: negative where memory decides, 0 where it is not known.
	Bound int64
	// Facts is one field in place of three: Go keeps structs of up to four in registers.
	Facts Facts
}

// Facts says what is known about work.
type Facts uint8

// What may be known.
const (
	Known   Facts = 1 << iota // the FLOPs are known
	Derived                   // and were not recorded
	Moved                     // the bytes are known, and the FLOPs too
)

// Known reports whether the FLOPs are known.
func (w *Work) Known() bool { return w.Facts&Known != 0 }

// Derived reports whether the FLOPs follow from shapes.
func (w *Work) Derived() bool { return w.Facts&Derived != 0 }

// Moved reports whether the bytes are known.
func (w *Work) Moved() bool { return w.Facts&Moved != 0 }

// Sums adds up work. Its JSON form is that of partial results.
type Sums struct {
	FLOPsCount   int64    `json:"flops_count"`
	DerivedCount int64    `json:"flops_derived_count,omitempty"`
	MovedCount   int64    `json:"moved_count,omitempty"`
	Derived      wide.Sum `json:"flops_derived,omitzero"`
	TimeNS       wide.Sum `json:"time_ns"` // of the entries whose FLOPs are known
	// MovedBytes and MovedFLOPs are of the entries whose bytes are known.
	MovedBytes wide.Sum `json:"moved_bytes,omitzero"`
	MovedFLOPs wide.Sum `json:"moved_flops,omitzero"`
	Bounds
}

// Add adds the work, whose FLOPs are known, of an entry that took d.
func (s *Sums) Add(w *Work, d int64) {
	s.FLOPsCount++
	s.TimeNS.Add(d)
	if w.Derived() {
		s.DerivedCount++
		s.Derived.Add(w.Flops)
	}
	if w.Moved() {
		s.MovedCount++
		s.MovedBytes.Add(w.Bytes)
		s.MovedFLOPs.Add(w.Flops)
		s.Bounds.Add(w, d)
	}
}

// Merge adds the work that o is the sum of.
func (s *Sums) Merge(o *Sums) {
	s.FLOPsCount += o.FLOPsCount
	s.DerivedCount += o.DerivedCount
	s.MovedCount += o.MovedCount
	s.Derived.Merge(o.Derived)
	s.TimeNS.Merge(o.TimeNS)
	s.MovedBytes.Merge(o.MovedBytes)
	s.MovedFLOPs.Merge(o.MovedFLOPs)
	s.Bounds.merge(&o.Bounds)
}

// IsPossible reports whether partial results may state the sums.
func (s *Sums) IsPossible() bool {
	b := &s.Bounds
	return wide.AreCounts(s.FLOPsCount, s.DerivedCount, s.MovedCount, b.Count) &&
		(b.Count == 0 || b.ArithmeticPS != b.MemoryPS || b.MemoryPS != (wide.Sum{}))
}

// Saturates reports whether a sum does not fit the report's int64.
func (s *Sums) Saturates() bool { return s.Derived.ExceedsInt64() || s.MovedBytes.ExceedsInt64() }

// Figures returns the figures of operations of a side with so many FLOPs.
func (s *Sums) Figures(flops wide.Sum, host bool) Figures {
	w := Figures{
		FLOPsCount: s.FLOPsCount, FLOPsDerived: s.Derived.Int64(), FLOPsDerivedCount: s.DerivedCount, MovedCount: s.MovedCount,
	}
	if ns := s.TimeNS.Float64(); ns > 0 && !host {
		w.FLOPsPerSecond = op.KnownFloat(flops.Float64() / ns * 1e9)
	}
	if s.MovedCount == 0 {
		return w
	}
	if !host {
		w.Roofline = s.Bounds.Roofline()
	}
	w.MovedBytes = op.Known(s.MovedBytes.Int64())
	if bytes := s.MovedBytes.Float64(); bytes > 0 {
		w.FLOPsPerByte = op.KnownFloat(s.MovedFLOPs.Float64() / bytes)
	}
	return w
}
