package main

import (
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// collapsedConverter writes the folded stacks of self time, for which it needs
// the structure of the whole input.
type collapsedConverter struct {
	out    *output
	forest *trace.Forest
}

func newCollapsedConverter(out *output) (converter, error) {
	return &collapsedConverter{out: out, forest: trace.New()}, nil
}

func (c *collapsedConverter) record(rec op.Record) error {
	c.forest.Add(rec)
	return nil
}

func (c *collapsedConverter) holds() int64 { return c.forest.Bytes() }

func (c *collapsedConverter) end() error { return stacks.WriteForest(c.forest, c.out) }

// flatConverter writes the seed's stacks of device and operation.
type flatConverter struct {
	out    *output
	stacks seed.Stacks
}

func newFlatConverter(out *output) (converter, error) { return &flatConverter{out: out}, nil }

func (c *flatConverter) record(rec op.Record) error {
	if rec.Entry != nil {
		c.stacks.Add(rec.Entry)
	}
	return nil
}

func (c *flatConverter) end() error { return c.stacks.Write(c.out) }
