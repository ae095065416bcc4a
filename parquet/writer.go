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
	file := parquet.NewGenericWriter[any](w,
		schema,
		parquet.Compression(&zstd.Codec{}),
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

// Resource writes r. The following records come from it.
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
