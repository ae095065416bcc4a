package rows

import (
	"math"

	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/op"
)

// Column is a known column of the table.
type Column struct {
	// Name is the column's name, or the path of a part of a group. A list or map has its own name only;
	// names of the groups within it do not matter.
	Name string
	// Use returns how to read a column of the form found in the file.
	Use func(f *Form) Use
}

// Form describes a column of the file in the terms of Parquet.
type Form struct {
	// Text is set for texts and bytes. Unit is the unit of times in nanoseconds, and 0 for other values.
	Text bool
	Unit int64
	// MaxDef is the definition level of a value, and MaxRep the repetition level of the innermost list.
	MaxDef, MaxRep int32
	Lists          []int32 // has the definition level of an element for each list around the value
}

// Use says how to read a column.
type Use struct {
	// Translate translates a value, independent of its row.
	Translate func(b *Batch, f *Form, v *Value, to *Meaning)
	// Either Set or List is not nil. Set takes the value of a row; List takes all cells of a row.
	Set  func(r *Row, m *Meaning)
	List func(r *Row, cells []Cell)
}

// Cell is a place in a column. Rep says which list it continues, and Def how much of the value's path is
// present. Value is nil for null.
type Cell struct {
	Rep, Def int32
	Value    *Meaning
}

// MaxCells limits the cells of a row.
const MaxCells = op.MaxInputs * op.MaxRank

// Columns returns the known columns in the order of reading. A file may have any of them, in any order and
// beside others.
func Columns() []Column {
	list := []Column{{"record", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.Record = m.text })}}
	for i := range opfields.Entry {
		c := &opfields.Entry[i]
		if own, ok := ownColumns[c.Name]; ok {
			list = append(list, own...)
		} else {
			t, set := fieldOf(c, func(r *Row) *op.Entry { return &r.Entry })
			list = append(list, Column{c.Name, one(c.Bad(), t, set)})
		}
	}
	for i := range opfields.Collective {
		c := &opfields.Collective[i]
		list = append(list, Column{"collective." + c.Name,
			ofCollective(fieldOf(c, func(r *Row) *op.Collective { return r.Collective }))})
	}
	return append(list, otherColumns...)
}

// fieldOf returns how to read a simple field: an integer, a text, a name, an id or a number.
func fieldOf[T any](c *opfields.Field[T], of func(*Row) *T) (translate, func(*Row, *Meaning)) {
	switch at := c.At.(type) {
	case func(*T) *op.Int:
		set := func(r *Row, m *Meaning) { *at(of(r)) = m.int() }
		switch {
		case c.Bad() == op.WarnBadTime:
			return nanos(op.WarnBadTime), set
		case c.Signed:
			return integer(math.MinInt64, c.Bad()), set
		}
		return integer(0, c.Bad()), set
	case func(*T) *string:
		return text, func(r *Row, m *Meaning) { *at(of(r)) = m.text }
	case func(*T) opfields.Name:
		return text, func(r *Row, m *Meaning) { r.Warn |= at(of(r)).SetName(m.text) }
	case func(*T) []byte:
		id := traceID
		if len(at(new(T))) == len(op.SpanID{}) {
			id = spanID(c.Zero)
		}
		return id, func(r *Row, m *Meaning) { copy(at(of(r)), m.id[:]) }
	case func(*T) *int64:
		return integer(0, c.Bad()), func(r *Row, m *Meaning) { *at(of(r)) = m.number }
	case func(*T) *float64:
		return adjustedCount, func(r *Row, m *Meaning) { *at(of(r)) = m.float }
	}
	return func(*Batch, *Form, *Value, *Meaning) {}, nil
}

// ownColumns are the columns of fields with special readers.
var ownColumns = map[string][]Column{
	"input_shapes": {{"input_shapes", inputShapes}},
	"output_shape": {{"output_shape", outputShape}},
	"duration_us": {
		{"duration_us", one(op.WarnBadValue, micros, setDuration)},
		{"duration_ns", one(op.WarnBadValue, nanos(op.WarnBadValue), setDuration)}, // wins over duration_us
	},
	"kind_rule": {{"kind_rule", one(op.WarnBadValue, text,
		func(r *Row, m *Meaning) { r.KindRule, r.HasRule = op.ParseKindRule(m.text) })}},
	"duration_ns": nil,
	"input_dtypes": {{"input_dtypes", many(dtype, func(r *Row) { r.InputDTypes = []op.DType{} },
		func(r *Row, i int, m *Meaning) {
			r.InputDTypes = appendPart(r, &r.Batch.DTypes, r.InputDTypes, i, op.MaxInputs, op.DType(m.text),
				op.WarnShapeTruncated)
		})}},
	"error": {
		{"failed", one(op.WarnBadValue, flag, func(r *Row, m *Meaning) { r.StatedFailed = m.number != 0 })},
		{"error", one(op.WarnBadValue, failure,
			func(r *Row, m *Meaning) { r.Error, r.Failed = m.text, m.number != 0 })},
	},
	"attrs": {
		{"attrs.key", many(text, nothing, func(r *Row, i int, m *Meaning) {
			r.Attrs = appendPart(r, &r.Batch.Attrs, r.Attrs, i, maxAttrs, op.Attr{Key: m.text}, op.WarnBadValue)
		})},
		{"attrs.value", many(text, nothing, func(r *Row, i int, m *Meaning) {
			if i < len(r.Attrs) {
				r.Attrs[i].Value = m.text
			}
		})},
	},
	"links":      nil,
	"extra":      nil,
	"warn":       {{"warn", many(warning, nothing, func(*Row, int, *Meaning) {})}},
	"collective": nil,
}

