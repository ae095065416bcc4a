package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/op/attr"
	_ "github.com/optrace/optrace/parquet" // registers its format
)

func defineLoad(flags *flag.FlagSet) func(context.Context, *call) error {
	var o clickhouse.LoadOptions
	flags.IntVar(&o.BatchRows, "batch-rows", clickhouse.DefaultBatchRows, "insert up to `N` rows at once")
	flags.IntVar(&o.BatchBytes, "batch-bytes", clickhouse.DefaultBatchBytes, "insert up to about `N` bytes at once")
	flags.StringVar(&o.Format, "format", "", "`NAME` of the format of the inputs; detected by default")
	keepAll := flags.Bool("keep-all", false,
		"keep every attribute, event and link of spans, not only the attributes of the conventions")
	return func(ctx context.Context, c *call) error {
		if len(c.args) == 0 {
			return usagef("no input")
		}
		if *keepAll {
			o.Mapping = new(attr.Mapping)
			o.Mapping.KeepAll()
		}
		files, err := expand(c.args)
		if err != nil {
			return err
		}
		return loadFiles(ctx, c.db, files, o, c.stderr)
	}
}

// loadFiles loads files. It skips files of unknown formats if they come from a directory.
func loadFiles(ctx context.Context, db clickhouse.DB, files []file, o clickhouse.LoadOptions, stderr io.Writer) error {
	for _, f := range files {
		done, err := clickhouse.Load(ctx, db, f.path, o)
		name := termtext.Escape(f.path)
		if unknown := (*ingest.UnknownFormatError)(nil); errors.As(err, &unknown) && f.found {
			fmt.Fprintf(stderr, "%s: skipped: %s\n", name, termtext.Escape(unknown.Error()))
			continue
		}
		if err != nil {
			return err
		}
		e := done.Envelope
		fmt.Fprintf(stderr, "%s: %d rows, %d of them inserted; %d operations, %d spans, %d malformed, %d truncated\n",
			name, done.Rows, done.Inserted, e.Entries, e.Skipped, e.Malformed, e.Truncated)
	}
	return nil
}

// file is a file to load; found is set if it comes from a directory.
type file struct {
	path  string
	found bool
}

// expand replaces directories with the regular files below them. It skips names with a leading dot.
func expand(inputs []string) ([]file, error) {
	var files []file
	for _, path := range inputs {
		if path == ingest.Stdin {
			return nil, usagef("standard input cannot be read twice, as an interrupted load requires: name a file")
		}
		err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			switch hidden := strings.HasPrefix(d.Name(), "."); {
			case p == path && !d.IsDir():
				files = append(files, file{path: path})
			case p != path && hidden && d.IsDir():
				return fs.SkipDir
			case !hidden && d.Type().IsRegular():
				files = append(files, file{p, true})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading input: %w", err)
		}
	}
	return files, nil
}
