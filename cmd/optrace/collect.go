package main

import (
	"context"
	"errors"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// source says what a command reads.
type source struct {
	inputs  []string
	mapping *op.Mapping
}

// each reads the inputs and calls f with every record, and with the error in
// place of a record that could not be read. endFile is called after each file;
// it may be nil. An error that ends the input is returned as an input error,
// one that f returns as it is.
func (src source) each(ctx context.Context, s streams, endFile func(ingest.File), f func(op.Record, error) error) error {
	p := newProgress(s.err, src.inputs)
	defer p.done()
	opts := ingest.Options{Mapping: src.mapping, Stdin: s.in, Progress: p.add, EndFile: endFile}
	n := 0
	for rec, err := range opts.Open(src.inputs...).Records() {
		const checkInterval = 1 << 10
		if n++; n%checkInterval == 0 && ctx.Err() != nil {
			return inputError(context.Cause(ctx))
		}
		if err != nil {
			if _, ok := errors.AsType[*op.SyntaxError](err); !ok {
				return inputError(err)
			}
		}
		if err := f(rec, err); err != nil {
			return err
		}
	}
	return nil
}

// collect reads the inputs into what a report needs, with the structure of the
// run where that is asked for.
func (src source) collect(ctx context.Context, s streams, opts analyze.Options, structure bool) (*analyze.Collector, error) {
	c := analyze.NewCollector(opts, structure)
	err := src.each(ctx, s, func(f ingest.File) { c.EndFile(f.Format, f.Bytes) }, c.Add)
	return c, err
}
