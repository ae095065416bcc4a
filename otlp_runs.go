package optrace

// otlpRuns says which bytes of a batch's records belong to which scope, so that
// spans can be encoded in the order in which they end and written grouped. The
// groups are lists that lead through the slices by index, in the order in
// which they were first seen; -1 ends a list.
type otlpRuns struct {
	runs      []otlpRun
	scopes    []otlpScopeRuns
	resources []otlpResourceRuns
	// The places of scopes and resources in the slices, once there are several.
	scopeIndex    map[*otlpScope]int
	resourceIndex map[*otlpResource]int
	current       int // the scope of the last run
}

// otlpRun is a stretch of spans of one scope.
type otlpRun struct {
	start, end int
	next       int // run of the same scope
}

type otlpScopeRuns struct {
	scope       *otlpScope
	first, last int // runs
	bytes       int // of all runs
	next        int // scope of the same resource
}

type otlpResourceRuns struct {
	resource    *otlpResource
	first, last int // scopes
}

// reset returns empty runs that keep their memory.
func (g *otlpRuns) reset() otlpRuns {
	clear(g.scopes) // the scopes are the encoder's
	clear(g.resources)
	clear(g.scopeIndex)
	clear(g.resourceIndex)
	return otlpRuns{
		runs: g.runs[:0], scopes: g.scopes[:0], resources: g.resources[:0],
		scopeIndex: g.scopeIndex, resourceIndex: g.resourceIndex,
	}
}

// add notes that records[start:end] holds a span of scope.
func (g *otlpRuns) add(scope *otlpScope, start, end int) {
	if len(g.scopes) == 0 || g.scopes[g.current].scope != scope {
		g.current = g.place(scope)
	} else if last := len(g.runs) - 1; g.runs[last].end == start {
		g.runs[last].end = end
		g.scopes[g.current].bytes += end - start
		return
	}
	run := len(g.runs)
	g.runs = append(g.runs, otlpRun{start: start, end: end, next: -1})
	s := &g.scopes[g.current]
	if s.first < 0 {
		s.first = run
	} else {
		g.runs[s.last].next = run
	}
	s.last = run
	s.bytes += end - start
}

// place returns the index of scope, which it adds where it is new.
func (g *otlpRuns) place(scope *otlpScope) int {
	if i, ok := g.scopeIndex[scope]; ok {
		return i
	}
	if g.scopeIndex == nil {
		g.scopeIndex = make(map[*otlpScope]int)
		g.resourceIndex = make(map[*otlpResource]int)
	}
	at := len(g.scopes)
	g.scopes = append(g.scopes, otlpScopeRuns{scope: scope, first: -1, last: -1, next: -1})
	g.scopeIndex[scope] = at
	r, ok := g.resourceIndex[scope.resource]
	if !ok {
		r = len(g.resources)
		g.resources = append(g.resources, otlpResourceRuns{resource: scope.resource, first: at, last: at})
		g.resourceIndex[scope.resource] = r
		return at
	}
	res := &g.resources[r]
	g.scopes[res.last].next = at
	res.last = at
	return at
}

// appendRuns appends the spans of a scope.
func (g *otlpRuns) appendRuns(dst []byte, scope *otlpScopeRuns, records []byte) []byte {
	for i := scope.first; i >= 0; i = g.runs[i].next {
		dst = append(dst, records[g.runs[i].start:g.runs[i].end]...)
	}
	return dst
}
