package work

import (
	"cmp"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Figures describes the known computation and data movement of operations. FLOPs are recorded or derived from name and
// shapes (package flops). Bytes are derived from shapes and element types.
type Figures struct {
	// FLOPsCount is the number of operations with known FLOPs. FLOPsDerived is the derived part of the sum, from
	// FLOPsDerivedCount operations.
	FLOPsCount        int64 `json:"flops_count"`
	FLOPsDerived      int64 `json:"flops_derived"`
	FLOPsDerivedCount int64 `json:"flops_derived_count"`
	// FLOPsPerSecond is the rate over operations with known FLOPs; unknown without them and for the host's view.
	FLOPsPerSecond op.Float `json:"flops_per_second"`
	// MovedBytes is the size of the inputs and outputs of MovedCount operations; unknown without them.
	MovedBytes op.Int `json:"moved_bytes"`
	MovedCount int64  `json:"moved_count"`
	Plain      Plain  `json:"-"`
	// FLOPsPerByte is the arithmetic intensity of these operations; unknown if they moved no bytes.
	FLOPsPerByte op.Float `json:"flops_per_byte"`
	// Roofline covers those operations with known device peaks; nil without them and for the host's view.
	Roofline *Roofline `json:"roofline,omitempty"`
}

// Work is the work of one entry. The zero value is unknown.
type Work struct {
	Flops, Bytes int64
	// Bound is the least time by the peaks of the device, in picoseconds: negative if memory decides, 0 if unknown. Without
	// bytes it is that of much arithmetic.
	// The host's view of an operation uses the peaks of its accelerator.
	Bound int64
	// Facts is one field because Go keeps structs of up to four fields in registers.
	Facts Facts
}

// Facts tells which parts of a Work are known.
type Facts uint8

// Facts of a Work.
const (
	Known   Facts = 1 << iota // the FLOPs are known
	Derived                   // the FLOPs were not recorded
	Moved                     // the bytes are known, and so are the FLOPs
	OnPlain                   // f32 arithmetic beside tensor cores, near the peak without them
)

// Known reports whether the FLOPs are known.
func (w *Work) Known() bool { return w.Facts&Known != 0 }

// Derived reports whether the FLOPs were derived from shapes.
func (w *Work) Derived() bool { return w.Facts&Derived != 0 }

// Moved reports whether the bytes are known.
func (w *Work) Moved() bool { return w.Facts&Moved != 0 }

// Sums adds up work. Partial results contain it as JSON.
type Sums struct {
	FLOPsCount   int64    `json:"flops_count"`
	DerivedCount int64    `json:"flops_derived_count,omitempty"`
	MovedCount   int64    `json:"moved_count,omitempty"`
	Derived      wide.Sum `json:"flops_derived,omitzero"`
	TimeNS       wide.Sum `json:"time_ns"` // of entries with known FLOPs
	// MovedBytes and MovedFLOPs cover entries with known bytes.
	MovedBytes wide.Sum `json:"moved_bytes,omitzero"`
	MovedFLOPs wide.Sum `json:"moved_flops,omitzero"`
	// Plain is of f32 arithmetic beside tensor cores, near the peak without them.
	PlainCount int64    `json:"plain_count,omitempty"`
	PlainNS    wide.Sum `json:"plain_ns,omitzero"`
	PlainFLOPs wide.Sum `json:"plain_flops,omitzero"`
	Bounds
}

// Plain sums up operations with f32 arithmetic beside tensor cores, near the peak without them.
type Plain struct{ Count, SumNS, FLOPs int64 }

// OnTensorCores returns the part of their time that operations take on tensor cores: at two thirds of the first device's
// peak, with the same bytes, and at most 0.35. It is 0.35 without FLOPs or a peak, too.
func (p *Plain) OnTensorCores(bytes int64, devices []peaks.Device) float64 {
	const usual = 0.35
	if p.FLOPs == 0 || len(devices) == 0 || devices[0].TF32FLOPsPerSecond <= 0 {
		return usual
	}
	d := &devices[0]
	seconds := max(float64(p.FLOPs)*1.5/d.TF32FLOPsPerSecond, float64(bytes)/d.BytesPerSecond)
	return min(usual, seconds*1e9/float64(p.SumNS))
}

// Add adds the work of an entry with duration d. Its FLOPs must be known.
func (s *Sums) Add(w *Work, d int64) {
	s.FLOPsCount++
	s.TimeNS.Add(d)
	if w.Derived() {
		s.DerivedCount++
		s.Derived.Add(w.Flops)
	}
	if w.Facts&OnPlain != 0 {
		s.PlainCount++
		s.PlainNS.Add(d)
		s.PlainFLOPs.Add(w.Flops)
	}
	if w.Moved() {
		s.MovedCount++
		s.MovedBytes.Add(w.Bytes)
		s.MovedFLOPs.Add(w.Flops)
		s.Bounds.Add(w, d)
	}
}

// Merge adds the sums of o.
func (s *Sums) Merge(o *Sums) {
	s.FLOPsCount += o.FLOPsCount
	s.DerivedCount += o.DerivedCount
	s.MovedCount += o.MovedCount
	s.Derived.Merge(o.Derived)
	s.TimeNS.Merge(o.TimeNS)
	s.MovedBytes.Merge(o.MovedBytes)
	s.MovedFLOPs.Merge(o.MovedFLOPs)
	s.PlainCount += o.PlainCount
	s.PlainNS.Merge(o.PlainNS)
	s.PlainFLOPs.Merge(o.PlainFLOPs)
	s.Bounds.merge(&o.Bounds)
}

// IsPossible reports whether partial results may contain s.
func (s *Sums) IsPossible() bool {
	b := &s.Bounds
	return wide.AreCounts(s.FLOPsCount, s.DerivedCount, s.MovedCount, s.PlainCount, b.Count) &&
		(b.Count == 0 || b.ArithmeticPS != b.MemoryPS || b.MemoryPS != (wide.Sum{}))
}

// Saturates reports whether a sum exceeds int64.
func (s *Sums) Saturates() bool { return s.Derived.ExceedsInt64() || s.MovedBytes.ExceedsInt64() }

// Figures returns the figures of operations with the given sum of FLOPs, of the host's view if host is set.
func (s *Sums) Figures(flops wide.Sum, host bool) Figures {
	w := Figures{
		FLOPsCount: s.FLOPsCount, FLOPsDerived: s.Derived.Int64(), FLOPsDerivedCount: s.DerivedCount,
		MovedCount: s.MovedCount,
		Plain:      Plain{s.PlainCount, s.PlainNS.Int64(), s.PlainFLOPs.Int64()},
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

// Finder finds the work of entries. It caches formulas by name. The zero value is ready to use, without peaks.
// It is not safe for concurrent use.
type Finder struct {
	formulas *symbols.Cache[struct{}, *flops.Formula] // nil until first used
	peaks    *peaks.Table                             // nil for none
	named    *peaks.Device                            // of the model that the trace names, nil for none
	model    string

	recordedOnly bool // do not derive from shapes

	// Used sums up the FLOPs of device operations with known peaks.
	Used Used
}

// SetModel sets the model of the devices of the following entries, by its name in the trace; "" is unknown. A table of
// peaks goes before it.
func (f *Finder) SetModel(model string) {
	if f.peaks == nil && model != f.model {
		f.named = peaks.OfModel(model)
		f.model = model
	}
}

// NewFinder returns a Finder. Unless recordedOnly is set it derives work from shapes. table has the peaks
// for least times and may be nil.
func NewFinder(recordedOnly bool, table *peaks.Table) Finder {
	return Finder{recordedOnly: recordedOnly, peaks: table}
}

// Entry returns the work of an entry.
func (f *Finder) Entry(e *op.Entry) (w Work) {
	hasPeaks := f.peaks != nil || f.named != nil
	if f.recordedOnly || e.InputShapes == nil && e.OutputShape == nil || e.Kind > op.KindCompute {
		if w.record(e.FLOPs); hasPeaks && w.isPlain(e, f.peaksOf(e)) {
			w.Facts |= OnPlain
		}
		return w
	}
	if f.formulas == nil {
		f.formulas = new(symbols.Cache[struct{}, *flops.Formula])
	}
	slot := f.formulas.Slot(e.Operation, 0)
	if !slot.Holds(e.Operation, struct{}{}) {
		slot.Set(e.Operation, struct{}{}, flops.Find(e.Operation))
	}
	follows := slot.Value.Of(e)
	w.Flops = follows.FLOPs.V
	w.Bytes = follows.Bytes.V
	if follows.FLOPs.Known {
		w.Facts = Known | Derived
	}
	if follows.Bytes.Known {
		w.Facts |= Moved
	}
	w.record(e.FLOPs)
	if hasPeaks && w.Known() {
		d := f.peaksOf(e)
		if w.Moved() || w.isIntense(e) {
			f.bound(&w, e, d, cmp.Or(follows.DType, e.DType))
		}
		if w.isPlain(e, d) {
			w.Facts |= OnPlain
		}
	}
	return w
}

// isIntense reports whether arithmetic decides the least time whatever the size of the output: devices have up to 600 FLOPs in
// the time of an element.
func (w *Work) isIntense(e *op.Entry) bool {
	const much = 1000
	inputs := int64(0)
	for _, s := range e.InputShapes {
		n, _ := s.Elements()
		if !n.Known {
			return false
		}
		inputs += n.V
	}
	return inputs > 0 && w.Flops/much > inputs
}

func (w *Work) record(n op.Int) {
	if n.Known {
		w.Flops = n.V
		w.Facts = w.Facts&Moved | Known
	}
}
