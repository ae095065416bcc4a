package main

import (
	"io"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/chrome"
	"github.com/optrace/optrace/render/perfetto"
)

// timeline collects operations and spans and writes them in the end.
type timeline interface {
	Add(e *op.Entry)
	AddSpan(s *op.Span)
	Bytes() int64
	Write(w io.Writer) error
}

// timelineConverter writes a timeline, for which it needs the whole input.
type timelineConverter struct {
	out      *output
	timeline timeline
}

func newChromeConverter(out *output) (converter, error) {
	return &timelineConverter{out, new(chrome.Timeline)}, nil
}

func newPerfettoConverter(out *output) (converter, error) {
	return &timelineConverter{out, new(perfetto.Timeline)}, nil
}

func (c *timelineConverter) record(rec op.Record) error {
	switch {
	case rec.Entry != nil:
		c.timeline.Add(rec.Entry)
	case rec.Span != nil:
		c.timeline.AddSpan(rec.Span)
	}
	return nil
}

func (c *timelineConverter) holds() int64 { return c.timeline.Bytes() }

func (c *timelineConverter) end() error { return c.timeline.Write(c.out) }
