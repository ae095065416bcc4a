package optrace_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// output is a combination of options that say what is written.
type output struct {
	format      optrace.Format
	compression optrace.Compression
}

func (o output) String() string { return fmt.Sprintf("%v %v", o.format, o.compression) }

// options returns o's options and others.
func (o output) options() []optrace.ExporterOption {
	return []optrace.ExporterOption{optrace.WithFormat(o.format), optrace.WithCompression(o.compression)}
}

// fileOptions returns the options of a file exporter: those of o, and others.
func (o output) fileOptions(others ...optrace.FileExporterOption) []optrace.FileExporterOption {
	return append([]optrace.FileExporterOption{optrace.WithFormat(o.format), optrace.WithCompression(o.compression)}, others...)
}

// healsLines reports whether what was cut off is given up, up to its last whole
// line. In other outputs the rest of a batch is written later.
func (o output) healsLines() bool {
	return o.compression == optrace.CompressionNone && o.format == optrace.FormatEntries
}

// outputs returns all combinations.
func outputs() (all []output) {
	for _, f := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		for _, c := range []optrace.Compression{optrace.CompressionNone, optrace.CompressionGzip, optrace.CompressionZstd} {
			all = append(all, output{f, c})
		}
	}
	return all
}

// batchOf returns a batch of operations with the steps 0 to n-1, as written.
func (o output) batchOf(tb testing.TB, n int) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := newExporter(tb, &out, o.options()...).ExportSpans(tb.Context(), spantest.Operations(n)); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}
