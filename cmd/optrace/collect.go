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
		var syntax *op.SyntaxError
		if err != nil && !errors.As(err, &syntax) {
			return inputError(err)
		}
		if err := f(rec, err); err != nil {
			return err
		}
	}
	return nil
}

// collection is what the analyses need of an input.
type collection struct {
	input   *analyze.Input
	profile *analyze.Profile
	trace   *analyze.Trace // nil where no section needs the structure
}

// collect reads the inputs into a profile, and where structure is set into a
// trace as well.
func (src source) collect(ctx context.Context, s streams, opts analyze.Options, structure bool) (*collection, error) {
	c := &collection{input: analyze.NewInput(), profile: analyze.NewProfile(opts)}
	if structure {
		c.trace = analyze.NewTrace(analyze.TraceOptions{})
	}
	endFile := func(f ingest.File) { c.input.EndFile(f.Format, f.Bytes) }
	err := src.each(ctx, s, endFile, func(rec op.Record, err error) error {
		c.input.Add(rec, err)
		if rec.Entry != nil {
			c.profile.Add(rec.Entry)
		}
		if c.trace == nil {
			return nil
		}
		switch {
		case rec.Entry != nil:
			c.trace.Add(rec.Entry)
		case rec.Span != nil:
			c.trace.AddSpan(rec.Span)
		}
		return nil
	})
	return c, err
}
