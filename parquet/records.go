package parquet

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/read/spool"
	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet/internal/rows"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// Records reads a file from front to back. Because the footer at the end locates everything, Records first
// copies at most spoolBytes and [MaxSpoolBytes] of src, a large input to a temporary file. Use [RecordsAt]
// for a source with random access. name stands for src in errors.
func Records(src io.Reader, name string, spoolBytes int64) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		file, size, closer, err := spool.Copy(src, min(spoolBytes, MaxSpoolBytes), ".parquet")
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		defer closer()
		if hold := lineio.HoldOf(src); hold != nil {
			file = heldAt{file, hold}
		}
		RecordsAt(file, size, name)(yield)
	}
}

// heldAt is the copy of a source that limits memory.
type heldAt struct {
	io.ReaderAt
	hold func(bytes int64) error
}

// Hold asks the source.
func (h heldAt) Hold(bytes int64) error { return h.hold(bytes) }

// RecordsAt reads a file of size bytes. name stands for src in errors.
//
// A *[op.SyntaxError] reports an unreadable row or the damaged rest of a row group; reading continues
// after it. Any other error is the last one yielded. A record is valid until the next one.
func RecordsAt(src io.ReaderAt, size int64, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		t, err := openTable(src, size, name)
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		t.read(0, len(t.groups), yield)
	}
}

// Parts returns the records of a file in parts of at least partBytes. A part is a sequence of row groups.
// Several goroutines may each read a part; otherwise see [RecordsAt].
func Parts(src io.ReaderAt, size int64, name string, partBytes int) ([]iter.Seq2[op.Record, error], error) {
	t, err := openTable(src, size, name)
	if err != nil {
		return nil, err
	}
	var parts []iter.Seq2[op.Record, error]
	first := 0
	bytes := int64(0)
	for i, g := range t.groups {
		if bytes += min(g.bytes, size); bytes < int64(partBytes) && i < len(t.groups)-1 {
			continue
		}
		from := first
		parts = append(parts, func(yield func(op.Record, error) bool) { t.read(from, i+1, yield) })
		first = i + 1
		bytes = 0
	}
	return parts, nil
}

// table is a file with a parsed footer.
type table struct {
	*footer
	src   io.ReaderAt
	size  int64
	name  string
	bound []column // known columns, not opened
	given opfile.Given
	idle  sync.Pool // readers with their buffers, for other parts
	// counts has the rows read and the bytes of their pages.
	counts struct{ rows, bytes atomic.Int64 }
}

// openTable reads the footer and finds the known columns. Of several columns with one name it takes the
// first. It rejects a later version of the table; foreign files name no schema.
func openTable(src io.ReaderAt, size int64, name string) (*table, error) {
	footer, err := readFooter(src, size)
	if err != nil {
		return nil, err
	}
	if s := footer.schema; s != "" && s != op.Schema {
		return nil, fmt.Errorf("schema %q is not supported, this version reads %q", s, op.Schema)
	}
	t := &table{footer: footer, src: src, size: size, name: name}
	t.idle.New = t.newReader
	found := make(map[string]bool)
	for _, c := range rows.Columns() {
		if i := slices.IndexFunc(t.leaves, func(l leaf) bool { return l.is(c.Name) }); i >= 0 {
			found[c.Name] = true
			l := &t.leaves[i]
			// errors state the position of the first one
			t.bound = append(t.bound, column{leaf: l, chunk: i, Use: c.Use(&l.Form), leads: len(t.bound) == 0})
		}
	}
	switch missing := "duration_ns or duration_us"; {
	case !found["operation"]:
		missing = "operation"
		fallthrough
	case !found["duration_ns"] && !found["duration_us"]:
		return nil, fmt.Errorf("parquet file without a column %s; it has %s", missing, columnNames(t.leaves))
	}
	t.given = opfile.Given{Elements: found["output_elements"], Memory: found["memory_bytes"]}
	return t, nil
}

