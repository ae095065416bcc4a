package trace

// RequestOwners returns, for each row, the row of the request that it belongs
// to; the number of rows plus that of a stamp for a request that was not read;
// NoRow for none.
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

// stampedSpans returns the rows that stamps name and that are no operations.
func (f *Forest) stampedSpans() map[int32]bool {
	named := make(map[int32]bool)
	for _, r := range f.Tree.stampRow {
		if r != NoRow && !f.Has(r, FlagOp) {
			named[r] = true
		}
	}
	return named
}

// namedOwner returns the owner that a stamp stands for.
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

// localRoots returns, for each row, the row of the local root above it, which may
// be the row itself; the number of rows plus that of a stamp for a root that is
// named and was not read; NoRow where the local root is not known.
//
// A stamp is believed. Otherwise the walk up ends at a span that a stamp names,
// whose parent is in another process, or that has none. Where it ends at an operation whose parent was
// not read, the stamp of that decides for everything below it.
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
