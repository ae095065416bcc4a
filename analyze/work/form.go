package work

import "github.com/optrace/optrace/analyze/internal/wide"

// Form is the form of work in partial results.
type Form struct {
	FLOPsCount   int64    `json:"flops_count"`
	DerivedCount int64    `json:"flops_derived_count,omitempty"`
	MovedCount   int64    `json:"moved_count,omitempty"`
	Derived      wide.Sum `json:"flops_derived,omitzero"`
	TimeNS       wide.Sum `json:"time_ns"`
	MovedBytes   wide.Sum `json:"moved_bytes,omitzero"`
	MovedFLOPs   wide.Sum `json:"moved_flops,omitzero"`
	BoundCount   int64    `json:"bound_count,omitempty"`
	BoundTimeNS  wide.Sum `json:"bound_time_ns,omitzero"`
	BoundFLOPs   wide.Sum `json:"bound_flops,omitzero"`
	BoundBytes   wide.Sum `json:"bound_bytes,omitzero"`
	ArithmeticPS wide.Sum `json:"arithmetic_ps,omitzero"`
	MemoryPS     wide.Sum `json:"memory_ps,omitzero"`
}

// Form returns the form of s.
func (s *Sums) Form() *Form {
	b := &s.bound
	return &Form{
		FLOPsCount: s.flopsCount, DerivedCount: s.derivedCount, MovedCount: s.movedCount,
		Derived: s.derived, TimeNS: s.time, MovedBytes: s.bytes, MovedFLOPs: s.movedFLOPs,
		BoundCount: b.count, BoundTimeNS: b.time, BoundFLOPs: b.flops, BoundBytes: b.bytes,
		ArithmeticPS: b.arithmetic, MemoryPS: b.memory,
	}
}

// Sums returns the sums of which f is the form; ok is false where it is that of none.
func (f *Form) Sums() (s *Sums, ok bool) {
	for _, n := range []int64{f.FLOPsCount, f.DerivedCount, f.MovedCount, f.BoundCount} {
		if !wide.IsCount(n, wide.MaxCount) {
			return nil, false
		}
	}
	if !wide.ArePossible(f.Derived, f.TimeNS, f.MovedBytes, f.MovedFLOPs, f.BoundTimeNS, f.BoundFLOPs, f.BoundBytes,
		f.ArithmeticPS, f.MemoryPS) ||
		f.BoundCount > 0 && f.ArithmeticPS == f.MemoryPS && f.MemoryPS == (wide.Sum{}) {
		return nil, false
	}
	return &Sums{
		flopsCount: f.FLOPsCount, derivedCount: f.DerivedCount, movedCount: f.MovedCount,
		derived: f.Derived, time: f.TimeNS, bytes: f.MovedBytes, movedFLOPs: f.MovedFLOPs,
		bound: boundSums{f.BoundCount, f.BoundTimeNS, f.BoundFLOPs, f.BoundBytes, f.ArithmeticPS, f.MemoryPS},
	}, true
}
