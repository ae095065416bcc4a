package work

import (
	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/op"
)

// Finder finds the work of entries. It looks the formula of a name up once, as long as a
// cache has room. The zero value is ready to use, for devices whose peaks are not known.
type Finder struct {
	formulas *symbols.Cache[struct{}, *flops.Formula] // nil before the first entry
	roofs    roofs

	recordedOnly bool // nothing follows from shapes
}

// NewFinder returns a finder of work as it was recorded, and unless recordedOnly is set as it follows
// from shapes, and of the least times by the peaks in table, which may be nil.
func NewFinder(recordedOnly bool, table *peaks.Table) Finder {
	return Finder{recordedOnly: recordedOnly, roofs: roofs{table: table}}
}

// derivation is what follows from the name, the shapes and the element types of an entry.
type derivation struct {
	flops, bytes int64
	facts        Facts
	dtype        uint8 // its number in roofs
}

// Entry returns the work of an entry.
func (f *Finder) Entry(e *op.Entry) Work {
	if f.recordedOnly || e.InputShapes == nil && e.OutputShape == nil || e.Kind > op.KindCompute {
		return recorded(e.FLOPs)
	}
	d := f.derived(e)
	w := d.with(e.FLOPs)
	if f.roofs.table != nil && w.Moved() {
		f.roofs.of(e.DeviceID).bound(&w, d.dtype)
	}
	return w
}

// derived returns what follows from an entry.
func (f *Finder) derived(e *op.Entry) derivation {
	if f.formulas == nil {
		f.formulas = new(symbols.Cache[struct{}, *flops.Formula])
	}
	slot := f.formulas.Slot(e.Operation, 0)
	if !slot.Holds(e.Operation, struct{}{}) {
		slot.Set(e.Operation, struct{}{}, flops.Find(e.Operation))
	}
	w := slot.Value.Of(e)
	d := derivation{flops: w.FLOPs.V, bytes: w.Bytes.V}
	if w.FLOPs.Known {
		d.facts = Known | Derived
	}
	if w.Bytes.Known {
		d.facts |= Moved
	}
	if f.roofs.table != nil {
		d.dtype = f.roofs.number(w.DType)
	}
	return d
}

// recorded returns the work of an entry that tells no more than its FLOPs.
func recorded(n op.Int) Work { return derivation{}.with(n) }

// with returns the work of an entry that records FLOPs or does not.
func (d derivation) with(n op.Int) Work {
	w := Work{Flops: d.flops, Bytes: d.bytes, Facts: d.facts}
	if n.Known {
		w.Flops, w.Facts = n.V, d.facts&Moved|Known
	}
	return w
}
