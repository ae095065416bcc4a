package analyze

import (
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// Work is what operations computed and moved, as far as that is known: FLOPs as they were
// recorded or, where none were, as they follow from name and shapes (package analyze/flops), and
// bytes as they follow from shapes and element types.
type Work struct {
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

// work is what one entry did. The zero value is not known.
type work struct {
	flops, bytes int64
	// bound is the least time that it takes by the device's peaks, in picoseconds: negative
	// where memory decides, 0 where it is not known.
	bound int64
	// facts is one field in place of three: Go keeps structs of up to four in registers.
	facts workFacts
}

// workFacts says what is known about work.
type workFacts uint8

const (
	workKnown   workFacts = 1 << iota // the FLOPs are known
	workDerived                       // and were not recorded
	workMoved                         // the bytes are known, and the FLOPs too
)

func (w *work) known() bool   { return w.facts&workKnown != 0 }
func (w *work) derived() bool { return w.facts&workDerived != 0 }
func (w *work) moved() bool   { return w.facts&workMoved != 0 }

// workSums adds up work.
type workSums struct {
	flopsCount, derivedCount, movedCount int64
	derived                              wide.Sum
	time                                 wide.Sum // ns, of the entries whose FLOPs are known
	bytes, movedFLOPs                    wide.Sum // of the entries whose bytes are known
	bound                                boundSums
}

// add adds the work, whose FLOPs are known, of an entry that took d.
func (s *workSums) add(w *work, d int64) {
	s.flopsCount++
	s.time.Add(d)
	if w.derived() {
		s.derivedCount++
		s.derived.Add(w.flops)
	}
	if w.moved() {
		s.movedCount++
		s.bytes.Add(w.bytes)
		s.movedFLOPs.Add(w.flops)
		s.bound.add(w, d)
	}
}

func (s *workSums) merge(o *workSums) {
	s.flopsCount += o.flopsCount
	s.derivedCount += o.derivedCount
	s.movedCount += o.movedCount
	s.derived.Merge(o.derived)
	s.time.Merge(o.time)
	s.bytes.Merge(o.bytes)
	s.movedFLOPs.Merge(o.movedFLOPs)
	s.bound.merge(&o.bound)
}

// saturates reports whether a sum does not fit the report's int64.
func (s *workSums) saturates() bool { return s.derived.ExceedsInt64() || s.bytes.ExceedsInt64() }

// figures returns the figures of operations of a side with so many FLOPs.
func (s *workSums) figures(flops wide.Sum, side int) Work {
	w := Work{
		FLOPsCount: s.flopsCount, FLOPsDerived: s.derived.Int64(), FLOPsDerivedCount: s.derivedCount, MovedCount: s.movedCount,
	}
	if ns := s.time.Float64(); ns > 0 && side != sideIndex(op.SideHost) {
		w.FLOPsPerSecond = op.KnownFloat(flops.Float64() / ns * 1e9)
	}
	if s.movedCount == 0 {
		return w
	}
	if side != sideIndex(op.SideHost) {
		w.Roofline = s.bound.figures()
	}
	w.MovedBytes = op.Known(s.bytes.Int64())
	if bytes := s.bytes.Float64(); bytes > 0 {
		w.FLOPsPerByte = op.KnownFloat(s.movedFLOPs.Float64() / bytes)
	}
	return w
}
