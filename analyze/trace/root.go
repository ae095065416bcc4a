package trace

// RequestOwners returns the request of each row: its row; the number of rows plus its stamp if the request was not
// read or NoRow.
func (f *Forest) RequestOwners() []int32 {
	owner := noRows(f.Rows())
	named := f.stampedSpans()
	for r := range f.Tree.topDown() {
		parent := f.Tree.Parent[r]
		switch {
		case !f.Has(r, FlagOp) && (parent == NoRow || f.Has(r, FlagRemote) || named[r]):
			owner[r] = r
		case parent != NoRow && owner[parent] != NoRow:
			owner[r] = owner[parent]
		case f.Has(r, FlagOp):
			owner[r] = f.namedOwner(f.Stamp(r))
		}
	}
	return owner
}

// stampedSpans returns the rows of spans named by stamps.
func (f *Forest) stampedSpans() map[int32]bool {
	named := make(map[int32]bool)
	for _, r := range f.Tree.stampRow {
		if r != NoRow && !f.Has(r, FlagOp) {
			named[r] = true
		}
	}
	return named
}

// namedOwner returns the request that stamp s names.
func (f *Forest) namedOwner(s int32) int32 {
	if s == 0 {
		return NoRow
	}
	root := f.Tree.stampRow[s]
	switch {
	case root == NoRow:
		return int32(f.Len()) + s
	case f.Has(root, FlagOp):
		return NoRow // the local root is an operation
	}
	return root
}

// localRoots returns the local root of each row, possibly the row itself; the number of rows plus a stamp for a named
// root that was not read; NoRow if unknown.
//
// A stamp decides. Otherwise the search upward ends at a span named by a stamp, with a remote parent, or without
// a parent. If it ends at an orphan, the orphan's stamp decides for all rows below.
func (f *Forest) localRoots() []int32 {
	roots := noRows(f.Rows())
	named := f.stampedSpans()
	for r := range f.Tree.topDown() {
		parent := f.Tree.Parent[r]
		switch s := f.Stamp(r); {
		case s != 0 && f.Tree.stampRow[s] != NoRow:
			roots[r] = f.Tree.stampRow[s]
		case s != 0:
			roots[r] = int32(f.Len()) + s
		case parent != NoRow && !f.Has(r, FlagRemote) && !named[r]:
			roots[r] = roots[parent]
		case !f.Has(r, flagOrphan):
			roots[r] = r
		}
	}
	return roots
}
