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
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/render/html"
)

// report prints the first screen of "optrace correlate FILE" and what shorter steps would bring, and writes the page.
func report(ctx context.Context, cfg config, out io.Writer) error {
	if err := completions.PrintRequests(out, cfg.file); err != nil {
		return err
	}
	r, err := analyze.Run(ctx, ingest.Open(cfg.file), analyze.Options{KeepForest: true})
	if err != nil {
		return err
	}
	chunk := replay.Change{Kind: replay.Chunk, Factor: shorter}
	if predicted, err := replay.New(r.Forest).Run(chunk); err == nil {
		q := predicted.Requests
		fmt.Fprintf(out, "\nWith -batch %d (optrace whatif -change %s): p50 of the requests %s → %s, p95 %s → %s\n",
			shorter, chunk, units.Duration(q.P50NS), units.Duration(q.ReplayedP50NS), units.Duration(q.P95NS),
			units.Duration(q.ReplayedP95NS))
	}
	page := strings.TrimSuffix(cfg.file, filepath.Ext(cfg.file)) + ".html"
	f, err := os.Create(page)
	if err != nil {
		return err
	}
	err = html.Write(f, r, html.Options{Title: filepath.Base(cfg.file), Version: optrace.Version})
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nwrote %s, and a page to open in the browser: %s\n", cfg.file, page)
	return err
}
