package parquet

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// Records reads a file that can only be read from front to back. The footer,
// which tells where everything is, stands at its end, so that it is copied
// first, a large one to a temporary file. [RecordsAt] is for files that can be
// read anywhere.
//
// name stands for src in errors. The columns state what they hold, so m, the
// table from attribute keys to fields, has no say.
func Records(src io.Reader, name string, _ *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		s, err := newSpool(src)
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		defer s.close()
		for rec, err := range RecordsAt(s.file, s.size, name) {
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
func RecordsAt(src io.ReaderAt, size int64, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		f, err := readFooter(src, size)
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		t := &table{footer: f, size: size, name: name, yield: yield}
		t.row.texts = op.NewBuilder(nil)
		defer t.unpack.close()
		if err := t.bind(src); err != nil {
			yield(op.Record{}, err)
			return
		}
		t.read()
	}
}

// table reads the rows of a file.
type table struct {
	footer *footer
	size   int64
	name   string
	yield  func(op.Record, error) bool

	unpack  decompressor
	budget  budget
	bound   []boundColumn
	columns columnsSeen
	group   rowGroup
	row     row
	rows    int64 // how many have been read or passed over
}

// boundColumn is a column of the file that means something.
type boundColumn struct {
	*cursor
	chunk int // its place among the chunks of a row group
	read  func(r *row, c *cursor) error
	// nulls is how many of the next rows are known to be null.
	nulls int
}

// bind finds the columns that mean something. Where several have the same name
// it is the first.
func (t *table) bind(src io.ReaderAt) error {
	if err := t.checkSchema(); err != nil {
		return err
	}
	leaves := t.footer.leaves
	found := make(map[string]bool)
	for _, f := range fields() {
		i := slices.IndexFunc(leaves, func(l leaf) bool { return l.is(f.column) })
		if i < 0 {
			continue
		}
		found[f.column] = true
		c := &cursor{leaf: &leaves[i], nullable: leaves[i].nullable()}
		c.pages = pages{src: src, leaf: c.leaf, unpack: &t.unpack, budget: &t.budget}
		c.values.leaf = c.leaf
		t.bound = append(t.bound, boundColumn{cursor: c, chunk: i, read: f.read})
	}
	switch {
	case !found["operation"]:
		return fmt.Errorf("parquet file without a column operation; it has %s", columnNames(leaves))
	case !found["duration_ns"] && !found["duration_us"]:
		return fmt.Errorf("parquet file without a column duration_ns or duration_us; it has %s", columnNames(leaves))
	}
	t.columns = columnsSeen{elements: found["output_elements"], memory: found["memory_bytes"]}
	return nil
}

// checkSchema refuses a later version of the table. Other files name no schema.
func (t *table) checkSchema() error {
	if s := t.footer.schema; s != "" && s != op.Schema {
		return fmt.Errorf("schema %q is not supported, this version reads %q", s, op.Schema)
	}
	return nil
}

// is reports whether the leaf is the column that a field names. The groups in
// lists and maps are called differently by different writers.
func (l *leaf) is(column string) bool {
	name, part, ok := strings.Cut(column, ".")
	if l.path[0] != name {
		return false
	}
	return !ok || l.path[len(l.path)-1] == part
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

// read reads all row groups.
func (t *table) read() {
	for {
		err := t.footer.nextGroup(&t.group)
		if err == io.EOF {
			return
		}
		if err != nil {
			t.yield(op.Record{}, fmt.Errorf("parquet footer: %w", err))
			return
		}
		end := t.rows + t.group.rows
		err = t.startGroup()
		for err == nil && t.rows < end {
			var more bool
			if more, err = t.next(); err == nil && !more {
				return
			}
		}
		if err != nil && !t.leaveOut(end, err) {
			return
		}
		t.rows = end
	}
}

// startGroup turns the columns to the current row group.
func (t *table) startGroup() error {
	for i := range t.bound {
		b := &t.bound[i]
		ch := t.group.chunks[b.chunk]
		if ch.elsewhere || ch.offset < 0 || ch.size < 0 || ch.offset > t.size || ch.size > t.size-ch.offset {
			return &damage{column: b.leaf.name(), offset: ch.offset, err: errors.New("the values are not within the file")}
		}
		b.nulls = 0
		if err := b.start(ch); err != nil {
			return err
		}
	}
	return nil
}

// next reads a row and reports whether more are wanted. An error is a damaged
// row group.
func (t *table) next() (more bool, err error) {
	r := &t.row
	r.reset()
	for i := range t.bound {
		b := &t.bound[i]
		if b.nulls == 0 {
			b.nulls = b.nullRows()
		}
		if b.nulls > 0 {
			b.nulls--
			continue
		}
		if err := b.begin(); err != nil {
			return false, err
		}
		if err := b.read(r, b.cursor); err != nil {
			return false, err
		}
	}
	t.rows++
	rec, err := r.finish(t.columns)
	if err != nil {
		return t.yield(op.Record{}, t.syntaxError(t.bound[0].pages.pos, fmt.Sprintf("row %d: %v", t.rows, err))), nil
	}
	return t.yield(rec, nil), nil
}

// leaveOut tells of the rows up to end, which cannot be read.
func (t *table) leaveOut(end int64, err error) bool {
	offset := int64(0)
	if d, ok := errors.AsType[*damage](err); ok {
		offset = max(0, d.offset)
	}
	msg := fmt.Sprintf("rows %d to %d are left out: %v", t.rows+1, end, err)
	return t.yield(op.Record{}, t.syntaxError(offset, msg))
}

func (t *table) syntaxError(offset int64, msg string) *op.SyntaxError {
	return &op.SyntaxError{File: t.name, Offset: offset, Msg: msg}
}
