package optrace_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

// spanFault is a row of docs/faults.md about one span: what of it the line of
// entries holds, and the warnings that the entry has and that a report counts.
type spanFault struct {
	row    string
	change func(*tracetest.SpanStub)
	line   []string // parts of the line
	warn   []string
	otlp   []string // in place of warn in a report on OTLP, nil for the same
}

// attributed returns a change that gives a span the name of an operation and attrs.
func attributed(attrs ...attribute.KeyValue) func(*tracetest.SpanStub) {
	return func(s *tracetest.SpanStub) {
		s.Attributes = append([]attribute.KeyValue{tensorconv.OpName("matmul")}, attrs...)
	}
}

// shaped returns a change that gives a span the value for the shape of its output.
func shaped(v attribute.Value) func(*tracetest.SpanStub) {
	return attributed(attribute.KeyValue{Key: attrkey.OutputShape, Value: v})
}

func shapeFaults() []spanFault {
	badShape, noShape := []string{"bad_shape"}, []string{`"output_shape":null`, `"output_elements":null`, `"memory_bytes":null`}
	dims := func(dims ...int64) func(*tracetest.SpanStub) { return shaped(attribute.Int64SliceValue(dims)) }
	floats := func(dims ...float64) func(*tracetest.SpanStub) { return shaped(attribute.Float64SliceValue(dims)) }
	many := make([][]int64, op.MaxInputs+1)
	const huge = 1 << 62
	return []spanFault{
		{"A1 text", shaped(attribute.StringValue("float32")), noShape, badShape, nil},
		{"A1 bool", shaped(attribute.BoolValue(true)), noShape, badShape, nil},
		{"A1 number", shaped(attribute.Float64Value(2)), noShape, badShape, nil},
		{"A1 map", shaped(attribute.MapValue(attribute.Int64("0", 2))), noShape, badShape, nil},
		{"A1 another encoding", shaped(attribute.StringValue("2x3")), []string{`"output_shape":[2,3]`, `"output_elements":6`}, nil, nil},
		{"A2 unknown until run time", dims(-1, 3),
			[]string{`"output_shape":[-1,3]`, `"output_elements":null`, `"memory_bytes":null`}, []string{"dynamic_dim"}, nil},
		{"A2 below -1", dims(2, -2), noShape, badShape, nil},
		{"A3 elements", dims(huge, 8), []string{`"output_elements":null`, `"memory_bytes":null`}, []string{"overflow"}, nil},
		{"A3 bytes", dims(huge), []string{`"output_elements":4611686018427387904`, `"memory_bytes":null`}, []string{"overflow"}, nil},
		{"A3 zero in front", dims(0, huge, 8), []string{`"output_elements":0`, `"memory_bytes":0`}, nil, nil},
		{"A3 zero behind", dims(huge, 8, 0), []string{`"output_elements":0`, `"memory_bytes":0`}, nil, nil},
		{"A4 scalar", dims(), []string{`"output_shape":[]`, `"output_elements":1`}, nil, nil},
		{"A4 none", attributed(), noShape, nil, nil},
		{"A5 rank", dims(make([]int64, op.MaxRank+1)...), []string{`"output_elements":null`}, []string{"shape_truncated"}, nil},
		{"A5 inputs", attributed(tensorconv.InputShapes(many...)), nil, []string{"shape_truncated"}, nil},
		{"A6 integral", floats(2, 1<<53), []string{`"output_shape":[2,9007199254740992]`}, nil, nil},
		{"A6 fraction", floats(2.5), noShape, badShape, nil},
		// OTLP is written for backends too, of which some refuse what holds a NaN.
		{"A6 NaN", floats(math.NaN()), noShape, badShape, []string{"dropped_attributes"}},
		{"A6 large", floats(1e30), noShape, badShape, nil},
		{"A7 twice", attributed(tensorconv.Step(1), tensorconv.Step(2)), []string{`"step":2`}, nil, nil},
		{"A7 empty key", attributed(attribute.String("", "x")), nil, nil, nil},
		{"A7 a size of its own", attributed(tensorconv.OutputShape(4), tensorconv.MemorySize(100)), []string{`"memory_bytes":100`}, nil, nil},
		{"A8 negative", attributed(tensorconv.OutputShape(4), tensorconv.MemorySize(-1)),
			[]string{`"output_elements":4`, `"memory_bytes":null`}, []string{"bad_memory"}, nil},
		{"A8 fraction", attributed(attribute.Float64(attrkey.Memory, 1.5)), []string{`"memory_bytes":null`}, []string{"bad_memory"}, nil},
		{"A8 large", attributed(attribute.Float64(attrkey.Memory, 1e19)), []string{`"memory_bytes":null`}, []string{"bad_memory"}, nil},
	}
}

