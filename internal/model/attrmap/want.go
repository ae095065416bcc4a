package attrmap

import (
	"maps"
	"slices"

	"github.com/optrace/optrace/internal/read/budget"
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

// Holding returns m, which may be nil and does not change, for readers that ask hold for the memory of what they make of
// a record, as a [budget.Account] does. What hold does not allow they leave out: it notes that, and its owner ends the reading.
func Holding(m *Mapping, hold func(bytes int64) error) *Mapping {
	c := With(m, Want{})
	c.hold = hold
	return c
}

// Account returns an account of what readers with the mapping m, which may be nil, hold.
func Account(m *Mapping) budget.Account {
	if m == nil {
		return budget.Account{}
	}
	return budget.Account{Hold: m.hold}
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
