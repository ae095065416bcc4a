package analyze

// columns returns the work as a Forest keeps it.
func (w *work) columns() (flops, moved int64) {
	if w.moved() {
		moved = ^w.bytes
	}
	return w.flops, moved
}

// flags returns the facts about the work that a Forest keeps.
func (w *work) flags() (flags rowFlag) {
	if w.known() {
		flags |= flagFLOPs
	}
	if w.derived() {
		flags |= flagDerived
	}
	return flags
}

// work returns the work of the operation in row r.
func (f *Forest) work(r int32) work {
	w := work{flops: f.flops(r), bound: f.bound(r)}
	if f.has(r, flagFLOPs) {
		w.facts |= workKnown
	}
	if f.has(r, flagDerived) {
		w.facts |= workDerived
	}
	if n := f.moved(r); n < 0 {
		w.bytes = ^n
		w.facts |= workMoved
	}
	return w
}