func timeFaults() []spanFault {
	at := spantest.Epoch
	lasting := func(start, end time.Time) func(*tracetest.SpanStub) {
		return func(s *tracetest.SpanStub) { s.StartTime, s.EndTime = start, end }
	}
	noStart := []string{`"duration_us":0`}
	return []spanFault{
		{"B1 end before the start", lasting(at, at.Add(-5*time.Second)),
			[]string{`"duration_us":0,`, `"duration_ns":0,`}, []string{"neg_duration"}, nil},
		{"B2 no duration", lasting(at, at), []string{`"duration_us":0,`, `"duration_ns":0,`}, nil, nil},
		{"B3 below a microsecond", lasting(at, at.Add(125)), []string{`"duration_us":0.125,`, `"duration_ns":125,`}, nil, nil},
		{"B4 no times", lasting(time.Time{}, time.Time{}), noStart, []string{"bad_time"}, nil},
		{"C6 no ids", func(s *tracetest.SpanStub) { s.SpanContext, s.Parent = trace.SpanContext{}, trace.SpanContext{} },
			[]string{`"operation":"matmul"`}, []string{"bad_id"}, nil},
		{"G4 bytes that are no UTF-8", attributed(tensorconv.OpPath("a\xffb")), []string{"\"path\":\"a\ufffdb\""}, []string{"invalid_utf8"},
			[]string{}}, // the writer has put U+FFFD there
		{"G4 NUL", attributed(tensorconv.OpPath("a\x00b")), []string{`"path":"a\u0000b"`}, nil, nil},
	}
}

// What is wrong with a span is marked on its entry and counted in the report,
// whatever the format; the operation is kept, and what is not known is null.
func TestFaultsOfSpans(t *testing.T) {
	faults := slices.Concat(shapeFaults(), timeFaults())
	for _, fault := range faults {
		t.Run(fault.row, func(t *testing.T) {
			stub := spantest.Operation(0)
			stub.Attributes = []attribute.KeyValue{tensorconv.OpName("matmul")}
			fault.change(&stub)
			for _, f := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
				path := filepath.Join(t.TempDir(), "ops")
				check.OK(t, os.WriteFile(path, exported(t, f, tracetest.SpanStubs{stub}.Snapshots()), 0o600))
				r := check.Must(analyze.Run(t.Context(), ingest.Open(path), analyze.Options{}))(t)
				warnings, counts := fault.warn, make(map[string]int64)
				if fault.otlp != nil && (f == optrace.FormatOTLPJSON || f == optrace.FormatOTLPProto) {
					warnings = fault.otlp
				}
				for _, w := range warnings {
					counts[w] = 1
				}
				if diff := cmp.Diff(counts, r.Input.Warnings); diff != "" || r.Input.Entries != 1 || r.Input.Malformed != 0 {
					t.Errorf("%v: %d entries, %d malformed, warnings (-want +got):\n%s", f, r.Input.Entries, r.Input.Malformed, diff)
				}
			}
			checkFaultyLine(t, stub, fault)
		})
	}
}

// checkFaultyLine checks the line of entries.
func checkFaultyLine(t *testing.T, stub tracetest.SpanStub, fault spanFault) {
	t.Helper()
	var line string
	for l := range bytes.Lines(exported(t, optrace.FormatEntries, tracetest.SpanStubs{stub}.Snapshots())) {
		if bytes.Contains(l, []byte(`"operation":`)) {
			line = string(l)
		}
	}
	want := fault.line
	if len(fault.warn) > 0 {
		want = append(slices.Clone(want), `"warn":["`+strings.Join(fault.warn, `","`)+`"]`)
	} else if strings.Contains(line, `"warn"`) {
		t.Errorf("a warning: %s", line)
	}
	for _, part := range want {
		if !strings.Contains(line, part) {
			t.Errorf("%s is not in %s", part, line)
		}
	}
	if strings.Contains(line, "NaN") {
		t.Errorf("a NaN in JSON: %s", line)
	}
}

// In one batch, whose encoder remembers attributes, each span has its own warnings.
func TestFaultsOfSpansInOneBatch(t *testing.T) {
	var stubs tracetest.SpanStubs
	for i, fault := range slices.Concat(shapeFaults(), timeFaults()) {
		stub := spantest.Operation(i)
		stub.Attributes = []attribute.KeyValue{tensorconv.OpName("matmul")}
		fault.change(&stub)
		stubs = append(stubs, stub)
	}
	for _, f := range allFormats {
		checkMemo(t, f, stubs)
	}
}

// A step that runs for two requests is recorded with its links in every format, and
// so are the requests, whose traces hold no operations.
func TestLinksAreRecorded(t *testing.T) {
	for _, o := range outputs() {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(newProcessor(t, newFile(t, path, o.fileOptions()...))))
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
				TraceID: op.TraceID(r.SpanContext().TraceID()), SpanID: op.SpanID(r.SpanContext().SpanID()), Weight: op.Known(10 + i),
			})
		}
		ctx, step := tracer.Start(t.Context(), "step", trace.WithLinks(links...))
		record(ctx, tp, 2)
		_, linked := tracer.Start(ctx, "gather", trace.WithLinks(links[0]), trace.WithAttributes(attribute.String(attrkey.Name, "gather")))
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
		check.Equal(t, fmt.Sprintf("%v: records", o), map[string]int{"POST /generate": 2, "step": 1, "matmul": 2, "gather": 1}, names)
		check.Equal(t, fmt.Sprintf("%v: links", o),
			map[string][]op.Link{"POST /generate": nil, "step": want, "matmul": nil, "gather": want[:1]}, got)
	}
}

