package parquet

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/op"
)

// Records reads a file that can only be read from front to back. The footer,
// which tells where everything is, stands at its end, so that it is copied
// first, a large one to a temporary file. [RecordsAt] is for files that can be
// read anywhere.
//
// name stands for src in errors. The columns state what they hold, so that m, the table
// from attribute keys to fields, says no more than which of them matter, and whether they
// may be handed out as they are.
func Records(src io.Reader, name string, m *op.Mapping) iter.Seq2[op.Record, error] {
	return RecordsWithin(src, name, m, MaxSpoolBytes)
}

// RecordsWithin is [Records] for an input of at most so many bytes.
func RecordsWithin(src io.Reader, name string, m *op.Mapping, spoolBytes int64) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		s, err := newSpool(src, spoolBytes)
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		defer s.close()
		for rec, err := range RecordsAt(s.file, s.size, name, m) {
			if !yield(rec, err) {
				return
			}
		}
	}
}

// RecordsAt reads a file of size bytes. name stands for src in errors.
//
// A *[op.SyntaxError] is a row that could not be read, or the rest of a row
// group that is damaged, and reading goes on behind it; any other error is the
// last thing yielded. What a record points to is valid until the next one.
func RecordsAt(src io.ReaderAt, size int64, name string, m *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		t, err := openTable(src, size, name, m)
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		t.read(0, len(t.groups), yield)
	}
}

// Parts returns the records of a file in parts of at least partBytes, which are
// row groups that follow one another. Several goroutines may read a part each.
// What is said at [RecordsAt] holds for a part.
func Parts(src io.ReaderAt, size int64, name string, m *op.Mapping, partBytes int) ([]iter.Seq2[op.Record, error], error) {
	t, err := openTable(src, size, name, m)
	if err != nil {
		return nil, err
	}
	var parts []iter.Seq2[op.Record, error]
	first, bytes := 0, int64(0)
	for i, g := range t.groups {
		if bytes += min(g.bytes, size); bytes < int64(partBytes) && i < len(t.groups)-1 {
			continue
		}
		from := first
		parts = append(parts, func(yield func(op.Record, error) bool) { t.read(from, i+1, yield) })
		first, bytes = i+1, 0
	}
	return parts, nil
}

// table is a file whose footer has been read.
type table struct {
	*footer
	src     io.ReaderAt
	size    int64
	name    string
	mapping *op.Mapping
	bound   []boundField
	columns rows.Seen
	// counts has the rows that were read and the bytes of their pages.
	counts struct{ rows, bytes atomic.Int64 }

	mu       sync.Mutex
	released []*tableReader
}

// boundField is a field that the file has, and the place of its column among
// those of a row group.
type boundField struct {
	field
	leaf int
}

func openTable(src io.ReaderAt, size int64, name string, m *op.Mapping) (*table, error) {
	footer, err := readFooter(src, size)
	if err != nil {
		return nil, err
	}
	t := &table{footer: footer, src: src, size: size, name: name, mapping: m}
	return t, t.bind()
}

// bind finds the columns that mean something. Where several have the same name
// it is the first. A later version of the table is refused; other files name no
// schema.
func (t *table) bind() error {
	if s := t.schema; s != "" && s != op.Schema {
		return fmt.Errorf("schema %q is not supported, this version reads %q", s, op.Schema)
	}
	leaves := t.leaves
	found := make(map[string]bool)
	for _, field := range fields {
		if i := slices.IndexFunc(leaves, func(l leaf) bool { return l.is(field.column) }); i >= 0 {
			found[field.column] = true
			t.bound = append(t.bound, boundField{field, i})
		}
	}
	switch {
	case !found["operation"]:
		return fmt.Errorf("parquet file without a column operation; it has %s", columnNames(leaves))
	case !found["duration_ns"] && !found["duration_us"]:
		return fmt.Errorf("parquet file without a column duration_ns or duration_us; it has %s", columnNames(leaves))
	}
	t.columns = rows.Seen{Elements: found["output_elements"], Memory: found["memory_bytes"]}
	return nil
}

