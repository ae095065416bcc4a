package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/optrace/optrace/ingest/internal/dynamo"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/ingest/ort"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/ingest/seed"
	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// formats lists the formats in the order of detection. A detect function looks at keys of the first record or at the
// first bytes.
var formats = []Format{
	{
		Name: "entries-jsonl", Short: "entries", Summary: "JSON Lines of optrace, its exporter's default",
		detect: func(h *head) bool {
			return h.isObjects() && (bytes.HasPrefix(h.value("schema"), []byte(`"optrace.entries/`)) ||
				h.has("operation", "gap", "batch", "span", "call"))
		},
		open:     openEntries,
		cut:      cutLines,
		grows:    true,
		inherits: true,
	},
	{
		Name: "trace-json", Short: "trace", Summary: "one JSON document of operations, without starts and ids",
		detect: func(h *head) bool { return h.isObjects() && h.startsWith("entries", '[') },
		open:   whole(seedRecords),
	},
	{
		Name: "optrace-profile", Short: "profile", Summary: "sums that optrace convert -to profile wrote, for reports",
		detect: func(h *head) bool {
			return h.isObjects() && string(h.value("schema")) == `"`+opfile.PartialSchema+`"`
		},
		open:    whole(partialRecords),
		partial: true,
	},
	{
		Name: "dynamo", Summary: "forward passes and requests that NVIDIA Dynamo traces, in JSON Lines",
		detect: func(h *head) bool {
			schema := string(h.value("schema"))
			return h.isObjects() && (schema == `"`+dynamo.PassSchema+`"` || schema == `"`+dynamo.RequestSchema+`"` ||
				h.holds("event", dynamo.PassSchema, dynamo.RequestSchema))
		},
		open:  whole(dynamo.Records),
		grows: true,
	},
	{
		Name: "parquet", Summary: "Parquet tables with the columns of operations",
		detect: func(h *head) bool {
			return bytes.HasPrefix(h.text, []byte("PAR1")) || bytes.HasPrefix(h.text, []byte("PARE"))
		},
		open:      unregistered("github.com/optrace/optrace/parquet"),
		registers: true,
		inherits:  true,
	},
	{
		Name: "nsys", Summary: "SQLite databases that nsys export writes (Nsight Systems)",
		detect:    func(h *head) bool { return bytes.HasPrefix(h.text, []byte("SQLite format 3\x00")) },
		open:      unregistered("github.com/optrace/optrace/cmd/optrace/nsys"),
		registers: true,
		inherits:  true,
	},
	{
		// JSON may start like a packet, and OTLP's messages start with the same tag.
		Name: "perfetto", Summary: "Perfetto traces: slices of TrackEvents, typed GPU data",
		detect: func(h *head) bool { return h.opening == 0 && perfetto.Sniff(h.text) },
		open:   whole(perfetto.Records),
	},
	{
		// {} is an empty batch; a file may consist of it.
		Name: "otlp-json", Short: "otlp", Summary: "OTLP in JSON: documents, JSON Lines, frames of the Collector",
		detect: func(h *head) bool {
			return h.isObjects() && (len(h.members) == 0 && h.atEnd || h.has(
				"resourceSpans", "resourceMetrics", "resourceLogs", "resourceProfiles",
				"resource_spans", "resource_metrics", "resource_logs", "resource_profiles", "batches",
				"scopeSpans", "scopeMetrics", "scopeLogs", "instrumentationLibrarySpans") ||
				h.holds("trace", "resourceSpans", "batches"))
		},
		open:  openOTLPJSON,
		cut:   cutDocuments,
		grows: true,
	},
	framed(otlp.FramingJSON, "otlp-json", "otlp", "OTLP in JSON: documents, JSON Lines, frames of the Collector"),
	framed(otlp.FramingProto, "otlp-proto", "", "OTLP in protobuf: messages, frames of the Collector"),
	framed(otlp.FramingRaw, "otlp-proto", "", "OTLP in protobuf: messages, frames of the Collector"),
	{
		Name: "jaeger-v3", Summary: "answers of Jaeger's API v3",
		detect: func(h *head) bool { return h.isObjects() && h.startsWith("result", '{') },
		open:   whole(otlp.JSONRecords),
	},
	{
		Name: "jaeger-v1", Short: "jaeger", Summary: "traces as Jaeger's pages download them, and bare ones",
		detect: func(h *head) bool {
			return h.isObjects() && h.startsWith("data", '[') || h.has("traceID") && h.startsWith("spans", '[')
		},
		open: whole(jaeger.Records),
	},
	{
		Name: "stdouttrace", Summary: "spans as the stdouttrace exporters of SDKs print them",
		detect: func(h *head) bool { return h.startsWith("SpanContext", '{') },
		open:   whole(stdouttrace.Records),
		grows:  true,
	},
	{
		Name: "python-console", Summary: "spans as Python's ConsoleSpanExporter prints them",
		detect: func(h *head) bool { return h.has("parent_id") && h.holds("context", "trace_id") },
		open:   whole(stdouttrace.Records),
		grows:  true,
	},
	{
		// The runtime loads a model before it runs the first node.
		Name: "ort", Summary: "profiles of ONNX Runtime",
		detect: func(h *head) bool {
			cat := string(h.value("cat"))
			return h.isArray() && h.has("ph") && (cat == `"Session"` || cat == `"Node"`)
		},
		open: whole(ort.Records),
	},
	{
		// Events in an object, or an array of events. Kineto may write a job of thousands of ranks in front of the
		// events.
		Name: "chrome", Summary: "Chrome traces: torch.profiler's Kineto, and others",
		detect: func(h *head) bool {
			return h.isObjects() && (h.startsWith("traceEvents", '[') || h.holds("traceEvents", "traceEvents") ||
				h.has("schemaVersion") && h.has("deviceProperties", "distributedInfo")) || h.isArray() && h.has("ph")
		},
		open: whole(kineto.Records),
	},
}

