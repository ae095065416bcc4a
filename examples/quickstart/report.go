package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
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
	const structure = true // timelines, stacks and the like, which need parents and times
	c := analyze.NewCollector(opts, structure)
	for rec, err := range (ingest.Options{EndFile: func(f ingest.File) { c.EndFile(f.Format, f.Bytes) }}).Open(batch).Records() {
		// A line that cannot be read is counted and shown in the report; any
		// other error is the end.
		if err := c.Add(rec, err); err != nil {
			return err
		}
	}
	if err := text.Write(out, c.Report(), text.Options{}); err != nil {
		return err
	}
	if err := writeStacks(folded, c.Trace); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nwrote %s and %s\n", batch, folded)
	return err
}

func writeStacks(path string, forest *analyze.Forest) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(forest.WriteCollapsed(f), f.Close())
}
