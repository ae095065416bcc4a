package optrace_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
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

// lines reports whether a newline heals what was cut off.
func (o output) lines() bool {
	return o.compression == optrace.CompressionNone && (o.format == optrace.FormatEntries || o.format == optrace.FormatOTLPJSON)
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

// batches returns two batches of an exporter, of that many operations.
func (o output) batches(tb testing.TB, n, m int) (first, second []byte) {
	tb.Helper()
	var out bytes.Buffer
	exp := newExporter(tb, &out, o.options()...)
	export := func(n int) []byte {
		out.Reset()
		if err := exp.ExportSpans(tb.Context(), spantest.Operations(n)); err != nil {
			tb.Fatal(err)
		}
		return bytes.Clone(out.Bytes())
	}
	return export(n), export(m)
}

// plain returns text without its compression, of which all must be readable.
func (o output) plain(tb testing.TB, text []byte) []byte {
	tb.Helper()
	if o.compression == optrace.CompressionNone || len(text) == 0 {
		return text
	}
	var r io.Reader
	var err error
	if o.compression == optrace.CompressionGzip {
		r, err = gzip.NewReader(bytes.NewReader(text))
	} else {
		var z *zstd.Decoder
		if z, err = zstd.NewReader(bytes.NewReader(text), zstd.WithDecoderConcurrency(1)); err == nil {
			defer z.Close()
		}
		r = z
	}
	if err != nil {
		tb.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		tb.Fatalf("reading what was compressed: %v", err)
	}
	return content
}

// steps returns the steps of the operations in text, of which at most torn
// lines may be unreadable.
func (o output) steps(tb testing.TB, text []byte, torn int) []int64 {
	tb.Helper()
	text = o.plain(tb, text)
	if o.format == optrace.FormatEntries {
		rec := read(tb, text)
		if len(rec.malformed) > torn {
			tb.Fatalf("%d lines cannot be read: %v", len(rec.malformed), rec.malformed)
		}
		return steps(rec.entries)
	}
	all := []int64{}
	if o.format == optrace.FormatOTLPProto {
		for _, m := range spantest.Messages(tb, text) {
			traces, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(m)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, otlpSteps(tb, traces)...)
		}
		return all
	}
	for line := range bytes.Lines(text) {
		traces, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(line)
		if err != nil {
			if torn--; torn < 0 && len(bytes.TrimSpace(line)) > 0 {
				tb.Fatalf("a line cannot be read: %v: %s", err, line)
			}
			continue
		}
		all = append(all, otlpSteps(tb, traces)...)
	}
	return all
}

func otlpSteps(tb testing.TB, traces ptrace.Traces) (all []int64) {
	tb.Helper()
	for _, rs := range traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				step, ok := s.Attributes().Get(op.KeyStep)
				if !ok {
					tb.Fatalf("span %s has no step", s.Name())
				}
				all = append(all, step.Int())
			}
		}
	}
	return all
}
