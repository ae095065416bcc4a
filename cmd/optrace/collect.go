package main

import (
	"errors"
	"io/fs"
	"iter"
	"runtime"
	"sync"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// source describes the inputs of a command.
type source struct {
	inputs  []string
	mapping *op.Mapping
	// exclude reports whether a file found in a directory is left out.
	exclude func(fs.FileInfo) bool
}

// options returns the options of the reader.
func (src source) options(s streams, p *progress) ingest.Options {
	return ingest.Options{Mapping: src.mapping, Stdin: s.in, Progress: p.add, Exclude: src.exclude}
}

// each reads the inputs and calls f for every record, with an error in place of a
// record that could not be read. endFile is called after each file; it may be
// nil. An error that ends the input is returned as an input error, an error of f
// unchanged.
func (src source) each(s streams, endFile func(ingest.File), f func(op.Record, error) error) error {
	p := newProgress(s.err, src.inputs)
	defer p.done()
	opts := src.options(s, p)
	opts.EndFile = endFile
	for rec, err := range opts.Open(src.inputs...).Records() {
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

// collect reads the inputs into a Collector, with the structure of the run if
// structure is set. There is a worker for each processor; the report does not
// depend on their number.
func (src source) collect(s streams, opts analyze.Options, structure bool) (*analyze.Collector, error) {
	p := newProgress(s.err, src.inputs)
	defer p.done()
	parts := src.options(s, p).Parts(src.inputs...)
	workers := make([]worker, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := range workers {
		workers[i].Collector = analyze.NewCollector(opts, structure)
		running.Go(func() { workers[i].read(parts) })
	}
	running.Wait()
	if err := firstError(workers); err != nil {
		return nil, inputError(err)
	}
	collectors := make([]*analyze.Collector, len(workers))
	for i := range workers {
		collectors[i] = workers[i].Collector
	}
	c := analyze.MergeCollectors(collectors...)
	for i, f := range parts.Files() {
		c.StartFile(int64(i))
		c.EndFile(f.Format, f.Bytes)
	}
	return c, nil
}

// worker reads parts of an input into a Collector.
type worker struct {
	*analyze.Collector
	err    error
	failed int64 // the part that err came from
}

// read reads parts until there are no more or one fails.
func (w *worker) read(parts *ingest.Parts) {
	for part, records := range parts.Worker() {
		w.StartFile(part.File)
		w.StartChunk(part.Number)
		if w.err = w.add(records); w.err != nil {
			w.failed = part.Number
			parts.Stop()
			return
		}
	}
}

func (w *worker) add(records iter.Seq2[op.Record, error]) error {
	for rec, err := range records {
		if err := w.Add(rec, err); err != nil {
			return err
		}
	}
	return nil
}

// firstError returns the error of the first part that failed.
func firstError(workers []worker) error {
	var first *worker
	for i := range workers {
		if w := &workers[i]; w.err != nil && (first == nil || w.failed < first.failed) {
			first = w
		}
	}
	if first == nil {
		return nil
	}
	return first.err
}
