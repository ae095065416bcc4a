package main

import (
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/chrome"
)

// chromeConverter writes a timeline, for which it needs the whole input.
type chromeConverter struct {
	out      *output
	timeline chrome.Timeline
}

func newChromeConverter(out *output) (converter, error) { return &chromeConverter{out: out}, nil }

func (c *chromeConverter) record(rec op.Record) error {
	switch {
	case rec.Entry != nil:
		c.timeline.Add(rec.Entry)
	case rec.Span != nil:
		c.timeline.AddSpan(rec.Span)
	}
	return nil
}

func (c *chromeConverter) holds() int64 { return c.timeline.Bytes() }

func (c *chromeConverter) end() error { return c.timeline.Write(c.out) }
