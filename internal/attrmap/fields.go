package attrmap

import (
	"maps"
	"slices"
)

// Fields is a set of fields of an [op.Entry].
type Fields uint64

// FieldsOf returns the set of some fields.
func FieldsOf(fields ...Field) Fields {
	var set Fields
	for _, f := range fields {
		set |= 1 << f
	}
	return set
}

// Has reports whether a field is in the set.
func (s Fields) Has(f Field) bool { return s>>f&1 != 0 }

// Want is what whoever looks at the records of an input wants of them.
type Want struct {
	// Keep are the keys of attributes that entries keep, see [Mapping.Keep].
	Keep []string
	// Spans are the keys, less than a hundred, of attributes that spans which are no operations keep in addition.
	Spans []string
	// Partials asks for files of partial results, as an [op.Partial].
	Partials bool
}

// With returns a mapping that keeps what w says, and otherwise says what m says; m may be nil, and
// does not change.
func With(m *Mapping, w Want) *Mapping {
	c := &Mapping{}
	if m != nil {
		*c = *m
	}
	c.added, c.kept = maps.Clone(c.added), slices.Clone(c.kept)
	for _, key := range w.Keep {
		c.Keep(key)
	}
	if c.spans = nil; len(w.Spans) > 0 {
		c.spans = newTargets(false)
		c.spans.table = newKeyIndex(conventions, false, w.Spans)
	}
	return c
}
