package clickhouse

import (
	"encoding/hex"
	"slices"

	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// column is a column of the table of records, with the name from package parquet. In a nullable column
// null is unknown; in others an empty text, an empty list or 0 is.
type column struct {
	name, typ string
	value     func(r *row) any
	// place returns a pointer to scan into, and a function that then sets the fields of the row.
	place func(r *row) (place any, set func())
}

// made returns a column with accessors.
func made[V any](name, typ string, get func(*row) V, set func(*row, V)) column {
	return column{name, typ, func(r *row) any { return get(r) }, func(r *row) (any, func()) {
		place := new(V)
		return place, func() { set(r, *place) }
	}}
}

// held returns a column of a field.
func held[V any](name, typ string, at func(*row) *V) column {
	return made(name, typ, func(r *row) V { return *at(r) }, func(r *row, v V) { *at(r) = v })
}

// flag returns a column of a boolean, 1 for true.
func flag(name string, at func(*row) *bool) column {
	return made(name, "UInt8", func(r *row) uint8 { return number(*at(r)) }, func(r *row, n uint8) { *at(r) = n != 0 })
}

// present returns a column with 1 for a known list, which may be empty.
func present[E any](name string, at func(*row) *[]E) column {
	return made(name, "UInt8", func(r *row) uint8 { return number(*at(r) != nil) }, func(r *row, n uint8) {
		switch list := at(r); {
		case n == 0:
			*list = nil
		case *list == nil:
			*list = []E{}
		}
	})
}

// optional returns a column of a number that may be unknown.
func optional(name string, at func(*row) *op.Int) column {
	return made(name, "Nullable(Int64)", func(r *row) *int64 {
		if n := at(r); n.Known {
			return &n.V
		}
		return nil
	}, func(r *row, n *int64) { *at(r) = known(n) })
}

// each returns a column with a value for each element of a list.
func each[E, V any](name, typ string, at func(*row) *[]E, get func(*E) V, set func(*row, *E, V)) column {
	return made(name, "Array("+typ+")", func(r *row) (values []V) {
		for i := range *at(r) {
			values = append(values, get(&(*at(r))[i]))
		}
		return values
	}, func(r *row, values []V) {
		list := at(r)
		*list = append(*list, make([]E, max(0, len(values)-len(*list)))...)
		for i, v := range values {
			set(r, &(*list)[i], v)
		}
	})
}

// eachHeld is each for a field of the elements.
func eachHeld[E, V any](name, typ string, list func(*row) *[]E, at func(*E) *V) column {
	return each(name, typ, list, func(e *E) V { return *at(e) }, func(_ *row, e *E, v V) { *at(e) = v })
}

// of returns the column of a simple field.
func of[T any](f opfields.Field[T], name string, part func(*row) *T) column {
	switch at := f.At.(type) {
	case func(*T) *op.Int:
		return optional(name, func(r *row) *op.Int { return at(part(r)) })
	case func(*T) *string:
		return held(name, "String", func(r *row) *string { return at(part(r)) })
	case func(*T) *int64:
		return held(name, "Int64", func(r *row) *int64 { return at(part(r)) })
	case func(*T) *float64:
		return held(name, "Float64", func(r *row) *float64 { return at(part(r)) })
	case func(*T) []byte:
		return made(name, "String", func(r *row) string { return idText(at(part(r))) },
			func(r *row, text string) { r.setID(at(part(r)), text) })
	}
	at, _ := f.At.(func(*T) opfields.Name)
	return made(name, "String", func(r *row) string { return at(part(r)).String() }, func(r *row, word string) {
		if w := at(part(r)).SetName(word); w&op.WarnBadValue != 0 {
			r.fail("%.40q is no %s of an operation", word, f.Name)
		}
	})
}

func columns() []column {
	list := []column{
		// The input and the number within it identify a record.
		held("input", "UInt64", func(r *row) *uint64 { return &r.input }),
		held("row", "UInt64", func(r *row) *uint64 { return &r.number }),
		held("record", "String", func(r *row) *string { return &r.record }),
	}
	for _, f := range opfields.Entry {
		if own, ok := ownColumns[f.Name]; ok {
			list = append(list, own...)
		} else {
			list = append(list, of(f, f.Name, entryOf))
		}
	}
	return list
}

func entryOf(r *row) *op.Entry { return &r.e }

// ownColumns are the columns of fields with several columns or a special type. The columns of other
// records follow the collective.
var ownColumns = map[string][]column{
	"device_id": {made("device_id", "Nullable(String)", func(r *row) *string {
		if !r.e.HasDevice() {
			return nil
		}
		return &r.e.DeviceID
	}, func(r *row, id *string) {
		if id != nil {
			r.e.DeviceID = *id
			r.e.EmptyDevice = *id == ""
		}
	})},
	// An input of unknown shape has an empty list, and its index is in unknown_inputs. If has_input_shapes
	// is 0, the inputs are unknown.
	"input_shapes": {
		each("input_shapes", "Array(Int64)", inputShapes, func(s *op.Shape) []int64 { return *s },
			func(_ *row, s *op.Shape, dims []int64) { *s = append(op.Shape{}, dims...) }),
		made("unknown_inputs", "Array(Int64)", func(r *row) []int64 {
			var list []int64
			for i, s := range r.e.InputShapes {
				if s == nil {
					list = append(list, int64(i))
				}
			}
			return list
		}, func(r *row, list []int64) { forget(r.e.InputShapes, list) }),
		present("has_input_shapes", inputShapes),
	},
	"output_shape": {
		held("output_shape", "Array(Int64)", outputShape), present("has_output_shape", outputShape),
		// Reports group by the text of the shapes and the element type.
		held("shapes", "String", func(r *row) *string { return &r.shapes }),
	},
	"duration_us": {held("duration_ns", "Int64", func(r *row) *int64 { return &r.e.Duration })},
	"duration_ns": nil,
	// work_flops are the FLOPs; work_derived is 1 if they follow from the name and the shapes. moved_bytes
	// is the size of inputs and outputs.
	"flops": {
		optional("flops", func(r *row) *op.Int { return &r.e.FLOPs }),
		optional("work_flops", func(r *row) *op.Int { return &r.work.FLOPs }),
		flag("work_derived", func(r *row) *bool { return &r.derived }),
		optional("moved_bytes", func(r *row) *op.Int { return &r.work.Bytes }),
	},
	"service": {
		held("service", "String", func(r *row) *string { return &r.e.Service }),
		held("host", "String", func(r *row) *string { return &r.e.Host }),
	},
	"input_dtypes": {eachHeld("input_dtypes", "String", func(r *row) *[]op.DType { return &r.e.InputDTypes },
		func(t *op.DType) *string { return (*string)(t) })},
	"error": {
		flag("failed", func(r *row) *bool { return &r.e.Failed }),
		held("error", "String", func(r *row) *string { return &r.e.Error }),
	},
	"attrs": {
		eachHeld("attr_k", "String", attrs, func(a *op.Attr) *string { return &a.Key }),
		eachHeld("attr_v", "String", attrs, func(a *op.Attr) *string { return &a.Value }),
	},
	"links": nil,
	"extra": nil,
	"warn": {made("warn", "Array(String)", func(r *row) (list []string) {
		for w := range r.e.Warn.All() {
			if name := w.String(); name != "" {
				list = append(list, name)
			}
		}
		return list
	}, func(r *row, list []string) {
		for _, name := range list {
			w, _ := op.ParseWarning(name)
			r.e.Warn |= w
		}
	})},
	"collective": slices.Concat(collectiveColumns(), []column{
		held("name", "String", func(r *row) *string { return &r.name }),
		flag("parent_remote", func(r *row) *bool { return &r.remote }),
		optional("world_size", func(r *row) *op.Int { return &r.worldSize }),
		held("gap_dropped", "Int64", func(r *row) *int64 { return &r.gap.Dropped }),
		held("gap_reason", "String", func(r *row) *string { return &r.gap.Reason }),
		held("batch_writer", "String", func(r *row) *string { return &r.batch.Writer }),
		held("batch_seq", "Int64", func(r *row) *int64 { return &r.batch.Sequence }),
		held("batch_entries", "Int64", func(r *row) *int64 { return &r.batch.Entries }),
		each("link_trace_ids", "String", links, func(l *op.Link) string { return idText(l.TraceID[:]) },
			func(r *row, l *op.Link, text string) { r.setID(l.TraceID[:], text) }),
		each("link_span_ids", "String", links, func(l *op.Link) string { return idText(l.SpanID[:]) },
			func(r *row, l *op.Link, text string) { r.setID(l.SpanID[:], text) }),
		eachHeld("link_weights", "Int64", links, func(l *op.Link) *int64 { return &l.Weight.V }),
		each("link_weighted", "UInt8", links, func(l *op.Link) uint8 { return number(l.Weight.Known) },
			func(_ *row, l *op.Link, weighted uint8) {
				if l.Weight.Known = weighted != 0; !l.Weight.Known {
					l.Weight = op.Int{}
				}
			}),
		held("extra", "String", func(r *row) *string { return &r.extra }),
	}),
}

func collectiveColumns() []column {
	list := []column{
		made("is_collective", "UInt8", func(r *row) uint8 { return number(r.e.Collective != nil) },
			func(r *row, is uint8) {
				if is != 0 {
					r.e.Collective = &r.about
				}
			}),
	}
	for _, f := range opfields.Collective {
		list = append(list, of(f, "collective_"+f.Name, func(r *row) *op.Collective { return &r.about }))
	}
	return list
}

func inputShapes(r *row) *[]op.Shape { return &r.e.InputShapes }
func outputShape(r *row) *[]int64    { return (*[]int64)(&r.e.OutputShape) }
func attrs(r *row) *[]op.Attr        { return &r.e.Attrs }
func links(r *row) *[]op.Link        { return &r.e.Links }

// forget makes the shapes at the indexes unknown.
func forget(shapes []op.Shape, places []int64) {
	for _, i := range places {
		if 0 <= i && i < int64(len(shapes)) {
			shapes[i] = nil
		}
	}
}

// setID parses an id. An empty text is no id.
func (r *row) setID(id []byte, text string) {
	if !scalar.ParseID(id, []byte(text)) && text != "" {
		r.fail("%.40q is no id", text)
	}
}

func idText(id []byte) string {
	if !slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
		return ""
	}
	return hex.EncodeToString(id)
}

func known(n *int64) op.Int {
	if n == nil {
		return op.Int{}
	}
	return op.Known(*n)
}

func number(set bool) uint8 {
	if set {
		return 1
	}
	return 0
}