// columnNames lists the first columns.
func columnNames(leaves []leaf) string {
	const maxShown = 8
	var names []string
	for _, l := range leaves {
		if len(names) == maxShown {
			return strings.Join(names, ", ") + " and others"
		}
		if name := strconv.Quote(l.path[0]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// read reads the row groups i to j-1.
func (t *table) read(i, j int, yield func(op.Record, error) bool) {
	r := t.idle.Get().(*tableReader)
	defer t.idle.Put(r)
	defer r.memory.account.Free()
	r.yield = yield
	if err := r.memory.account.Set(r.memory.held, 1); err != nil {
		yield(op.Record{}, err)
		return
	}
	more := true
	for ; i < j && more; i++ {
		more = r.readGroup(i)
	}
	if more && j == len(t.groups) && t.lost > 0 {
		yield(op.Record{}, r.syntaxError(t.size, op.ErrorDamaged, "%d of %d rows are in no row group", t.lost, t.rows))
	}
}

// newReader returns a reader of the table, a *tableReader.
func (t *table) newReader() any {
	r := &tableReader{table: t, batch: rows.NewBatch()}
	if src, ok := t.src.(interface{ Hold(bytes int64) error }); ok {
		r.memory.account.Hold = src.Hold
	}
	for _, c := range t.bound {
		r.used = append(r.used, c.opened(pages{src: t.src, leaf: c.leaf, unpack: &r.unpack, memory: &r.memory},
			r.batch))
	}
	return r
}

// tableReader reads rows of a table.
type tableReader struct {
	*table
	yield  func(op.Record, error) bool
	unpack decompressor
	memory memory
	batch  *rows.Batch
	used   []*column
}

// readGroup reads the i-th row group and reports whether to continue.
func (t *tableReader) readGroup(i int) bool {
	g, err := t.group(i)
	if err != nil {
		t.yield(op.Record{}, fmt.Errorf("parquet footer: %w", err))
		return false
	}
	row := t.groups[i].first
	end := row + g.Rows
	offset := int64(0) // of an error
	for _, c := range t.used {
		if err == nil && g.Rows > 0 {
			err = c.start(g, t.size)
			offset = c.pages.pos
		}
	}
	for err == nil && row < end {
		batch := t.batch.Reset(int(min(end-row, rows.Size)))
		for _, c := range t.used {
			if n, bad := c.read(batch); n < len(batch) {
				batch = batch[:n]
				err = bad
				offset = c.pages.pos
			}
		}
		bytes := t.counts.bytes.Add(t.memory.read)
		t.memory.read = 0
		if n := t.counts.rows.Add(int64(len(batch))); n > freeRows && n/maxRowsPerByte > bytes {
			t.yield(op.Record{}, fmt.Errorf("row %d: pages of %d bytes hold more than %d rows for each byte", row+1,
				bytes, maxRowsPerByte))
			return false
		}
		for k := range batch {
			row++
			rec, err := batch[k].Finish(t.given)
			if err != nil {
				err = t.syntaxError(t.used[0].pages.pos, op.ErrorRecord, "row %d: %v", row, err)
			}
			if !t.yield(rec, err) {
				return false
			}
		}
	}
	return err == nil || t.yield(op.Record{}, t.syntaxError(offset, op.ErrorDamaged, "rows %d to %d are left out: %v",
		row+1, end, err))
}

func (t *tableReader) syntaxError(offset int64, class op.ErrorClass, msg string, args ...any) error {
	return &op.SyntaxError{File: t.name, Offset: max(0, offset), Msg: fmt.Sprintf(msg, args...), Class: class}
}

func init() {
	ingest.Register("parquet", ingest.Tables{
		Records: func(src io.Reader, name string, m ingest.Memory) iter.Seq2[op.Record, error] {
			return Records(src, name, m.SpoolBytes)
		},
		RecordsAt: func(src io.ReaderAt, size int64, name string, _ ingest.Memory) iter.Seq2[op.Record, error] {
			return RecordsAt(src, size, name)
		},
		Parts: Parts,
	})
}
