package main

import (
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// collapsedConverter writes the folded stacks of self time, for which it needs
// the structure of the whole input.
type collapsedConverter struct {
	out   *output
	trace *analyze.Trace
}

func newCollapsedConverter(out *output) (converter, error) {
	return &collapsedConverter{out: out, trace: analyze.NewTrace(analyze.TraceOptions{})}, nil
}

func (c *collapsedConverter) record(rec op.Record) error {
	switch {
	case rec.Entry != nil:
		c.trace.Add(rec.Entry)
	case rec.Span != nil:
		c.trace.AddSpan(rec.Span)
	}
	return nil
}

func (c *collapsedConverter) end() error { return c.trace.WriteCollapsed(c.out) }

// flatConverter writes the seed's stacks of device and operation.
type flatConverter struct {
	out    *output
	stacks analyze.FlatStacks
}

func newFlatConverter(out *output) (converter, error) { return &flatConverter{out: out}, nil }

func (c *flatConverter) record(rec op.Record) error {
	if rec.Entry != nil {
		c.stacks.Add(rec.Entry)
	}
	return nil
}

// end writes the stacks. The seed puts no line break behind the last one, a
// file of lines has one.
func (c *flatConverter) end() error {
	n, err := c.stacks.WriteTo(c.out)
	if err == nil && n > 0 {
		err = c.out.WriteByte('\n')
	}
	return err
}
