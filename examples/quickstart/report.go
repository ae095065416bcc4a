package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/text"
)

// report analyses the batch of operations, prints the report to out and writes
// collapsed stacks to the file folded.
//
// The optrace command does the same: optrace report ops.jsonl, and
// optrace convert -to collapsed ops.jsonl.
func report(batch, folded string, out io.Writer) error {
	opts := analyze.DefaultOptions()
	opts.Top = 5
	var (
		input   = analyze.NewInput()                       // what the figures are computed from
		profile = analyze.NewProfile(opts)                 // sums; small however long the run
		trace   = analyze.NewTrace(analyze.TraceOptions{}) // structure: parents, timelines, stacks
		ended   = func(f ingest.File) { input.EndFile(f.Format, f.Bytes) }
		records = ingest.Options{EndFile: ended}.Open(batch).Records()
	)
	for rec, err := range records {
		// A line that cannot be read is counted and shown in the report; any
		// other error is the end.
		var bad *op.SyntaxError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		input.Add(rec, err)
		switch {
		case rec.Entry != nil:
			profile.Add(rec.Entry)
			trace.Add(rec.Entry)
		case rec.Span != nil: // a step, a phase, a request
			trace.AddSpan(rec.Span)
		}
	}
	if err := text.Write(out, analyze.NewReport(input, profile, trace, opts), text.Options{}); err != nil {
		return err
	}
	if err := writeStacks(folded, trace); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nwrote %s and %s\n", batch, folded)
	return err
}

func writeStacks(path string, trace *analyze.Trace) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(trace.WriteCollapsed(f), f.Close())
}
