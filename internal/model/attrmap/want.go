package attrmap

import (
	"maps"
	"slices"

	"github.com/optrace/optrace/internal/read/budget"
)

// Want lists the parts of an input's records that a consumer needs.
type Want struct {
	// Keep has the keys of attributes for entries, see [Mapping.Keep].
	Keep []string
	// Spans has the keys, fewer than a hundred, of further attributes for spans other than operations.
	Spans []string
	// Partials asks for files of partial results, each as an [op.Partial].
	Partials bool
}

// Holding returns a copy of m, which may be nil, for readers that account for a record's memory by hold, like a
// [budget.Account]. They leave out values that hold refuses. The owner of hold then ends the reading.
func Holding(m *Mapping, hold func(bytes int64) error) *Mapping {
	c := With(m, Want{})
	c.hold = hold
	return c
}

// Account returns an account of the memory of readers with the mapping m, which may be nil.
func Account(m *Mapping) budget.Account {
	if m == nil {
		return budget.Account{}
	}
	return budget.Account{Hold: m.hold}
}

// With returns a copy of m, which may be nil, with the keys of w.
func With(m *Mapping, w Want) *Mapping {
	c := &Mapping{}
	if m != nil {
		*c = *m
	}
	c.added = maps.Clone(c.added)
	c.kept = slices.Clone(c.kept)
	for _, key := range w.Keep {
		c.Keep(key)
	}
	if len(w.Spans) > 0 {
		c.spans = newTargets(false, w.Spans)
	}
	return c
}
