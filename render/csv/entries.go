package csv

import (
	"cmp"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// entryColumns lists the first columns of a row in order; unwritten lists fields without a column. All other fields
// follow. Columns have the names of entries JSON Lines; the fields of a collective have their names within it.
var (
	entryColumns = []string{
		"step", "operation", "kind", "side", "path", "device_id", "stream", "rank", "input_shapes", "input_dtypes",
		"output_shape", "dtype", "start_unix_ns", "duration_ns", "duration_us", "output_elements", "memory_bytes",
		"flops", "error", "trace_id", "span_id", "parent_span_id", "root", "root_span_id", "service", "scope",
		"collective", "adjusted_count", "dropped_attributes", "warn",
	}
	unwritten = []string{"kind_rule", "launch_unix_ns", "attrs", "links", "extra"}
)

// EntryWriter writes a row for each entry. Shapes are written as in reports, "64x784", separated by spaces. Call Flush
// at the end. It is not safe for concurrent use.
type EntryWriter struct{ table *tableWriter[op.Entry] }

// NewEntryWriter writes the header row and returns an EntryWriter to w.
func NewEntryWriter(w io.Writer, opts Options) (*EntryWriter, error) {
	written := slices.DeleteFunc(slices.Clone(opfields.Entry), func(c opfields.Field[op.Entry]) bool {
		return slices.Contains(unwritten, c.Name)
	})
	slices.SortStableFunc(written, func(a, b opfields.Field[op.Entry]) int {
		return cmp.Compare(place(a.Name), place(b.Name))
	})
	var columns []column[op.Entry]
	for _, c := range written {
		switch c.Name {
		case "duration_us":
			columns = append(columns, column[op.Entry]{c.Name, func(w *writer, e *op.Entry) {
				w.plain(string(scalar.AppendMicros(nil, e.Duration)), true)
			}})
			continue
		case "collective":
			for i, of := range opfields.Collective {
				if i > 0 {
					c.Name = of.Name // the first has the collective's name
				}
				columns = append(columns, column[op.Entry]{c.Name,
					func(w *writer, e *op.Entry) { field(w, &of, cmp.Or(e.Collective, &noCollective)) }})
			}
			continue
		case "error":
			columns = append(columns, column[op.Entry]{"failed",
				func(w *writer, e *op.Entry) { w.plain(strconv.FormatBool(e.Failed), true) }})
		}
		columns = append(columns, column[op.Entry]{c.Name, func(w *writer, e *op.Entry) { field(w, &c, e) }})
	}
	table, err := newTable(w, opts, columns)
	return &EntryWriter{table}, err
}

// noCollective stands for the collective of all other operations.
var noCollective op.Collective

// place returns the position of a column. Unlisted columns come last.
func place(name string) uint { return uint(slices.Index(entryColumns, name)) }

// Write writes e.
func (w *EntryWriter) Write(e *op.Entry) error { return w.table.write(e) }

// Flush writes the buffered rows.
func (w *EntryWriter) Flush() error { return w.table.flush() }

// field adds a field, an empty one if its value is unknown.
func field[T any](w *writer, c *opfields.Field[T], v *T) {
	switch at := c.At.(type) {
	case func(*T) *op.Int:
		w.value(at(v))
	case func(*T) *string:
		w.text(*at(v))
	case func(*T) opfields.Name:
		w.text(at(v).String())
	case func(*T) []byte:
		text := ""
		if id := at(v); slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
			text = string(scalar.AppendHex(nil, id))
		}
		w.plain(text, true)
	case func(*T) *int64:
		w.int(*at(v))
	case func(*T) *float64:
		w.float(*at(v), *at(v) != 0)
	case func(*T) *op.Shape:
		w.plain(at(v).String(), *at(v) != nil)
	case func(*T) *[]op.Shape:
		w.text(join(slices.Values(*at(v))))
	case func(*T) *[]op.DType:
		w.text(join(slices.Values(*at(v))))
	case func(*T) *op.Warning:
		w.text(join(at(v).All()))
	}
}

func join[T interface{ String() string }](list iter.Seq[T]) string {
	var parts []string
	for v := range list {
		parts = append(parts, v.String())
	}
	return strings.Join(parts, " ")
}
