package optrace_test

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/ingest/otlp"
	reader "github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Faults of a span are warnings on its entry, in every format. The operation stays, without the unknown values.
func TestFaultsOfSpans(t *testing.T) {
	for _, f := range allFormats {
		otlp := f != optrace.FormatEntries
		t.Run(f.String(), func(t *testing.T) {
			optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
				found := spantest.ReadWhole(t,
					exported(t, f, tracetest.SpanStubs{c.Stub(t)}.Snapshots())).Entries
				if len(found) != 1 || c.Want == nil {
					return nil, len(found) > 0
				}
				e := found[0]
				if otlp && c.Has("NonFinite") { // some backends refuse it
					check.Equal(t, "warnings", op.WarnDroppedAttributes, e.Warn)
					return c.Want, true
				}
				if otlp && c.Has("InvalidUTF8") {
					e.Warn |= op.WarnInvalidUTF8 // the writer replaced bytes by U+FFFD
				}
				if !otlp && e.Kind != op.KindCollective {
					e.KindRule = c.Want.KindRule // entries keep it for collectives only
				}
				return e, true
			})
		})
	}
}

// In one batch each span has its own warnings, despite the encoder's cache.
func TestFaultsOfSpansInOneBatch(t *testing.T) {
	var stubs tracetest.SpanStubs
	for _, c := range optest.Cases() {
		t.Run(c.Name, func(t *testing.T) { stubs = append(stubs, c.Stub(t)) })
	}
	for _, f := range allFormats {
		if checkMemo(t, f, stubs) == 0 {
			t.Errorf("%v: nothing was found in the memory", f)
		}
	}
}

// A step for two requests is recorded with its links in every format, and so are the requests, although their traces
// hold no operations.
func TestLinksAreRecorded(t *testing.T) {
	for _, o := range outputs() {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(newProcessor(t, newFile(t, path, o.options()...))))
		tracer := tp.Tracer("engine")
		var requests []trace.Span
		var links []trace.Link
		var want []op.Link
		for i := range int64(2) {
			_, r := tracer.Start(t.Context(), "POST /generate")
			requests = append(requests, r)
			links = append(links, trace.Link{SpanContext: r.SpanContext(), Attributes: []attribute.KeyValue{
				attribute.String("queue", "fast"), attribute.Int64(attrkey.LinkWeight, 10+i),
			}})
			want = append(want, op.Link{
				TraceID: op.TraceID(r.SpanContext().TraceID()), SpanID: op.SpanID(r.SpanContext().SpanID()),
				Weight: op.Known(10 + i),
			})
		}
		ctx, step := tracer.Start(t.Context(), "step", trace.WithLinks(links...))
		record(ctx, tp, 2)
		_, linked := tracer.Start(ctx, "gather", trace.WithLinks(links[0]),
			trace.WithAttributes(attribute.String(attrkey.Name, "gather")))
		linked.End()
		step.End()
		for _, r := range requests {
			r.End()
		}
		_, idle := tracer.Start(t.Context(), "GET /healthz")
		idle.End()
		shutdown(t, tp)

		got := make(map[string][]op.Link)
		names := make(map[string]int)
		ops, spans := recordtest.Split(t, ingest.Open(path).Records())
		for _, e := range ops {
			names[e.Operation]++
			got[e.Operation] = e.Links
		}
		for _, s := range spans {
			names[s.Name]++
			got[s.Name] = s.Links
		}
		check.Equal(t, fmt.Sprintf("%v: records", o),
			map[string]int{"POST /generate": 2, "step": 1, "matmul": 2, "gather": 1}, names)
		check.Equal(t, fmt.Sprintf("%v: links", o),
			map[string][]op.Link{"POST /generate": nil, "step": want, "matmul": nil, "gather": want[:1]}, got)
	}
}

