package csv

import (
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// entryColumns are the fields of an entry that come first, in their order, and unwritten those that a row
// does not have. Any others follow. Columns are named as in entries JSON Lines, and what is known of a
// collective as there within it.
var (
	entryColumns = []string{
		"step", "operation", "kind", "side", "path", "device_id", "stream", "rank", "input_shapes", "input_dtypes", "output_shape",
		"dtype", "start_unix_ns", "duration_ns", "duration_us", "output_elements", "memory_bytes", "flops", "error",
		"trace_id", "span_id", "parent_span_id", "root", "root_span_id", "service", "scope", "collective", "adjusted_count",
		"dropped_attributes", "warn",
	}
	unwritten = []string{"kind_rule", "launch_unix_ns", "attrs", "links", "extra"}
)

// EntryWriter writes a row for each entry. Shapes are written as in reports,
// "64x784", separated by spaces. Call Flush at the end. It is not safe for
// concurrent use.
type EntryWriter struct {
	w       *writer
	columns []*op.Column[op.Entry]
}

// NewEntryWriter returns an EntryWriter to w and writes the header row.
func NewEntryWriter(w io.Writer, opts Options) (*EntryWriter, error) {
	ew := &EntryWriter{}
	for _, name := range entryColumns {
		ew.columns = append(ew.columns, &op.Columns[slices.IndexFunc(op.Columns, func(c op.Column[op.Entry]) bool { return c.Name == name })])
	}
	for i := range op.Columns {
		if c := &op.Columns[i]; !slices.Contains(entryColumns, c.Name) && !slices.Contains(unwritten, c.Name) {
			ew.columns = append(ew.columns, c)
		}
	}
	var header []string
	for _, c := range ew.columns {
		switch c.Name {
		case "error":
			header = append(header, "failed", c.Name)
		case "collective":
			header = append(header, c.Name)
			for _, c := range op.CollectiveColumns[1:] { // the first is its name
				header = append(header, c.Name)
			}
		default:
			header = append(header, c.Name)
		}
	}
	var err error
	if ew.w, err = newWriter(w, opts, header); err != nil {
		return nil, err
	}
	return ew, nil
}

// Write writes e.
func (w *EntryWriter) Write(e *op.Entry) error {
	r := w.w
	for _, c := range w.columns {
		switch c.Name {
		case "duration_us":
			r.row = append(r.row, string(jsontext.AppendMicros(nil, e.Duration)))
		case "collective":
			about := e.Collective
			if about == nil {
				about = &op.Collective{}
			}
			for i := range op.CollectiveColumns {
				field(r, &op.CollectiveColumns[i], about)
			}
		case "error":
			failed := "false"
			if e.Failed {
				failed = "true"
			}
			r.row = append(r.row, failed)
			r.text(e.Error)
		default:
			field(r, c, e)
		}
	}
	return r.end()
}

// Flush writes the buffered rows.
func (w *EntryWriter) Flush() error { return w.w.flush() }

// field adds a field, or an empty one if it is unknown.
func field[T any](w *writer, c *op.Column[T], v *T) {
	switch at := c.At.(type) {
	case func(*T) *op.Int:
		w.known(*at(v))
	case func(*T) *string:
		w.text(*at(v))
	case func(*T) op.Name:
		w.text(at(v).String())
	case func(*T) []byte:
		if id := at(v); slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
			w.row = append(w.row, string(jsontext.AppendHex(nil, id)))
		} else {
			w.empty()
		}
	case func(*T) *int64:
		w.int(*at(v))
	case func(*T) *float64:
		if f := *at(v); f != 0 {
			w.float(f)
		} else {
			w.empty()
		}
	case func(*T) *op.Shape:
		if s := *at(v); s != nil {
			w.row = append(w.row, s.String())
		} else {
			w.empty()
		}
	case func(*T) *[]op.Shape:
		w.text(join(slices.Values(*at(v))))
	case func(*T) *[]op.DType:
		w.text(join(slices.Values(*at(v))))
	case func(*T) *op.Warning:
		w.text(join(at(v).All()))
	}
}

// join returns the texts of a list, separated by spaces.
func join[T interface{ String() string }](list iter.Seq[T]) string {
	var parts []string
	for v := range list {
		parts = append(parts, v.String())
	}
	return strings.Join(parts, " ")
}
