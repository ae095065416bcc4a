package ingest

import (
	"bytes"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/ingest/ort"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/model/opfile"
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
			return h.isObjects() &&
				string(h.value("schema")) == `"`+opfile.PartialSchema+`"`
		},
		open:    whole(partialRecords),
		partial: true,
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
				h.has("schemaVersion") && h.has("deviceProperties", "distributedInfo")) ||
				h.isArray() && h.has("ph")
		},
		open: whole(kineto.Records),
	},
}
