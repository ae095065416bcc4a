package main

import (
	"io/fs"
	"runtime"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// source says what a command reads.
type source struct {
	inputs  []string
	mapping *op.Mapping
	// exclude reports whether a file found in a directory is left out.
	exclude func(fs.FileInfo) bool
}

// open returns the input, with its progress on s, and a function to call when it
// has been read.
func (src source) open(s streams) (in *ingest.Input, done func()) {
	p := newProgress(s.err, src.inputs)
	return ingest.Options{Mapping: src.mapping, Stdin: s.in, Progress: p.add, Exclude: src.exclude}.Open(src.inputs...), p.done
}

// each reads the inputs with all processors and calls f with every record, in the order
// of the inputs, and with the error in place of a record that could not be read. An error
// that ends the input is returned as an input error, one that f returns as it is.
func (src source) each(s streams, f func(op.Record, error) error) error {
	in, done := src.open(s)
	defer done()
	var failed error
	err := in.InOrder(runtime.GOMAXPROCS(0), func(rec op.Record, err error) error {
		failed = f(rec, err)
		return failed
	})
	if err != nil && failed == nil {
		return inputError(err)
	}
	return failed
}
