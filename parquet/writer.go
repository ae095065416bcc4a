package parquet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
)

// Limits of a row group. It stays in memory, compressed, until it is complete.
const (
	// maxGroupRows limits the rows of a row group. Large row groups compress well; small ones let several
	// readers share a file.
	maxGroupRows = 1 << 17
	// maxGroupBytes ends row groups with unusually long rows.
	maxGroupBytes = 128 << 20
	// maxDictionaryBytes limits a dictionary. A column with more distinct values is smaller without one.
	maxDictionaryBytes = 1 << 20
)

// Writer writes records as rows of a Parquet file. The file is complete after Close. Writer holds at most
// one row group in memory, and the metadata of the row groups before. It is not safe for concurrent use.
type Writer struct {
	file     *parquet.GenericWriter[any]
	row      row
	rows     int          // of the current row group
	most     int64        // limit of a row group's bytes
	largest  int64        // bytes of the largest row group
	resource *op.Resource // the first one
	several  bool         // a later resource differs
	err      error
}

// NewWriter returns a Writer to w. It writes when the first row group is complete.
func NewWriter(w io.Writer) *Writer {
	schema := newSchema()
	file := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&zstd.Codec{}),
		parquet.DictionaryMaxBytes(maxDictionaryBytes),
		parquet.KeyValueMetadata(schemaKey, op.Schema),
		parquet.CreatedBy("optrace", "", ""),
	)
	return &Writer{file: file, row: newRow(schema), most: maxGroupBytes}
}

// Bytes returns an estimate of the memory for writing: several times the size of the largest row group.
func (w *Writer) Bytes() int64 {
	const copies = 8
	return copies * w.largest
}

// LimitGroups ends row groups at so many bytes of texts and numbers, at most the default of 128 MiB.
// Writing takes several times as much memory.
func (w *Writer) LimitGroups(bytes int64) { w.most = min(w.most, max(0, bytes)) }

// Entry writes e.
func (w *Writer) Entry(e *op.Entry) error {
	w.row.entry(e)
	return w.end()
}

// Span writes s.
func (w *Writer) Span(s *op.Span) error {
	w.row.span(s)
	return w.end()
}

// Resource writes s. The following records come from it.
func (w *Writer) Resource(s *op.Resource) error {
	r := &w.row
	r.text(r.at["record"], "resource")
	r.text(r.at["service"], s.Service)
	r.int(r.at["rank"], s.Rank)
	r.int(r.at["world_size"], s.WorldSize)
	r.more(s.Attrs, nil, nil)
	if w.resource == nil {
		w.resource = s.Clone()
	}
	w.several = w.several || !opfile.SameResource(w.resource, s)
	return w.end()
}

// Gap writes g.
func (w *Writer) Gap(g *op.Gap) error {
	r := &w.row
	r.text(r.at["record"], "gap")
	r.int(r.at["gap.dropped"], op.Known(g.Dropped))
	if r.text(r.at["gap.reason"], g.Reason); g.Reason == "" {
		r.null(r.at["gap.reason"], 0, nullInGroup)
	}
	return w.end()
}

// Batch writes b.
func (w *Writer) Batch(b *op.Batch) error {
	r := &w.row
	r.text(r.at["record"], "batch")
	r.addText(r.at["batch.writer"], b.Writer, 0)
	r.int(r.at["batch.seq"], op.Known(b.Sequence))
	r.int(r.at["batch.entries"], op.Known(b.Entries))
	return w.end()
}

// end completes a row, and the row group if it is large enough. The first error is final: every later call
// returns it, because the file lacks a page.
func (w *Writer) end() error {
	if w.err != nil {
		clear(w.row.columns)
		return w.err
	}
	w.fail(w.row.write(w.file.ColumnWriters()))
	w.largest = max(w.largest, w.row.size)
	if w.rows++; w.rows >= maxGroupRows || w.row.size >= w.most {
		w.rows, w.row.size = 0, 0
		w.fail(w.file.Flush())
	}
	return w.err
}

