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
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/html"
	"github.com/optrace/optrace/render/text"
)

// report analyses the batch of operations, prints the report to out, and writes
// a page for the browser beside the batch, as "optrace report" and "optrace report -html" do.
func report(ctx context.Context, batch string, out io.Writer) error {
	r, err := analyze.Run(ctx, ingest.Open(batch), analyze.Options{Top: 8, KeepForest: true})
	if err != nil {
		return err
	}
	if err := text.WriteOverview(out, r, text.Options{}); err != nil {
		return err
	}
	page := strings.TrimSuffix(batch, filepath.Ext(batch)) + ".html"
	f, err := os.Create(page)
	if err != nil {
		return err
	}
	err = html.Write(f, r, html.Options{Title: filepath.Base(batch), Version: optrace.Version})
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nwrote %s and %s; open the last one in a browser\n", batch, page)
	return err
}