// columnNames lists the first columns.
func columnNames(leaves []leaf) string {
	const maxShown = 8
	if len(leaves) == 0 {
		return "none"
	}
	var names []string
	for _, l := range leaves {
		if len(names) == maxShown {
			return strings.Join(names, ", ") + " and others"
		}
		if name := fmt.Sprintf("%q", l.path[0]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// read reads the row groups from the i-th up to, and without, the j-th.
func (t *table) read(i, j int, yield func(op.Record, error) bool) {
	r := t.reader()
	defer t.release(r)
	for r.yield = yield; i < j && r.readGroup(i); i++ {
	}
}

// reader returns a reader, one that was released where there is one: it has memory for
// pages.
func (t *table) reader() *tableReader {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.released); n > 0 {
		r := t.released[n-1]
		t.released = t.released[:n-1]
		return r
	}
	return t.newReader()
}

// release lets other goroutines use a reader.
func (t *table) release(r *tableReader) {
	r.unpack.close()
	r.yield = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = append(t.released, r)
}

func (t *table) newReader() *tableReader {
	r := &tableReader{table: t, batch: rows.NewBatch(rows.Size)}
	r.shared = shared{strings: new(intern.Table), texts: op.NewBuilder(nil), batch: r.batch}
	for _, b := range t.bound {
		c := r.newColumn(&t.leaves[b.leaf])
		r.readers = append(r.readers, columnReader{c, b.reader(c), b.leaf})
	}
	r.readers[0].leads = true // errors tell where it is
	return r
}

// tableReader reads rows of a table.
type tableReader struct {
	*table
	yield   func(op.Record, error) bool
	unpack  decompressor
	budget  budget
	batch   *rows.Batch
	shared  shared
	readers []columnReader
	counted int64 // bytes of the pages that the table counts
}

// newColumn returns a column that reads the values of a leaf.
func (t *tableReader) newColumn(l *leaf) *column {
	return newColumn(l, pages{src: t.src, leaf: l, unpack: &t.unpack, budget: &t.budget}, t.shared)
}

type columnReader struct {
	*column
	reader
	chunk int // its place among the chunks of a row group
}

// readGroup reads the i-th row group, and reports whether more is wanted.
func (t *tableReader) readGroup(i int) bool {
	g, err := t.group(i)
	if err != nil {
		t.yield(op.Record{}, fmt.Errorf("parquet footer: %w", err))
		return false
	}
	row := t.groups[i].first
	end := row + g.Rows
	if g.Rows > 0 {
		err = t.start(g)
	}
	for err == nil && row < end {
		var n int
		rows := t.batch.Reset(int(min(end-row, rows.Size)))
		n, err = t.readBatch(rows)
		if bytes, ok := t.count(n); !ok {
			t.yield(op.Record{}, fmt.Errorf("row %d: pages of %d bytes hold more than %d rows for each byte", row+1, bytes, MaxRowsPerByte))
			return false
		}
		for k := range rows[:n] {
			row++
			if !t.yieldRow(&rows[k], row) {
				return false
			}
		}
	}
	return err == nil || t.leaveOut(row+1, end, err)
}

// count counts rows that were read, and the bytes of all pages so far. It reports false
// where these are too many for those.
func (t *tableReader) count(rows int) (bytes int64, ok bool) {
	before := t.counted
	t.counted = 0
	for _, c := range t.readers {
		t.counted += c.pages.size
	}
	bytes, n := t.counts.bytes.Add(t.counted-before), t.counts.rows.Add(int64(rows))
	return bytes, n <= FreeRows || n/MaxRowsPerByte <= bytes
}

// start turns the columns to a row group.
func (t *tableReader) start(g *rowGroup) error {
	for _, c := range t.readers {
		ch := &g.Columns[c.chunk]
		offset, size := ch.offset(), ch.Meta.Size
		if ch.File != "" || offset < 0 || size < 0 || offset > t.size || size > t.size-offset {
			return &damage{column: c.leaf.name(), offset: offset, err: errors.New("the values are not within the file")}
		}
		c.start(ch, g.Rows)
	}
	return nil
}

// readBatch reads rows and returns how many could be read. An error is a
// damaged row group.
func (t *tableReader) readBatch(rows []rows.Row) (n int, err error) {
	n = len(rows)
	for _, c := range t.readers {
		good, bad := c.safeRead(rows[:n])
		if good < n {
			n, err = good, bad
		}
	}
	return n, err
}

// safeRead is read where a library may panic.
func (c columnReader) safeRead(rows []rows.Row) (good int, err error) {
	err = c.safely(func() (err error) {
		good, err = c.read(c.column, rows)
		return err
	})
	return good, err
}

func (t *tableReader) yieldRow(r *rows.Row, number int64) bool {
	rec, err := r.Finish(t.columns)
	if err != nil {
		offset := t.readers[0].pages.pos
		return t.yield(op.Record{}, t.syntaxError(offset, op.ErrorRecord, fmt.Sprintf("row %d: %v", number, err)))
	}
	return t.yield(rec, nil)
}

// leaveOut tells of rows that cannot be read.
func (t *tableReader) leaveOut(first, last int64, err error) bool {
	offset := int64(0)
	if d, ok := errors.AsType[*damage](err); ok {
		offset = max(0, d.offset)
	}
	msg := fmt.Sprintf("rows %d to %d are left out: %v", first, last, err)
	return t.yield(op.Record{}, t.syntaxError(offset, op.ErrorDamaged, msg))
}

func (t *tableReader) syntaxError(offset int64, class op.ErrorClass, msg string) *op.SyntaxError {
	return &op.SyntaxError{File: t.name, Offset: offset, Msg: msg, Class: class}
}
