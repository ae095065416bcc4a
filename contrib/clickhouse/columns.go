package clickhouse

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// column is a column of the table of records. Columns are named as in Parquet. A column that may be null is so
// where nothing is known; other columns have an empty text, an empty list or 0 for that.
type column struct {
	name, typ string
	value     func(r *row) any
	cell      func(r *row) cell
}

// cell is a place for a value that is read, and what sets the fields of a row by it.
type cell struct {
	place any // a pointer
	set   func() error
}

// made returns a column of values that get returns and set sets.
func made[V any](name, typ string, get func(*row) V, set func(*row, V) error) column {
	return column{name, typ, func(r *row) any { return get(r) }, func(r *row) cell {
		place := new(V)
		return cell{place, func() error { return set(r, *place) }}
	}}
}

// held returns a column of the values at a place.
func held[V any](name, typ string, at func(*row) *V) column {
	return made(name, typ, func(r *row) V { return *at(r) }, func(r *row, v V) error {
		*at(r) = v
		return nil
	})
}

// flag returns a column that is 1 where the flag is set.
func flag(name string, at func(*row) *bool) column {
	return made(name, "UInt8", func(r *row) uint8 { return number(*at(r)) }, func(r *row, n uint8) error {
		*at(r) = n != 0
		return nil
	})
}

// optional returns a column of a number that may not be known.
func optional(name string, at func(*row) *op.Int) column {
	return made(name, "Nullable(Int64)", func(r *row) *int64 { return nullable(*at(r)) }, func(r *row, n *int64) error {
		*at(r) = known(n)
		return nil
	})
}

// each returns a column of lists with an element for each of what n counts.
func each[V any](name, typ string, n func(r *row) int, get func(r *row, i int) V, set func(r *row, i int, v V) error) column {
	return made(name, "Array("+typ+")", func(r *row) []V {
		var list []V
		for i := range n(r) {
			list = append(list, get(r, i))
		}
		return list
	}, func(r *row, list []V) error {
		for i, v := range list {
			if err := set(r, i, v); err != nil {
				return err
			}
		}
		return nil
	})
}

// ofTable returns the columns of the fields of a part of a row that are of simple types, but for those in skip.
func ofTable[T any](prefix string, fields []op.Column[T], of func(*row) *T, skip ...string) []column {
	var list []column
	for _, f := range fields {
		name := prefix + f.Name
		if slices.Contains(skip, name) {
			continue
		}
		switch at := f.At.(type) {
		case func(*T) *op.Int:
			list = append(list, optional(name, func(r *row) *op.Int { return at(of(r)) }))
		case func(*T) *string:
			list = append(list, held(name, "String", func(r *row) *string { return at(of(r)) }))
		case func(*T) *int64:
			list = append(list, held(name, "Int64", func(r *row) *int64 { return at(of(r)) }))
		case func(*T) *float64:
			list = append(list, held(name, "Float64", func(r *row) *float64 { return at(of(r)) }))
		case func(*T) []byte:
			list = append(list, made(name, "String", func(r *row) string { return idText(at(of(r))) }, func(r *row, text string) error {
				return setID(at(of(r)), text)
			}))
		case func(*T) op.Name:
			list = append(list, made(name, "String", func(r *row) string { return at(of(r)).String() }, func(r *row, word string) error {
				if w := at(of(r)).SetName(word); w&op.WarnBadValue != 0 {
					return fmt.Errorf("%.40q is no %s of an operation", word, f.Name)
				}
				return nil
			}))
		}
	}
	return list
}