// openEntries reads entries JSON Lines. Entries state their fields: the mapping only selects attributes of resources,
// see inheriting.
func openEntries(readerOptions) readFunc {
	r := entries.NewReader(nil, "")
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		r.Reset(src, at.name, at.Position)
		if at.sources != nil {
			r.SetSources(at.sources)
		}
		return r.Records()
	}
}

func openOTLPJSON(o readerOptions) readFunc {
	r := otlp.NewJSONReader(o.mapping)
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		return r.Records(src, at.name, at.Position, at.lines)
	}
}

func framed(f otlp.Framing, name, short, summary string) Format {
	isRaw := f == otlp.FramingRaw
	return Format{
		Name: name, Short: short, Summary: summary, framing: f, grows: !isRaw,
		// JSON may start like a message: "\n{\n".
		detect: func(h *head) bool { return (h.opening == 0 || !isRaw) && otlp.Sniff(h.text) == f },
		open: func(o readerOptions) readFunc {
			r := otlp.NewFrameReader(o.mapping, f)
			return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
				return r.Records(src, at.name, at.Position)
			}
		},
		cut: func(text, _ []byte, _ bool) (end int, lines bool) { return otlp.CutFrames(text, f), false },
	}
}

// seedRecords reads a seed trace. It skips a bad entry, and reads a truncated trace up to its end.
func seedRecords(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		found := false
		for rec, err := range seed.Records(src, name) {
			syntax, ok := errors.AsType[*op.SyntaxError](err)
			if ok && syntax.Class == op.ErrorSyntax && !syntax.Truncated && !found {
				err = fmt.Errorf("%s (at byte %d)", syntax.Msg, syntax.Offset) // no entry was read
			}
			found = found || rec.Entry != nil
			if !yield(rec, err) {
				return
			}
		}
	}
}

// errPartial is the error of partial results that the caller does not want.
var errPartial = &refusedError{"partial results of optrace convert -to profile: only optrace report reads them, without -html"}

func partialRecords(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		text, err := lineio.ReadUpTo(src, math.MaxInt)
		if err != nil {
			yield(op.Record{}, fmt.Errorf("reading partial results: %w", err))
			return
		}
		yield(op.Record{Partial: &op.Partial{File: name, Text: text}}, nil)
	}
}

// Tables reads a format that needs large dependencies. Its package registers it when it is imported.
type Tables struct {
	// Records reads a file sequentially.
	Records func(src io.Reader, name string, m Memory) iter.Seq2[op.Record, error]
	// RecordsAt reads a file of size bytes.
	RecordsAt func(src io.ReaderAt, size int64, name string, m Memory) iter.Seq2[op.Record, error]
	// Parts returns the records of a file in parts of at least partBytes, for several goroutines; nil reads files
	// whole.
	Parts func(src io.ReaderAt, size int64, name string, partBytes int) ([]iter.Seq2[op.Record, error], error)
}

// Memory bounds the memory of reading a file.
type Memory struct {
	// Hold reports that bytes more are held, or fewer for a negative number. An error ends the reading.
	Hold func(bytes int64) error
	// SpoolBytes is how much of a sequential file may be copied to a temporary file.
	SpoolBytes int64
}

// tableMemory returns the memory bounds for reading a table.
func (o *readerOptions) tableMemory() Memory {
	most := int64(math.MaxInt64)
	if o.memory < math.MaxInt64/spoolPerMemory {
		most = o.memory * spoolPerMemory
	}
	return Memory{Hold: o.hold, SpoolBytes: most}
}

const spoolPerMemory = 4 // the size of a temporary copy per byte of memory

// Register sets the reader of a format. Call it from an init function. It panics if [Formats] has no such format or the
// format has a built-in reader.
func Register(format string, t Tables) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == format && f.registers })
	if i < 0 {
		panic("ingest: no format " + format + " to be registered")
	}
	f := &formats[i]
	f.open = func(o readerOptions) readFunc {
		return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
			return t.Records(src, at.name, o.tableMemory())
		}
	}
	f.recordsAt = func(o readerOptions, src io.ReaderAt, size int64, name string) iter.Seq2[op.Record, error] {
		return t.RecordsAt(src, size, name, o.tableMemory())
	}
	f.partsAt = t.Parts
}
