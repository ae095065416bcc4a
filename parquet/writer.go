package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
)

// How much is collected before it is encoded, compressed or written. A row
// group is held in memory, compressed, until it is complete.
const (
	// maxGroupRows is the size of a row group: large enough to compress well and
	// to be read in one go, small enough that readers can share out a file.
	maxGroupRows = 1 << 17
	// maxGroupBytes ends a row group of rows that are unusually long.
	maxGroupBytes = 128 << 20
	// maxDictionaryBytes is where a column's values turn out to be too many for
	// a dictionary, which would only add to them.
	maxDictionaryBytes = 1 << 20
)

// Writer writes records as rows of a Parquet file, which is complete after
// Close. It holds at most a row group in memory, and for each row group that
// was written the place and the bounds of its columns. It is not safe for
// concurrent use.
type Writer struct {
	file     *parquet.GenericWriter[any]
	row      row
	rows     int          // of the current row group
	most     int64        // bytes of one
	largest  int64        // bytes of the one that had most
	resource *op.Resource // the first
	several  bool         // there are others
	err      error
}

// NewWriter returns a Writer to w. Nothing is written before the first row
// group is complete.
func NewWriter(w io.Writer) *Writer {
	schema := newSchema()
	file := parquet.NewGenericWriter[any](w,
		schema,
		parquet.Compression(&zstd.Codec{}),
		parquet.DictionaryMaxBytes(maxDictionaryBytes),
		parquet.KeyValueMetadata(schemaKey, op.Schema),
		parquet.CreatedBy("optrace", "", ""),
	)
	return &Writer{file: file, row: newRow(schema), most: maxGroupBytes}
}

// Bytes returns about how much memory writing takes: several times as much as the largest row group.
func (w *Writer) Bytes() int64 {
	const copies = 8
	return copies * w.largest
}

// LimitGroups ends row groups at so many bytes of texts and numbers, where these are less than the 128 MiB that end
// each. Writing takes several times as much memory.
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

// Resource writes r: what follows comes from there.
func (w *Writer) Resource(r *op.Resource) error {
	w.row.resource(r)
	if w.resource == nil {
		w.resource = r.Clone()
	}
	w.several = w.several || !opfile.SameResource(w.resource, r)
	return w.end()
}

// Gap writes g.
func (w *Writer) Gap(g *op.Gap) error {
	w.row.gap(g)
	return w.end()
}

// Batch writes b.
func (w *Writer) Batch(b *op.Batch) error {
	w.row.batch(b)
	return w.end()
}

// end completes a row, and a row group that has become large enough. The first error is
// kept and returned by every later call: a page that is missing cannot be made up for.
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

// Close completes the file. It does not close the underlying writer. Without
// it the file cannot be read.
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