// otherColumns are the columns of other records, and the last columns of the table.
var otherColumns = []Column{
	{"name", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.More().Span.Name = m.text })},
	{"parent_remote", one(op.WarnBadValue, flag,
		func(r *Row, m *Meaning) { r.More().Span.RemoteParent = m.number != 0 })},
	{"world_size", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.More().Resource.WorldSize = m.int() })},
	{"gap.dropped", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.More().Gap.Dropped = m.number })},
	{"gap.reason", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.More().Gap.Reason = m.text })},
	{"batch.writer", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.More().Batch.Writer = m.text })},
	{"batch.seq", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.More().Batch.Sequence = m.number })},
	{"links.trace_id", many(traceID, nothing, func(r *Row, i int, m *Meaning) {
		r.Links = appendPart(r, &r.Batch.Links, r.Links, i, op.MaxLinks, op.Link{TraceID: m.id}, op.WarnDroppedLinks)
	})},
	{"links.span_id", many(spanID(false), nothing, func(r *Row, i int, m *Meaning) {
		if i < len(r.Links) {
			r.Links[i].SpanID = op.SpanID(m.id[:8])
		}
	})},
	{"links.weight", many(amount, nothing, func(r *Row, i int, m *Meaning) {
		if i < len(r.Links) {
			r.Links[i].Weight = m.int()
		}
	})},
	{"extra", one(0, text, func(r *Row, m *Meaning) { r.Rest = m.text })},
	{"batch.entries", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.More().Batch.Entries = m.number })},
}

var amount = integer(0, op.WarnBadValue)

type translate = func(b *Batch, f *Form, v *Value, to *Meaning)

// one reads a column with one value per row. A list is a wrong value.
func one(wrong op.Warning, t translate, set func(*Row, *Meaning)) func(*Form) Use {
	return func(f *Form) Use {
		if f.MaxRep > 0 {
			return passing(wrong)
		}
		return Use{Translate: t, Set: set}
	}
}

// many reads a column with a list per row. It calls empty for a list without elements.
func many(t translate, empty func(*Row), add func(r *Row, i int, m *Meaning)) func(*Form) Use {
	return func(f *Form) Use {
		if f.MaxRep != 1 {
			return passing(op.WarnBadValue)
		}
		return Use{Translate: t, List: func(r *Row, cells []Cell) {
			if cells[0].Def == f.Lists[0]-1 {
				empty(r)
			}
			if cells[0].Def < f.Lists[0] {
				return
			}
			for i, p := range cells {
				if p.Value == nil {
					p.Value = &null
				}
				r.Warn |= p.Value.warning
				add(r, i, p.Value)
			}
		}}
	}
}

var null Meaning

func nothing(*Row) {}

func setDuration(r *Row, m *Meaning) { r.Duration, r.HasDuration = m.number, true }

// passing ignores a column of an unusable form. Values that are not null add a warning.
func passing(wrong op.Warning) Use {
	return Use{
		Translate: func(*Batch, *Form, *Value, *Meaning) {},
		List: func(r *Row, cells []Cell) {
			if cells[0].Def > 0 {
				r.Warn |= wrong
			}
		},
	}
}

// ofCollective reads a column in the group of a collective. A null value shows that there is a collective.
func ofCollective(t translate, set func(*Row, *Meaning)) func(*Form) Use {
	return func(f *Form) Use {
		u := one(op.WarnBadValue, t, set)(f)
		return Use{Translate: u.Translate, List: func(r *Row, cells []Cell) {
			first := cells[0]
			if first.Def > 0 || f.MaxDef == 0 {
				r.Collective = &r.More().Collective
			}
			switch {
			case u.List != nil:
				u.List(r, cells)
			case first.Value != nil:
				u.SetValue(r, first.Value)
			}
		}}
	}
}

// maxAttrs limits the attributes of a row. The SDK's limit is a fraction of it.
const maxAttrs = 1024

// appendPart appends the i-th part of a row's list to all and returns the list. It adds a warning instead
// if the list has most parts.
func appendPart[T any](r *Row, all *[]T, list []T, i, most int, part T, warning op.Warning) []T {
	if i >= most {
		r.Warn |= warning
		return list
	}
	*all = append(*all, part)
	return (*all)[len(*all)-i-1 : len(*all) : len(*all)]
}
