package encoding

import "slices"

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
// spans can be encoded in the order in which they end and written grouped, in the
// order in which the groups were first seen.
type Groups struct {
	Resources []ResourceGroup
	// The places of resources and scopes in the slices.
	resources map[*Resource]int
	scopes    map[*Scope]place
	last      place // of the last record
}

type place struct{ resource, scope int }

// ResourceGroup is the scopes of a resource.
type ResourceGroup struct {
	Resource *Resource
	Scopes   []ScopeGroup
}

// ScopeGroup is the records of a scope.
type ScopeGroup struct {
	Scope *Scope
	Bytes int // of all records
	runs  []run
}

// run is where records of one scope stand that follow one another.
type run struct{ start, end int }

// reset returns empty groups that keep their memory, but not what is the encoder's.
func (g *Groups) reset() Groups {
	for i := range g.Resources {
		scopes := g.Resources[i].Scopes
		for j := range scopes {
			scopes[j] = ScopeGroup{runs: scopes[j].runs[:0]}
		}
		g.Resources[i] = ResourceGroup{Scopes: scopes[:0]}
	}
	clear(g.resources)
	clear(g.scopes)
	return Groups{Resources: g.Resources[:0], resources: g.resources, scopes: g.scopes}
}

// Add records that records[start:end] holds a span of scope.
func (g *Groups) Add(scope *Scope, start, end int) {
	if len(g.Resources) == 0 || g.at(g.last).Scope != scope {
		g.last = g.place(scope)
	}
	s := g.at(g.last)
	s.Bytes += end - start
	if n := len(s.runs); n > 0 && s.runs[n-1].end == start {
		s.runs[n-1].end = end
		return
	}
	s.runs = append(s.runs, run{start, end})
}

func (g *Groups) at(p place) *ScopeGroup { return &g.Resources[p.resource].Scopes[p.scope] }

// place returns the place of a scope, which it adds if it is new.
func (g *Groups) place(scope *Scope) place {
	if p, ok := g.scopes[scope]; ok {
		return p
	}
	if g.scopes == nil {
		g.resources, g.scopes = make(map[*Resource]int), make(map[*Scope]place)
	}
	i, ok := g.resources[scope.Resource]
	if !ok {
		i = len(g.Resources)
		g.resources[scope.Resource] = i
		g.Resources = slices.Grow(g.Resources, 1)[:i+1]
		g.Resources[i].Resource = scope.Resource
	}
	r := &g.Resources[i]
	p := place{i, len(r.Scopes)}
	g.scopes[scope] = p
	r.Scopes = slices.Grow(r.Scopes, 1)[:p.scope+1]
	r.Scopes[p.scope].Scope = scope
	return p
}

// AppendRecords appends the records of the scope to dst.
func (s *ScopeGroup) AppendRecords(dst, records []byte) []byte {
	for _, r := range s.runs {
		dst = append(dst, records[r.start:r.end]...)
	}
	return dst
}