// What the SDK's limits dropped shows.
func TestDroppedLinks(t *testing.T) {
	limits := sdktrace.NewSpanLimits()
	limits.LinkCountLimit = 1
	for _, o := range outputs() {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		tp := sdktrace.NewTracerProvider(sdktrace.WithRawSpanLimits(limits),
			sdktrace.WithSpanProcessor(newProcessor(t, newFile(t, path, o.fileOptions()...))))
		_, a := tp.Tracer("engine").Start(t.Context(), "a")
		link := trace.Link{SpanContext: a.SpanContext()}
		_, s := optrace.NewTracer(tp).Start(t.Context(), "gather", "cpu")
		s.Span().AddLink(link)
		s.Span().AddLink(link)
		s.End()
		shutdown(t, tp)
		ops, _ := recordtest.Split(t, ingest.Open(path).Records())
		if len(ops) != 1 || len(ops[0].Links) != 1 || ops[0].Warn&op.WarnDroppedLinks == 0 {
			t.Errorf("%v: %+v", o, ops)
		}
	}
}

// richSpans returns an operation and the span above it with all that spans have.
func richSpans() []sdktrace.ReadOnlySpan {
	attrs := []attribute.KeyValue{
		attribute.String("model", "m1"), attribute.Int("batch", 64), attribute.Float64("scale", 4), attribute.Bool("warm", true),
		attribute.Float64Slice("loss", []float64{1, 0.5}), attribute.StringSlice("tags", []string{"a", "b"}),
		attribute.ByteSlice("digest", []byte{0, 1}), attribute.Map("m", attribute.Int("a", 1), attribute.Float64("b", 2)),
		attribute.Slice("mixed", attribute.Int64Value(1), attribute.MapValue(attribute.Bool("x", false))),
	}
	fill := func(s *tracetest.SpanStub) {
		s.Attributes = append(s.Attributes, attrs...)
		s.SpanKind = trace.SpanKindConsumer
		s.Resource = resource.NewSchemaless(append(attrs, attribute.String("service.name", "svc"))...)
		s.InstrumentationScope = instrumentation.Scope{Name: "lib", Version: "1.2", Attributes: attribute.NewSet(attrs[:4]...)}
		s.Events = []sdktrace.Event{
			{Name: "launch", Time: time.Unix(1_700_000_000, 5), Attributes: attrs, DroppedAttributeCount: 1},
			{Name: "done", Time: time.Unix(1_700_000_000, 6)},
		}
		s.Links = []sdktrace.Link{
			{SpanContext: spantest.SpanContext(5, 6), Attributes: append(attrs[:2:2], attribute.Int(attrkey.LinkWeight, 3)),
				DroppedAttributeCount: 2},
			{SpanContext: spantest.SpanContext(7, 8).WithRemote(true)},
		}
		s.DroppedAttributes, s.DroppedEvents, s.DroppedLinks = 1, 2, 3
		s.Status = sdktrace.Status{Code: codes.Ok}
	}
	o, request := spantest.Operation(0), spantest.Request()
	fill(&o)
	fill(&request)
	request.Status = sdktrace.Status{Code: codes.Error, Description: "boom"}
	return []sdktrace.ReadOnlySpan{o.Snapshot(), request.Snapshot()}
}

// keptRecords returns the records of a file, everything kept, as text.
func keptRecords(t *testing.T, name string, text []byte) (records []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, text, 0o600))
	m := new(attr.Mapping)
	m.KeepAll()
	for rec, err := range (ingest.Options{Mapping: m}).Open(path).Records() {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Entry != nil:
			records = append(records, string(rec.Entry.AppendJSON(nil)))
		case rec.Span != nil:
			records = append(records, string(rec.Span.AppendJSON(nil)))
		case rec.Resource != nil:
			records = append(records, string(op.AppendHeader(nil, rec.Resource)))
		}
	}
	return records
}

// The exporter of stdouttrace and that of OTLP say the same about a span.
func TestKeptSpansOfStdouttrace(t *testing.T) {
	var lines, objects bytes.Buffer
	exp := newExporter(t, &lines, optrace.WithFormat(optrace.FormatOTLPJSON))
	export(t, exp, richSpans()...)
	std := check.Must(stdouttrace.New(stdouttrace.WithWriter(&objects)))(t)
	export(t, std, richSpans()...)
	want := keptRecords(t, "ops.otlp.jsonl", lines.Bytes())
	if len(want) != 3 {
		t.Fatalf("records are %q", want)
	}
	check.Equal(t, "stdouttrace against OTLP", want, keptRecords(t, "spans.jsonl", objects.Bytes()))
}
