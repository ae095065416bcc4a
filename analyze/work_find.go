package analyze

import (
	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/op"
)

// workFinder finds the work of entries. It looks the formula of a name up once, as long as a
// cache has room. The zero value is ready to use, for devices whose peaks are not known.
type workFinder struct {
	formulas *symbols.Cache[struct{}, *flops.Formula] // nil before the first entry
	roofs    roofs

	recordedOnly bool // nothing follows from shapes
}

func newWorkFinder(recordedOnly bool, table *peaks.Table) workFinder {
	return workFinder{recordedOnly: recordedOnly, roofs: roofs{table: table}}
}

// derivedWork is what follows from the name, the shapes and the element types of an entry.
type derivedWork struct {
	flops, bytes int64
	facts        workFacts
	dtype        uint8 // its number in roofs
}

// entry returns the work of an entry.
func (f *workFinder) entry(e *op.Entry) work {
	if f.recordedOnly || e.InputShapes == nil && e.OutputShape == nil || e.Kind > op.KindCompute {
		return recordedWork(e.FLOPs)
	}
	d := f.derived(e)
	w := d.with(e.FLOPs)
	if f.roofs.table != nil && w.moved() {
		f.roofs.of(e.DeviceID).bound(&w, d.dtype)
	}
	return w
}

// derived returns what follows from an entry.
func (f *workFinder) derived(e *op.Entry) derivedWork {
	if f.formulas == nil {
		f.formulas = new(symbols.Cache[struct{}, *flops.Formula])
	}
	slot := f.formulas.Slot(e.Operation, 0)
	if !slot.Holds(e.Operation, struct{}{}) {
		slot.Set(e.Operation, struct{}{}, flops.Find(e.Operation))
	}
	w := slot.Value.Of(e)
	d := derivedWork{flops: w.FLOPs.V, bytes: w.Bytes.V}
	if w.FLOPs.Known {
		d.facts = workKnown | workDerived
	}
	if w.Bytes.Known {
		d.facts |= workMoved
	}
	if f.roofs.table != nil {
		d.dtype = f.roofs.number(w.DType)
	}
	return d
}

// recordedWork returns the work of an entry that tells no more than its FLOPs.
func recordedWork(n op.Int) work { return derivedWork{}.with(n) }

// with returns the work of an entry that records FLOPs or does not.
func (d derivedWork) with(n op.Int) work {
	w := work{flops: d.flops, bytes: d.bytes, facts: d.facts}
	if n.Known {
		w.flops, w.facts = n.V, d.facts&workMoved|workKnown
	}
	return w
}