// order names columns in their order; any others follow.
var order = []string{
	"input", "row", "record", "step", "operation", "device_id", "input_shapes", "unknown_inputs", "has_input_shapes", "output_shape",
	"has_output_shape", "shapes", "duration_ns", "output_elements", "memory_bytes", "kind", "kind_rule", "dtype", "start_unix_ns",
	"launch_unix_ns", "stream", "rank", "flops", "work_flops", "work_derived", "moved_bytes", "trace_id", "span_id", "parent_span_id",
	"root", "root_span_id", "service", "host", "scope", "path", "input_dtypes", "side", "failed", "error", "adjusted_count",
	"dropped_attributes", "attr_k", "attr_v", "warn", "is_collective", "collective_name", "collective_group", "collective_group_size",
	"collective_sequence", "collective_peer_rank", "collective_in_elements", "collective_out_elements", "name", "parent_remote",
	"world_size", "gap_dropped", "gap_reason", "batch_writer", "batch_seq", "batch_entries", "link_trace_ids", "link_span_ids",
	"link_weights", "link_weighted", "extra",
}

func columns() []column {
	list := slices.Concat(
		ofTable("", op.Columns, func(r *row) *op.Entry { return &r.e }, "device_id"),
		ofTable("collective_", op.CollectiveColumns, func(r *row) *op.Collective { return &r.about }),
		ownColumns,
	)
	place := func(c column) int {
		if i := slices.Index(order, c.name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(list, func(a, b column) int { return place(a) - place(b) })
	return list
}

// ownColumns are those that the tables of fields do not have, or have in types of their own.
var ownColumns = []column{
	// The input by its digest and the number of the record in it identify a record.
	held("input", "UInt64", func(r *row) *uint64 { return &r.input }),
	held("row", "UInt64", func(r *row) *uint64 { return &r.number }),
	held("record", "String", func(r *row) *string { return &r.record }),
	made("device_id", "Nullable(String)", func(r *row) *string {
		if !r.e.HasDevice() {
			return nil
		}
		return &r.e.DeviceID
	}, func(r *row, id *string) error {
		if id != nil {
			r.e.DeviceID, r.e.EmptyDevice = *id, *id == ""
		}
		return nil
	}),
	// An input of unknown shape has an empty list, and its place in unknown_inputs. Where has_input_shapes is 0,
	// nothing is known of the inputs.
	each("input_shapes", "Array(Int64)", func(r *row) int { return len(r.e.InputShapes) },
		func(r *row, i int) []int64 { return r.e.InputShapes[i] }, func(r *row, _ int, s []int64) error {
			r.e.InputShapes = append(r.e.InputShapes, append(op.Shape{}, s...))
			return nil
		}),
	made("unknown_inputs", "Array(Int64)", func(r *row) []int64 {
		var list []int64
		for i, s := range r.e.InputShapes {
			if s == nil {
				list = append(list, int64(i))
			}
		}
		return list
	}, func(r *row, list []int64) error {
		forget(r.e.InputShapes, list)
		return nil
	}),
	made("has_input_shapes", "UInt8", func(r *row) uint8 { return number(r.e.InputShapes != nil) }, func(r *row, has uint8) error {
		if r.e.InputShapes = append([]op.Shape{}, r.e.InputShapes...); has == 0 {
			r.e.InputShapes = nil
		}
		return nil
	}),
	made("output_shape", "Array(Int64)", func(r *row) []int64 { return r.e.OutputShape }, func(r *row, s []int64) error {
		r.e.OutputShape = append(op.Shape{}, s...)
		return nil
	}),
	made("has_output_shape", "UInt8", func(r *row) uint8 { return number(r.e.OutputShape != nil) }, func(r *row, has uint8) error {
		if has == 0 {
			r.e.OutputShape = nil
		}
		return nil
	}),
	// The shapes and the element type as text are the key shape of reports.
	held("shapes", "String", func(r *row) *string { return &r.shapes }),
	// work_flops are FLOPs or, where work_derived is 1, what follows from the name and the shapes; moved_bytes
	// is the size of inputs and outputs.
	optional("work_flops", func(r *row) *op.Int { return &r.work.FLOPs }),
	flag("work_derived", func(r *row) *bool { return &r.derived }),
	optional("moved_bytes", func(r *row) *op.Int { return &r.work.Bytes }),
	held("host", "String", func(r *row) *string { return &r.e.Host }),
	each("input_dtypes", "String", func(r *row) int { return len(r.e.InputDTypes) },
		func(r *row, i int) string { return string(r.e.InputDTypes[i]) }, func(r *row, _ int, t string) error {
			r.e.InputDTypes = append(r.e.InputDTypes, op.DType(t))
			return nil
		}),
	flag("failed", func(r *row) *bool { return &r.e.Failed }),
	each("attr_k", "String", numAttrs, func(r *row, i int) string { return r.e.Attrs[i].Key }, func(r *row, i int, key string) error {
		at(&r.e.Attrs, i).Key = key
		return nil
	}),
	each("attr_v", "String", numAttrs, func(r *row, i int) string { return r.e.Attrs[i].Value }, func(r *row, i int, value string) error {
		at(&r.e.Attrs, i).Value = value
		return nil
	}),
	made("warn", "Array(String)", func(r *row) (list []string) {
		for w := range r.e.Warn.All() {
			if name := w.String(); name != "" {
				list = append(list, name)
			}
		}
		return list
	}, func(r *row, list []string) error {
		for _, name := range list {
			w, _ := op.ParseWarning(name)
			r.e.Warn |= w
		}
		return nil
	}),
	made("is_collective", "UInt8", func(r *row) uint8 { return number(r.e.Collective != nil) }, func(r *row, is uint8) error {
		if is != 0 {
			r.e.Collective = &r.about
		}
		return nil
	}),
	held("name", "String", func(r *row) *string { return &r.name }),
	flag("parent_remote", func(r *row) *bool { return &r.remote }),
	optional("world_size", func(r *row) *op.Int { return &r.worldSize }),
	held("gap_dropped", "Int64", func(r *row) *int64 { return &r.gap.Dropped }),
	held("gap_reason", "String", func(r *row) *string { return &r.gap.Reason }),
	held("batch_writer", "String", func(r *row) *string { return &r.batch.Writer }),
	held("batch_seq", "Int64", func(r *row) *int64 { return &r.batch.Sequence }),
	held("batch_entries", "Int64", func(r *row) *int64 { return &r.batch.Entries }),
	each("link_trace_ids", "String", numLinks, func(r *row, i int) string { return idText(r.e.Links[i].TraceID[:]) },
		func(r *row, i int, text string) error { return setID(at(&r.e.Links, i).TraceID[:], text) }),
	each("link_span_ids", "String", numLinks, func(r *row, i int) string { return idText(r.e.Links[i].SpanID[:]) },
		func(r *row, i int, text string) error { return setID(at(&r.e.Links, i).SpanID[:], text) }),
	each("link_weights", "Int64", numLinks, func(r *row, i int) int64 { return r.e.Links[i].Weight.V },
		func(r *row, i int, n int64) error {
			at(&r.e.Links, i).Weight.V = n
			return nil
		}),
	each("link_weighted", "UInt8", numLinks, func(r *row, i int) uint8 { return number(r.e.Links[i].Weight.Known) },
		func(r *row, i int, weighted uint8) error {
			if l := at(&r.e.Links, i); weighted != 0 {
				l.Weight.Known = true
			} else {
				l.Weight = op.Int{}
			}
			return nil
		}),
	held("extra", "String", func(r *row) *string { return &r.extra }),
}

func numAttrs(r *row) int { return len(r.e.Attrs) }
func numLinks(r *row) int { return len(r.e.Links) }

// at returns the i-th element of a list, which becomes that long.
func at[E any](list *[]E, i int) *E {
	if i == len(*list) {
		*list = append(*list, *new(E))
	}
	return &(*list)[i]
}

// forget makes the shapes at places unknown.
func forget(shapes []op.Shape, places []int64) {
	for _, i := range places {
		if 0 <= i && i < int64(len(shapes)) {
			shapes[i] = nil
		}
	}
}

// setID sets an id, to none for an empty text.
func setID(id []byte, text string) error {
	if !jsontext.ParseID(id, []byte(text)) && text != "" {
		return fmt.Errorf("%.40q is no id", text)
	}
	return nil
}

func idText(id []byte) string {
	if !slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
		return ""
	}
	return hex.EncodeToString(id)
}

func nullable(n op.Int) *int64 {
	if !n.Known {
		return nil
	}
	return &n.V
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
