package work

import (
	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Finder finds the work of entries. It caches formulas by name. The zero value is ready to use, without peaks.
// It is not safe for concurrent use.
type Finder struct {
	formulas *symbols.Cache[struct{}, *flops.Formula] // nil until first used
	peaks    *peaks.Table                             // nil for none

	recordedOnly bool // do not derive from shapes
}

// NewFinder returns a Finder. Unless recordedOnly is set it derives work from shapes. table has the peaks
// for least times and may be nil.
func NewFinder(recordedOnly bool, table *peaks.Table) Finder {
	return Finder{recordedOnly: recordedOnly, peaks: table}
}

// Entry returns the work of an entry.
func (f *Finder) Entry(e *op.Entry) (w Work) {
	if f.recordedOnly || e.InputShapes == nil && e.OutputShape == nil || e.Kind > op.KindCompute {
		w.record(e.FLOPs)
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
	if f.peaks != nil && w.Moved() {
		w.bound(f.peaksOf(e), follows.DType)
	}
	return w
}

func (w *Work) record(n op.Int) {
	if n.Known {
		w.Flops = n.V
		w.Facts = w.Facts&Moved | Known
	}
}
