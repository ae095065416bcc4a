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
	// Omit are the fields that readers may leave out, see [Without].
	Omit Fields
	// Keep are the keys of attributes that entries keep, see [Mapping.Keep].
	Keep []string
	// Spans are the keys, less than a hundred, of attributes that spans which are no operations keep in addition.
	Spans []string
	// Partials asks for files of partial results, as an [op.Partial].
	Partials bool
}

// With returns a mapping that keeps and leaves out what w says, and otherwise says what m says;
// m may be nil, and does not change.
func With(m *Mapping, w Want) *Mapping {
	c := Without(m, w.Omit)
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

// Without returns a mapping for readers that may leave fields out of the entries that
// they hand out, because nobody looks at them. It says otherwise what m says; m may be
// nil, and does not change.
//
// A reader that leaves a field out passes over its values by the structure of the
// format. It finds no fault with them, and adds no [op.Warning] about them. The key of an
// attribute still makes its span an operation, and its value still appears among the
// attributes that are kept ([Mapping.Keep]). A reader for which this is no gain
// leaves nothing out. See [op.Record.Whole] for those entries that are wanted whole.
//
// FieldRoot stands for the id of the root too. Where everything is kept
// ([Mapping.KeepAll]), nothing is left out.
func Without(m *Mapping, fields Fields) *Mapping {
	var c Mapping
	if m != nil {
		c = *m
	}
	c.omitted = fields
	for field, with := range map[Field]Field{FieldRoot: fieldRootSpan, FieldInputShapes: fieldInputShapeAt} {
		if fields.Has(field) {
			c.omitted |= FieldsOf(with)
		}
	}
	return &c
}

// Omitted returns the fields that a reader may leave out.
func Omitted(m *Mapping) Fields {
	if m == nil || m.all {
		return 0
	}
	return m.omitted
}