func (w *Writer) fail(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("writing parquet: %w", err)
	}
}

var errClosed = errors.New("writing parquet: writer is closed")

// Close completes the file and leaves the underlying writer open. Without Close the file is unreadable.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if w.resource != nil && !w.several {
		w.file.SetKeyValueMetadata(resourceKey, string(op.AppendHeader(nil, w.resource)))
	}
	w.fail(w.file.Close())
	if w.err == nil {
		w.err = errClosed
		return nil
	}
	return w.err
}

// Definition levels of null or empty values: null in an optional group, an empty list, null in a list, and
// an empty list in a list.
const (
	nullInGroup    = 1
	emptyList      = 1
	nullInList     = 2
	emptyInnerList = 3
)

// row has the values of a record for each column. A column without values is null.
type row struct {
	columns [][]parquet.Value
	levels  []int // the definition levels of values that are not null
	// at has the index of each column by name, in groups as "links.weight". A group or list has the index
	// of its first column.
	at   map[string]int
	size int64 // the approximate size of the values written in the row group
}

func newRow(schema *parquet.Schema) row {
	r := row{at: make(map[string]int)}
	for i, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		r.levels = append(r.levels, leaf.MaxDefinitionLevel)
		r.at[path[0]+"."+path[len(path)-1]] = i
		if _, ok := r.at[path[0]]; !ok {
			r.at[path[0]] = i
		}
	}
	r.columns = make([][]parquet.Value, len(r.levels))
	return r
}

// write passes the values to the column writers and empties the row.
func (r *row) write(columns []*parquet.ColumnWriter) error {
	for col, values := range r.columns {
		if len(values) == 0 {
			values = append(values, parquet.NullValue().Level(0, 0, col))
		}
		if _, err := columns[col].WriteRowValues(values); err != nil {
			return err
		}
		r.columns[col] = values[:0]
	}
	return nil
}

// add adds a value to a column, at a repetition level.
func (r *row) add(col int, v parquet.Value, rep int) {
	const valueBytes = 8 // per value, besides its text
	r.columns[col] = append(r.columns[col], v.Level(rep, r.levels[col], col))
	r.size += valueBytes
}

// null adds null to a column, at a repetition and a definition level.
func (r *row) null(col, rep, def int) {
	r.columns[col] = append(r.columns[col], parquet.NullValue().Level(rep, def, col))
}

// addText adds a text to a column, at a repetition level.
func (r *row) addText(col int, s string, rep int) {
	r.add(col, parquet.ByteArrayValue([]byte(s)), rep)
	r.size += int64(len(s))
}

func (r *row) text(col int, s string) {
	if s != "" {
		r.addText(col, s, 0)
	}
}

func (r *row) int(col int, n op.Int) {
	if n.Known {
		r.add(col, parquet.Int64Value(n.V), 0)
	}
}

func (r *row) bool(col int, v bool) { r.add(col, parquet.BooleanValue(v), 0) }

func (r *row) id(col int, id []byte) {
	if slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
		r.addText(col, hex.EncodeToString(id), 0)
	}
}

func (r *row) entry(e *op.Entry) {
	r.text(r.at["record"], "entry")
	for i := range opfields.Entry {
		c := &opfields.Entry[i]
		col := r.at[c.Name]
		switch at := c.At.(type) {
		case func(*op.Entry) *op.Shape:
			list(r, col, *at(e), func(d int64, rep int) { r.add(col, parquet.Int64Value(d), rep) })
		case func(*op.Entry) *[]op.Shape:
			list(r, col, *at(e), func(s op.Shape, rep int) { r.innerShape(col, s, rep) })
		case func(*op.Entry) *[]op.DType:
			list(r, col, *at(e), func(t op.DType, rep int) { r.addText(col, string(t), rep) })
		case func(*op.Entry) *op.Warning:
			for w := range at(e).All() {
				if name := w.String(); name != "" {
					r.addText(col, name, min(len(r.columns[col]), 1))
				}
			}
		case func(*op.Entry) **op.Collective:
			r.collective(col, *at(e))
		default:
			set(r, col, c, e)
		}
	}
	r.bool(r.at["failed"], e.Failed)
	r.more(e.Attrs, e.Links, e.Extra)
}

