package analyze

import "github.com/optrace/optrace/op"

// requestOwners returns, for each row, the row of the request that it belongs
// to; the number of rows plus that of a stamp for a request that was not read;
// noRow for none.
func (f *Forest) requestOwners() []int32 {
	owner := make([]int32, f.Len())
	for r := range owner {
		owner[r] = noRow
	}
	named := f.stampedSpans()
	for r := range f.tree.topDown() {
		parent := f.tree.parent[r]
		switch {
		case !f.has(r, flagOp) && (parent == noRow || f.has(r, flagRemote) || named[r]):
			owner[r] = r
		case parent != noRow && owner[parent] != noRow:
			owner[r] = owner[parent]
		case f.has(r, flagOp):
			owner[r] = f.namedOwner(f.stamp(r))
		}
	}
	return owner
}

// stampedSpans returns the rows that stamps name and that are no operations.
func (f *Forest) stampedSpans() map[int32]bool {
	named := make(map[int32]bool)
	for _, r := range f.tree.stampRow {
		if r != noRow && !f.has(r, flagOp) {
			named[r] = true
		}
	}
	return named
}

// namedOwner returns the owner that a stamp stands for.
func (f *Forest) namedOwner(s int32) int32 {
	if s == 0 {
		return noRow
	}
	root := f.tree.stampRow[s]
	switch {
	case root == noRow:
		return int32(f.Len()) + s
	case f.has(root, flagOp):
		return noRow // the local root is an operation
	}
	return root
}

// localRoots returns, for each row, the row of the local root above it, which may
// be the row itself; the number of rows plus that of a stamp for a root that is
// named and was not read; noRow where the local root is not known.
//
// A stamp is believed. Otherwise the walk up ends at a span that a stamp names,
// whose parent is in another process, or that has none. Where it ends at an operation whose parent was
// not read, the stamp of that decides for everything below it.
func (f *Forest) localRoots() []int32 {
	f.build()
	roots := make([]int32, f.Len())
	for r := range roots {
		roots[r] = noRow
	}
	named := f.stampedSpans()
	for r := range f.tree.topDown() {
		parent := f.tree.parent[r]
		switch s := f.stamp(r); {
		case s != 0 && f.tree.stampRow[s] != noRow:
			roots[r] = f.tree.stampRow[s]
		case s != 0:
			roots[r] = int32(f.Len()) + s
		case parent != noRow && !f.has(r, flagRemote) && !named[r]:
			roots[r] = roots[parent]
		case !f.has(r, flagOrphan):
			roots[r] = r
		}
	}
	return roots
}

// localRoot returns the name and the id of the local root that localRoots found
// for row r; known is false where it found none.
func (f *Forest) localRoot(roots []int32, r int32) (name string, id op.SpanID, known bool) {
	switch root := roots[r]; {
	case root == noRow:
		return "", op.SpanID{}, false
	case int(root) >= f.Len():
		s := f.dict.stamps.Values[root-int32(f.Len())]
		return s.name, spanID(s.span), true
	default:
		return f.rowName(root), spanID(f.span(root)), true
	}
}
