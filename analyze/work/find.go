package work

import (
	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Finder finds the work of entries. It looks the formula of a name up once, as long as a
// cache has room. The zero value is ready to use, for devices whose peaks are not known.
type Finder struct {
	formulas *symbols.Cache[struct{}, *flops.Formula] // nil before the first entry
	peaks    *peaks.Table                             // nil for none

	recordedOnly bool // nothing follows from shapes
}

// NewFinder returns a finder of work as it was recorded, and unless recordedOnly is set as it follows
// from shapes, and of the least times by the peaks in table, which may be nil.
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
