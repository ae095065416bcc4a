package main

import (
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// tableConverter writes a row per record, of every kind.
type tableConverter struct {
	w *parquet.Writer
	// last is the resource of the last row.
	last *op.Resource
}

func newParquetConverter(out *output) (converter, error) {
	return &tableConverter{w: parquet.NewWriter(out)}, nil
}

func (c *tableConverter) record(rec op.Record) error {
	switch {
	case rec.Entry != nil:
		return c.w.Entry(rec.Entry)
	case rec.Span != nil:
		return c.w.Span(rec.Span)
	case rec.Resource != nil:
		return c.resource(rec.Resource)
	case rec.Gap != nil:
		return c.w.Gap(rec.Gap)
	case rec.Batch != nil:
		return c.w.Batch(rec.Batch)
	}
	return nil
}

// resource writes a row if the resource differs from the last one.
func (c *tableConverter) resource(r *op.Resource) error {
	if c.last != nil && opfile.SameResource(c.last, r) {
		return nil
	}
	c.last = r.Clone()
	return c.w.Resource(r)
}

func (c *tableConverter) end() error { return c.w.Close() }
