package attrmap

import (
	"maps"
	"slices"
)

// Want is what whoever looks at the records of an input wants of them.
type Want struct {
	// Keep are the keys of attributes that entries keep, see [Mapping.Keep].
	Keep []string
	// Spans are the keys, less than a hundred, of attributes that spans which are no operations keep in addition.
	Spans []string
	// Partials asks for files of partial results, as an [op.Partial].
	Partials bool
}

// With returns m, which may be nil and does not change, but for what w says is kept.
func With(m *Mapping, w Want) *Mapping {
	c := &Mapping{}
	if m != nil {
		*c = *m
	}
	c.added, c.kept = maps.Clone(c.added), slices.Clone(c.kept)
	for _, key := range w.Keep {
		c.Keep(key)
	}
	if len(w.Spans) > 0 {
		c.spans = newTargets(false, w.Spans)
	}
	return c
}
