package encoding

// Resource is the envelope of the records of one resource: Prefix precedes the
// scopes, Suffix follows them.
type Resource struct{ Prefix, Suffix []byte }

// Scope is the envelope of the records of one instrumentation scope of one
// resource.
type Scope struct {
	Resource       *Resource
	Prefix, Suffix []byte
}

// Groups says which bytes of a batch's records belong to which scope, so that
// spans can be encoded in the order in which they end and written grouped. The
// groups are lists that lead through the slices by index, in the order in
// which they were first seen; -1 ends a list.
type Groups struct {
	Runs      []Run
	Scopes    []ScopeGroup
	Resources []ResourceGroup
	// The indexes of scopes and resources in the slices.
	scopeIndex    map[*Scope]int
	resourceIndex map[*Resource]int
	current       int // the scope of the last run
}

// Run is a sequence of records of one scope.
type Run struct {
	start, end int
	next       int // run of the same scope
}

// ScopeGroup is the records of a scope.
type ScopeGroup struct {
	Scope       *Scope
	Bytes       int // of all runs
	Next        int // scope of the same resource
	first, last int // runs
}

// ResourceGroup is the scopes of a resource.
type ResourceGroup struct {
	Resource    *Resource
	First, last int // scopes
}

// reset returns empty groups that keep their memory.
func (g *Groups) reset() Groups {
	clear(g.Scopes) // the scopes are the encoder's
	clear(g.Resources)
	clear(g.scopeIndex)
	clear(g.resourceIndex)
	return Groups{
		Runs: g.Runs[:0], Scopes: g.Scopes[:0], Resources: g.Resources[:0],
		scopeIndex: g.scopeIndex, resourceIndex: g.resourceIndex,
	}
}

// Add records that records[start:end] holds a span of scope.
func (g *Groups) Add(scope *Scope, start, end int) {
	if len(g.Scopes) == 0 || g.Scopes[g.current].Scope != scope {
		g.current = g.indexOf(scope)
	} else if last := len(g.Runs) - 1; g.Runs[last].end == start {
		g.Runs[last].end = end
		g.Scopes[g.current].Bytes += end - start
		return
	}
	run := len(g.Runs)
	g.Runs = append(g.Runs, Run{start: start, end: end, next: -1})
	s := &g.Scopes[g.current]
	if s.first < 0 {
		s.first = run
	} else {
		g.Runs[s.last].next = run
	}
	s.last = run
	s.Bytes += end - start
}

// indexOf returns the index of scope, which it adds if it is new.
func (g *Groups) indexOf(scope *Scope) int {
	if i, ok := g.scopeIndex[scope]; ok {
		return i
	}
	if g.scopeIndex == nil {
		g.scopeIndex = make(map[*Scope]int)
		g.resourceIndex = make(map[*Resource]int)
	}
	at := len(g.Scopes)
	g.Scopes = append(g.Scopes, ScopeGroup{Scope: scope, first: -1, last: -1, Next: -1})
	g.scopeIndex[scope] = at
	r, ok := g.resourceIndex[scope.Resource]
	if !ok {
		r = len(g.Resources)
		g.Resources = append(g.Resources, ResourceGroup{Resource: scope.Resource, First: at, last: at})
		g.resourceIndex[scope.Resource] = r
		return at
	}
	res := &g.Resources[r]
	g.Scopes[res.last].Next = at
	res.last = at
	return at
}

// AppendRecords appends the records of a scope to dst.
func (g *Groups) AppendRecords(dst []byte, scope *ScopeGroup, records []byte) []byte {
	for i := scope.first; i >= 0; i = g.Runs[i].next {
		dst = append(dst, records[g.Runs[i].start:g.Runs[i].end]...)
	}
	return dst
}
