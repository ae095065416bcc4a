package trace

import (
	"cmp"
	"slices"
)

// RequestOwners returns the request of each row: its row; the number of rows plus its stamp if the request was not
// read, or NoRow.
func (f *Forest) RequestOwners() []int32 { return Found(f, (*Forest).requestOwners) }

type owners []int32

func (f *Forest) requestOwners() owners {
	owner := noRows(f.Rows())
	named := f.stampedSpans()
	for r := range f.Tree.TopDown() {
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

// EnterService makes the topmost spans of a service below spans of other services local roots, as if they said that
// their parent is in another process.
func (f *Forest) EnterService(service string) {
	f.Build()
	for r := range f.Rows() {
		if f.Flags(r)&(FlagOp|FlagRemote) == 0 && f.Node(r).Service() == service && f.isCalled(r) {
			f.setFlags(r, FlagRemote)
			f.built.Store(false)
		}
	}
}

// isCalled reports whether the nearest span above a span with a known service is of another one.
func (f *Forest) isCalled(r int32) bool {
	service := f.Node(r).Service()
	if service == "" {
		return false
	}
	for p := f.Tree.Parent[r]; p != NoRow; p = f.Tree.Parent[p] {
		if caller := f.Node(p).Service(); caller != "" {
			return caller != service
		}
	}
	return false
}

// JoinServices makes local roots below other spans a part of the request above. Where a trace has several of a name and
// service in turn, or with shared executions, such as the calls of a session, each remains a request, and so do spans below
// those of another service without a stated kind.
func (f *Forest) JoinServices() {
	f.Build()
	var inner []int32
	named := f.stampedSpans()
	top := noRows(f.Rows())
	for r := range f.Tree.TopDown() {
		top[r] = r
		if parent := f.Tree.Parent[r]; parent != NoRow {
			top[r] = top[parent]
			if f.Flags(r)&(FlagOp|FlagRemote) == FlagRemote || named[r] || !f.Has(r, FlagOp) && f.isCalled(r) {
				inner = append(inner, r)
			}
		}
	}
	several := f.sessions(inner, top)
	f.joined = make(map[int32]bool)
	for _, r := range inner {
		f.joined[r] = !several[top[r]]
		switch isRemote := f.Has(r, FlagRemote); {
		case f.joined[r] && isRemote:
			f.clearFlags(r, FlagRemote)
			f.built.Store(false)
		case !f.joined[r] && !isRemote && !named[r]:
			f.setFlags(r, FlagRemote)
			f.built.Store(false)
		}
	}
	f.found.Clear() // owners depend on what is joined
	f.Build()
}

// sessions returns the topmost rows with several of the given calls of a name, in turn for most topmost rows. A call that its
// caller gave up may go on beside the next one.
func (f *Forest) sessions(calls, top []int32) map[int32]bool {
	isExecuted := make(map[int32]bool)
	for i := range f.Executions.List {
		for _, r := range f.Executions.List[i].Requests {
			isExecuted[r] = true
		}
	}
	caller := func(r int32) int32 {
		if p := f.Tree.Parent[r]; len(f.Tree.Children(p)) == 1 {
			return p
		}
		return r
	}
	slices.SortFunc(calls, func(a, b int32) int {
		return cmp.Or(cmp.Compare(f.Name(a), f.Name(b)), cmp.Compare(top[a], top[b]), f.CompareStart(a, b))
	})
	several := make(map[int32]bool)
	for len(calls) > 0 {
		name := f.Name(calls[0])
		inTurn := 0 // less those at the same time
		var tops []int32
		for len(calls) > 0 && f.Name(calls[0]) == name {
			of := top[calls[0]]
			end := f.End(caller(calls[0]))
			isSession, n := false, 1
			for ; n < len(calls) && f.Name(calls[n]) == name && top[calls[n]] == of; n++ {
				isSession = isSession || f.Start(caller(calls[n])) >= end || isExecuted[calls[n]]
				end = max(end, f.End(caller(calls[n])))
			}
			calls = calls[n:]
			if n == 1 {
				continue
			}
			tops = append(tops, of)
			if inTurn--; isSession {
				inTurn += 2
			}
		}
		for _, of := range tops {
			several[of] = several[of] || inTurn > 0
		}
	}
	return several
}

func (f *Forest) stampedSpans() map[int32]bool {
	named := make(map[int32]bool)
	for _, r := range f.Tree.stampRow {
		if r != NoRow && !f.Has(r, FlagOp) && !f.joined[r] {
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
	root := f.above(f.Tree.stampRow[s])
	switch {
	case root == NoRow:
		return int32(f.Len()) + s
	case f.Has(root, FlagOp):
		return NoRow // the local root is an operation
	}
	return root
}

// above returns the local root above a named one that is a part of its request, and any other row itself.
func (f *Forest) above(root int32) int32 {
	for root != NoRow && f.joined[root] {
		for isRoot := false; !isRoot && f.Tree.Parent[root] != NoRow; {
			root = f.Tree.Parent[root]
			_, isRoot = f.joined[root]
		}
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
	for r := range f.Tree.TopDown() {
		parent := f.Tree.Parent[r]
		switch s := f.Stamp(r); {
		case s != 0 && f.Tree.stampRow[s] != NoRow:
			roots[r] = f.above(f.Tree.stampRow[s])
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
