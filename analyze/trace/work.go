package trace

import "github.com/optrace/optrace/analyze/work"

// keptWork returns the work as a Forest keeps it.
func keptWork(w *work.Work) (flops, moved int64) {
	if w.Moved() {
		moved = ^w.Bytes
	}
	return w.Flops, moved
}

// workFlags returns the facts about the work that a Forest keeps.
func workFlags(w *work.Work) (flags Flags) {
	if w.Known() {
		flags |= flagFLOPs
	}
	if w.Derived() {
		flags |= flagDerived
	}
	return flags
}

// Work returns the work of the operation in row r.
func (f *Forest) Work(r int32) work.Work {
	w := work.Work{Flops: f.Flops(r), Bound: f.bound(r)}
	if f.Has(r, flagFLOPs) {
		w.Facts |= work.Known
	}
	if f.Has(r, flagDerived) {
		w.Facts |= work.Derived
	}
	if n := f.moved(r); n < 0 {
		w.Bytes = ^n
		w.Facts |= work.Moved
	}
	return w
}
