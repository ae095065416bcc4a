package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/html"
	"github.com/optrace/optrace/render/text"
)

// report prints the output of "optrace report FILE" and "optrace correlate FILE", and writes the page.
func report(ctx context.Context, file string, out io.Writer) error {
	r, err := analyze.Run(ctx, ingest.Open(file), analyze.Options{Top: 8, KeepForest: true})
	if err != nil {
		return err
	}
	if err := text.WriteOverview(out, r, text.Options{}); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := completions.PrintRequests(out, file, correlate.Options{}, 4); err != nil {
		return err
	}
	page := strings.TrimSuffix(file, filepath.Ext(file)) + ".html"
	f, err := os.Create(page)
	if err != nil {
		return err
	}
	err = html.Write(f, r, html.Options{Title: filepath.Base(file), Version: optrace.Version})
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nwrote %s, and a page to open in the browser: %s\n", file, page)
	return err
}
