package analyze

import (
	"context"

	"github.com/optrace/optrace/ingest"
)

// File reads the file, directory or "-" (standard input) at path and returns its report.
// It is [Files] with a single path.
func File(ctx context.Context, path string, opts Options) (*Report, error) {
	return Files(ctx, []string{path}, opts)
}

// Files reads all paths as one input and returns its report. It recognises each file's format by its content, as
// [ingest.Open] does, and opens gzip and zstd transparently. Parquet files need an import of package parquet.
//
// A damaged record is counted in [Report].Input and does not end the reading. Any other error does:
// a path that cannot be read, an [ingest.UnknownFormatError], an [ingest.MemoryError] above
// [ingest.DefaultMaxMemory], or the error of ctx. An input without operations is no error.
//
// Files reads with Options.Workers goroutines and returns after all of them have stopped. It may be called
// concurrently. Memory grows with the number of spans, by about a hundred bytes each, and with the number of
// distinct groups; with Options.SumsOnly only with the groups. To set another bound, a format or a mapping of
// attributes, pass the result of [ingest.Options.Open] to [Run].
func Files(ctx context.Context, paths []string, opts Options) (*Report, error) {
	return Run(ctx, ingest.Open(paths...), opts)
}
