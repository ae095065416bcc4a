package main

import (
	"context"
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
func report(ctx context.Context, batch, folded string, out io.Writer) error {
	// A line that cannot be read is counted and shown in the report.
	r, err := analyze.Run(ctx, ingest.Open(batch), analyze.Options{Top: 5})
	if err != nil {
		return err
	}
	if err := text.Write(out, r, text.Options{}); err != nil {
		return err
	}
	if err := writeStacks(ctx, batch, folded); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nwrote %s and %s\n", batch, folded)
	return err
}

// writeStacks writes the collapsed stacks. A Forest holds the structure of a run:
// stacks, requests, critical paths.
func writeStacks(ctx context.Context, batch, folded string) error {
	forest := analyze.NewForest()
	if _, err := analyze.Read(ctx, ingest.Open(batch), forest.Add); err != nil {
		return err
	}
	f, err := os.Create(folded)
	if err != nil {
		return err
	}
	return errors.Join(forest.WriteCollapsed(f), f.Close())
}