// set sets the column of a simple field: an integer, a text, a name, an id or a number. An unknown value stays null.
func set[T any](r *row, col int, c *opfields.Field[T], v *T) {
	switch at := c.At.(type) {
	case func(*T) *op.Int:
		r.int(col, *at(v))
	case func(*T) *string:
		r.text(col, *at(v))
	case func(*T) opfields.Name:
		r.text(col, at(v).String())
	case func(*T) []byte:
		r.id(col, at(v))
	case func(*T) *int64:
		r.int(col, op.Known(*at(v)))
	case func(*T) *float64:
		if f := *at(v); f != 0 {
			r.add(col, parquet.DoubleValue(f), 0)
		}
	}
}

// collective sets the columns of a group, starting at first. A null field of a collective differs from a
// missing collective.
func (r *row) collective(first int, c *op.Collective) {
	if c == nil {
		return
	}
	for i := range opfields.Collective {
		if set(r, first+i, &opfields.Collective[i], c); len(r.columns[first+i]) == 0 {
			r.null(first+i, 0, nullInGroup)
		}
	}
}

// list sets a column to a list; nil stays null. add adds an element at a repetition level.
func list[E any](r *row, col int, elements []E, add func(e E, rep int)) {
	if elements != nil && len(elements) == 0 {
		r.null(col, 0, emptyList)
	}
	for i, e := range elements {
		add(e, min(i, 1))
	}
}

// innerShape adds a shape to a list of shapes.
func (r *row) innerShape(col int, s op.Shape, rep int) {
	switch {
	case s == nil:
		r.null(col, rep, nullInList)
	case len(s) == 0:
		r.null(col, rep, emptyInnerList)
	}
	for _, d := range s {
		r.add(col, parquet.Int64Value(d), rep)
		rep = 2
	}
}

// more sets the columns that entries, spans and resources share: attributes, links, and the rest as JSON.
func (r *row) more(attrs []op.Attr, links []op.Link, x *op.Extra) {
	for i, a := range attrs {
		r.addText(r.at["attrs.key"], a.Key, min(i, 1))
		r.addText(r.at["attrs.value"], a.Value, min(i, 1))
	}
	for i, l := range links {
		r.addText(r.at["links.trace_id"], hex.EncodeToString(l.TraceID[:]), min(i, 1))
		r.addText(r.at["links.span_id"], hex.EncodeToString(l.SpanID[:]), min(i, 1))
		if weight := r.at["links.weight"]; l.Weight.Known {
			r.add(weight, parquet.Int64Value(l.Weight.V), min(i, 1))
		} else {
			r.null(weight, min(i, 1), nullInList)
		}
	}
	r.text(r.at["extra"], string(opfile.AppendRest(nil, attrs, links, x)))
}

func (r *row) span(s *op.Span) {
	r.text(r.at["record"], "span")
	r.id(r.at["trace_id"], s.TraceID[:])
	r.id(r.at["span_id"], s.SpanID[:])
	r.id(r.at["parent_span_id"], s.ParentSpanID[:])
	r.int(r.at["start_unix_ns"], s.Start)
	r.int(r.at["duration_ns"], op.Known(s.Duration))
	r.text(r.at["service"], s.Service)
	r.text(r.at["name"], s.Name)
	r.bool(r.at["parent_remote"], s.RemoteParent)
	r.bool(r.at["failed"], s.Failed)
	r.more(s.Attrs, s.Links, s.Extra)
}
