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
	_ "github.com/optrace/optrace/parquet" // is read as other formats are
)

const loadUsage = `usage: optrace-clickhouse load [flags] INPUT...

Load brings the records of the inputs into the tables, each once: a load that was
ended, by whatever, goes on where it is started again, and a file that is there
is passed over. An INPUT is a file or a directory, of any format that optrace
reads. A file is in the report when all of it was loaded.
`

func defineLoad(flags *flag.FlagSet) func(context.Context, *call) error {
	var o clickhouse.LoadOptions
	flags.IntVar(&o.BatchRows, "batch-rows", clickhouse.DefaultBatchRows, "insert up to `N` rows at once")
	flags.IntVar(&o.BatchBytes, "batch-bytes", clickhouse.DefaultBatchBytes, "insert up to about `N` bytes at once")
	flags.StringVar(&o.Format, "format", "", "`NAME` of the format of the inputs, in place of finding it by content")
	keepAll := flags.Bool("keep-all", false, "keep every attribute, event and link of spans, and not those of the conventions alone")
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

// loadFiles loads files, and passes over those found in directories that are of no known format.
func loadFiles(ctx context.Context, db clickhouse.DB, files []file, o clickhouse.LoadOptions, stderr io.Writer) error {
	for _, f := range files {
		done, err := clickhouse.Load(ctx, db, f.path, o)
		name := termtext.Escape(f.path)
		if unknown := (*ingest.UnknownFormatError)(nil); errors.As(err, &unknown) && f.found {
			fmt.Fprintf(stderr, "%s: passed over: %s\n", name, termtext.Escape(unknown.Error()))
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

// file is a file to load; found is set for one of a directory.
type file struct {
	path  string
	found bool
}

// expand replaces directories by the regular files below them. Names that start with a dot are
// passed over.
func expand(inputs []string) ([]file, error) {
	var files []file
	for _, path := range inputs {
		if path == ingest.Stdin {
			return nil, usagef("standard input cannot be read again, which a load that was ended needs: name a file")
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
