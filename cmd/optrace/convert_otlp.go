package main

import (
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

// otlpConverter writes OTLP JSON Lines.
type otlpConverter struct {
	w *otlp.Writer
}

func newOTLPConverter(out *output) (converter, error) {
	return otlpConverter{otlp.NewWriter(out)}, nil
}

func (c otlpConverter) record(rec op.Record) error {
	switch {
	case rec.Entry != nil:
		return c.w.Entry(rec.Entry)
	case rec.Span != nil:
		return c.w.Span(rec.Span)
	case rec.Resource != nil:
		return c.w.Resource(rec.Resource)
	}
	return nil
}

func (c otlpConverter) end() error { return c.w.Flush() }