// richSpans returns an operation and its parent with all possible parts of spans.
func richSpans() []sdktrace.ReadOnlySpan {
	attrs := []attribute.KeyValue{
		attribute.String("model", "m1"), attribute.Int("batch", 64), attribute.Float64("scale", 4),
		attribute.Bool("warm", true), attribute.Float64Slice("loss", []float64{1, 0.5}),
		attribute.StringSlice("tags", []string{"a", "b"}), attribute.ByteSlice("digest", []byte{0, 1}),
		attribute.Map("m", attribute.Int("a", 1), attribute.Float64("b", 2)),
		attribute.Slice("mixed", attribute.Int64Value(1), attribute.MapValue(attribute.Bool("x", false))),
	}
	fill := func(s *tracetest.SpanStub) {
		s.Attributes = append(s.Attributes, attrs...)
		s.SpanKind = trace.SpanKindConsumer
		s.Resource = resource.NewSchemaless(append(attrs, attribute.String("service.name", "svc"))...)
		s.InstrumentationScope = instrumentation.Scope{Name: "lib", Version: "1.2",
			Attributes: attribute.NewSet(attrs[:4]...)}
		s.Events = []sdktrace.Event{
			{Name: "launch", Time: time.Unix(1_700_000_000, 5), Attributes: attrs, DroppedAttributeCount: 1},
			{Name: "done", Time: time.Unix(1_700_000_000, 6)},
		}
		s.Links = []sdktrace.Link{
			{SpanContext: spantest.SpanContext(5, 6),
				Attributes:            append(attrs[:2:2], attribute.Int(attrkey.LinkWeight, 3)),
				DroppedAttributeCount: 2},
			{SpanContext: spantest.SpanContext(7, 8).WithRemote(true)},
		}
		s.DroppedAttributes = 1
		s.DroppedEvents = 2
		s.DroppedLinks = 3
		s.Status = sdktrace.Status{Code: codes.Ok}
	}
	o := spantest.Operation(0)
	request := spantest.Request()
	fill(&o)
	fill(&request)
	request.Status = sdktrace.Status{Code: codes.Error, Description: "boom"}
	return []sdktrace.ReadOnlySpan{o.Snapshot(), request.Snapshot()}
}

// The exporters of stdouttrace and OTLP agree about a span.
func TestKeptSpansOfStdouttrace(t *testing.T) {
	var lines, objects bytes.Buffer
	exp := newExporter(t, &lines, optrace.WithFormat(optrace.FormatOTLPJSON))
	export(t, exp, richSpans()...)
	std := check.Must(stdouttrace.New(stdouttrace.WithWriter(&objects)))(t)
	export(t, std, richSpans()...)
	kept := func(records func(io.Reader, string, *attr.Mapping) iter.Seq2[op.Record, error],
		text *bytes.Buffer) []string {
		return strings.SplitAfter(recordtest.Transcript(t, records(text, "spans", keepAll())), "\n")
	}
	want := kept(otlp.JSONRecords, &lines)
	check.Equal(t, "resource, operation and request are there, and an end", 4, len(want))
	check.Equal(t, "stdouttrace against OTLP", want, kept(reader.Records, &objects))
}

// convertKeys are attributes with a field in entries, and others.
var convertKeys = []string{
	attrkey.Name, attrkey.Name, attrkey.InputShapes, attrkey.InputShapes, attrkey.OutputShape, attrkey.InputDTypes,
	attrkey.Kind, attrkey.Path, attrkey.FLOPs, attrkey.Side, attrkey.OutputElements, attrkey.DType,
	attrkey.Device, attrkey.Stream, attrkey.Step, attrkey.Memory, attrkey.Collective, attrkey.Group,
	attrkey.GroupSize, attrkey.Sequence, attrkey.PeerRank, attrkey.InElements, attrkey.Rank,
	attrkey.InputShape(0), attrkey.InputShape(3), "pytorch.input_shapes", "pytorch.device.type",
	"pytorch.device.index", "pytorch.device_memory_usage_bytes", "op", "device", "kept",
}

// A Converter gives the records of any span without an Exporter. Cases of package optest are in internal/model/attrmap.
func TestConverter(t *testing.T) {
	conv := optrace.NewConverter(nil)
	e, isOp := conv.Entry(spantest.Operation(3).Snapshot())
	check.Equal(t, "step of the operation", op.Known(3), e.Step)
	_, isRequestOp := conv.Entry(spantest.Request().Snapshot())
	_, isNilOp := conv.Entry(nil)
	check.Equal(t, "operations", [3]bool{true, false, false}, [3]bool{isOp, isRequestOp, isNilOp})
	check.Equal(t, "ancestor", "POST /generate", conv.Ancestor(spantest.Request().Snapshot()).Name)
	check.Equal(t, "ancestor of nothing", nil, conv.Ancestor(nil))
}
