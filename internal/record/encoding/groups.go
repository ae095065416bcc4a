package encoding

// Resource is the envelope of the scopes of one resource.
type Resource struct{ Prefix, Suffix []byte }

// Scope is the envelope of the records of one instrumentation scope of one resource.
type Scope struct {
	Resource       *Resource
	Prefix, Suffix []byte
}

// Groups maps the bytes of a batch's records to their scopes, for formats that group spans.
type Groups []run

type run struct {
	scope      *Scope
	start, end int
}

// ResourceGroup has the scopes of a resource.
type ResourceGroup struct {
	Resource *Resource
	Scopes   []ScopeGroup
}

// ScopeGroup has the records of a scope.
type ScopeGroup struct {
	Scope *Scope
	Bytes int // of all records
	runs  []run
}

// Add records records[start:end] as a span of scope.
func (g *Groups) Add(scope *Scope, start, end int) {
	if n := len(*g); n > 0 && (*g)[n-1].scope == scope && (*g)[n-1].end == start {
		(*g)[n-1].end = end
	} else {
		*g = append(*g, run{scope, start, end})
	}
}

// Resources returns the groups in the order of their first records.
func (g Groups) Resources() (all []ResourceGroup) {
	resources := make(map[*Resource]int) // places in all
	scopes := make(map[*Scope]int)       // places in their resource
	for k, r := range g {
		i, ok := resources[r.scope.Resource]
		if !ok {
			i = len(all)
			resources[r.scope.Resource] = i
			all = append(all, ResourceGroup{Resource: r.scope.Resource})
		}
		of := &all[i]
		j, ok := scopes[r.scope]
		if !ok {
			j = len(of.Scopes)
			scopes[r.scope] = j
			of.Scopes = append(of.Scopes, ScopeGroup{Scope: r.scope, runs: g[k : k : k+1]}) // mostly the only run
		}
		s := &of.Scopes[j]
		s.Bytes += r.end - r.start
		s.runs = append(s.runs, r)
	}
	return all
}

// AppendRecords appends the records of the scope to dst.
func (s *ScopeGroup) AppendRecords(dst, records []byte) []byte {
	for _, r := range s.runs {
		dst = append(dst, records[r.start:r.end]...)
	}
	return dst
}
