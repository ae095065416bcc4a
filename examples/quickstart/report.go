package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/html"
	"github.com/optrace/optrace/render/text"
)

// report analyses the operations in batch, prints the report to out, and writes collapsed stacks and a page next to
// batch.
//
// The command does the same: optrace report ops.jsonl, optrace report -html ops.html ops.jsonl, and optrace convert -to
// collapsed ops.jsonl.
func report(ctx context.Context, batch string, out io.Writer) error {
	// The report counts unreadable lines.
	r, err := analyze.Run(ctx, ingest.Open(batch), analyze.Options{Top: 5, KeepForest: true})
	if err != nil {
		return err
	}
	if err := text.WriteOverview(out, r, text.Options{Width: widthOf(out)}); err != nil {
		return err
	}
	base := strings.TrimSuffix(batch, filepath.Ext(batch))
	folded := base + ".folded"
	page := base + ".html"
	err = errors.Join(
		writeFile(folded, func(w io.Writer) error { return stacks.WriteForest(r.Forest, w) }),
		writeFile(page, func(w io.Writer) error {
			return html.Write(w, r, html.Options{Title: filepath.Base(batch), Version: optrace.Version})
		}))
	if err != nil {
		return err
	}
	absolute, err := filepath.Abs(page)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nwrote %s, %s and a page to open in the browser: %s\n", batch, folded, absolute)
	return err
}

// widthOf returns the width of a terminal, or 0.
func widthOf(out io.Writer) int {
	width := 0
	if f, ok := out.(*os.File); ok {
		width, _, _ = term.GetSize(int(f.Fd())) // 0 after an error
	}
	return width
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
