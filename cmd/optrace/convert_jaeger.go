package main

import (
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/jaeger"
)

// jaegerConverter writes Jaeger's JSON, for which it needs the whole input.
type jaegerConverter struct {
	out    *output
	traces jaeger.Traces
}

func newJaegerConverter(out *output) (converter, error) { return &jaegerConverter{out: out}, nil }

func (c *jaegerConverter) record(rec op.Record) error {
	switch {
	case rec.Entry != nil:
		c.traces.Add(rec.Entry)
	case rec.Span != nil:
		c.traces.AddSpan(rec.Span)
	case rec.Resource != nil:
		c.traces.Resource(rec.Resource)
	}
	return nil
}

func (c *jaegerConverter) holds() int64 { return c.traces.Bytes() }

func (c *jaegerConverter) end() error { return c.traces.Write(c.out) }
