package optrace_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/tensorconv"
)

// convert returns the entry that an exporter writes for a span, nil for a span
// that is no operation.
func convert(tb testing.TB, stub tracetest.SpanStub, opts ...optrace.ExporterOption) *op.Entry {
	tb.Helper()
	var out bytes.Buffer
	if err := newExporter(tb, &out, opts...).ExportSpans(tb.Context(), []sdktrace.ReadOnlySpan{stub.Snapshot()}); err != nil {
		tb.Fatal(err)
	}
	rec := spantest.ReadWhole(tb, out.Bytes())
	switch len(rec.Entries) {
	case 0:
		return nil
	case 1:
		return rec.Entries[0]
	}
	tb.Fatalf("%d entries of one span", len(rec.Entries))
	return nil
}

func TestConvertWholeSpan(t *testing.T) {
	stub := spantest.Operation(3)
	stub.Attributes = []attribute.KeyValue{
		tensorconv.OpName("all_reduce"), tensorconv.OpKind(op.KindCollective), tensorconv.OpPath("encoder.0"),
		tensorconv.OpFLOPCount(12), tensorconv.DeviceID("cuda:1"), tensorconv.StreamID(7), tensorconv.DType(op.BF16),
		tensorconv.InputDTypes(op.BF16, op.I64), tensorconv.InputShapes([]int64{8, 4}, []int64{}),
		tensorconv.OutputShape(8, 4), tensorconv.Step(41), tensorconv.MemorySize(99), tensorconv.Rank(5),
		tensorconv.CollectiveName("all_reduce"), tensorconv.CollectiveGroupName("dp"), tensorconv.CollectiveGroupSize(8),
		tensorconv.CollectiveSequence(17), tensorconv.CollectivePeerRank(2),
	}
	stub.Resource = resource.NewSchemaless(
		attribute.String(attrkey.ServiceName, "trainer"), tensorconv.Rank(3), tensorconv.WorldSize(8), attribute.String("host.name", "n1"))
	want := &op.Entry{
		Step: op.Known(41), Operation: "all_reduce", Kind: op.KindCollective, KindRule: op.RuleAttribute,
		Path: "encoder.0", DeviceID: "cuda:1", Stream: op.Known(7), Rank: op.Known(5),
		InputShapes: []op.Shape{{8, 4}, {}}, InputDTypes: []op.DType{op.BF16, op.I64},
		OutputShape: op.Shape{8, 4}, DType: op.BF16,
		Start: op.Known(stub.StartTime.UnixNano()), Duration: 125_000,
		OutputElements: op.Known(32), MemoryBytes: op.Known(99), FLOPs: op.Known(12),
		TraceID: op.TraceID(spantest.TraceID(0)), SpanID: op.SpanID(spantest.SpanID(3)), ParentSpanID: op.SpanID(spantest.SpanID(1 << 20)),
		Service: "trainer", Host: "n1", Scope: optrace.ScopeName,
		Collective: &op.Collective{
			Name: "all_reduce", Group: "dp", GroupSize: op.Known(8), Sequence: op.Known(17), PeerRank: op.Known(2),
		},
	}
	if diff := cmp.Diff(want, convert(t, stub)); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

func TestConvertTimes(t *testing.T) {
	now := spantest.Epoch
	tests := []struct {
		name       string
		start, end time.Time
		wantStart  op.Int
		duration   int64
		warn       op.Warning
	}{
		{
			name: "end before start", start: now, end: now.Add(-5 * time.Second),
			wantStart: op.Known(now.UnixNano()), warn: op.WarnNegativeDuration,
		},
		{name: "zero duration", start: now, end: now, wantStart: op.Known(now.UnixNano())},
		{name: "nanoseconds", start: now, end: now.Add(125), wantStart: op.Known(now.UnixNano()), duration: 125},
		{name: "no times", warn: op.WarnBadTime},
		{name: "no start", end: now, warn: op.WarnBadTime},
		{name: "no end", start: now, wantStart: op.Known(now.UnixNano()), warn: op.WarnBadTime},
		{name: "before 1678", start: time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), end: now, warn: op.WarnBadTime},
		{
			name: "after 2261", start: now, end: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC),
			wantStart: op.Known(now.UnixNano()), warn: op.WarnBadTime,
		},
		{name: "Unix spantest.Epoch", start: time.Unix(0, 0), end: time.Unix(0, 9), wantStart: op.Known(0), duration: 9},
		{name: "before Unix spantest.Epoch", start: time.Unix(-1, 0), end: time.Unix(-1, 9), wantStart: op.Known(-1e9), duration: 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stub := spantest.Operation(0)
			stub.StartTime, stub.EndTime = tt.start, tt.end
			e := convert(t, stub)
			if e.Start != tt.wantStart || e.Duration != tt.duration || e.Warn != tt.warn {
				t.Errorf("start %v, duration %d, warnings %b; want %v, %d, %b",
					e.Start, e.Duration, e.Warn, tt.wantStart, tt.duration, tt.warn)
			}
		})
	}
}

// The duration is measured with the monotonic clock where the times have it.
func TestConvertMonotonicDuration(t *testing.T) {
	stub := spantest.Operation(0)
	stub.StartTime = time.Now()
	stub.EndTime = stub.StartTime.Add(1234)
	if e := convert(t, stub); e.Duration != 1234 {
		t.Errorf("duration %d ns, want 1234", e.Duration)
	}
}

func TestConvertSpanProperties(t *testing.T) {
	sampled := func(state string) trace.SpanContext {
		ts, err := trace.ParseTraceState(state)
		if err != nil {
			t.Fatal(err)
		}
		return spantest.SpanContext(0, 0).WithTraceState(ts)
	}
	tests := []struct {
		name   string
		change func(*tracetest.SpanStub)
		check  func(*op.Entry) bool
	}{
		{"nil resource", func(s *tracetest.SpanStub) { s.Resource = nil },
			func(e *op.Entry) bool { return e.Service == "" && !e.Rank.Known }},
		{"rank of the resource", func(s *tracetest.SpanStub) { s.Resource = resource.NewSchemaless(tensorconv.Rank(3)) },
			func(e *op.Entry) bool { return e.Rank == op.Known(3) }},
		{"rank as text", func(s *tracetest.SpanStub) {
			s.Resource = resource.NewSchemaless(attribute.String(attrkey.Rank, "3"))
		}, func(e *op.Entry) bool { return e.Rank == op.Known(3) }},
		{"negative rank", func(s *tracetest.SpanStub) { s.Resource = resource.NewSchemaless(tensorconv.Rank(-3)) },
			func(e *op.Entry) bool { return !e.Rank.Known }},
		{"service that is not UTF-8", func(s *tracetest.SpanStub) { s.Resource = spantest.Service("a\xffb") },
			func(e *op.Entry) bool { return e.Service == "a\ufffdb" }},
		{"failed", func(s *tracetest.SpanStub) { s.Status = sdktrace.Status{Code: codes.Error, Description: "NaN"} },
			func(e *op.Entry) bool { return e.Failed && e.Error == "NaN" }},
		{"failed without a description", func(s *tracetest.SpanStub) { s.Status.Code = codes.Error },
			func(e *op.Entry) bool { return e.Failed && e.Error == "" }},
		{"status Ok", func(s *tracetest.SpanStub) { s.Status.Code = codes.Ok },
			func(e *op.Entry) bool { return !e.Failed }},
		{"sampling threshold", func(s *tracetest.SpanStub) { s.SpanContext = sampled("vendor=x,ot=th:c") },
			func(e *op.Entry) bool { return e.AdjustedCount == 4 }},
		{"other trace state", func(s *tracetest.SpanStub) { s.SpanContext = sampled("vendor=x") },
			func(e *op.Entry) bool { return e.AdjustedCount == 0 }},
		{"dropped attributes", func(s *tracetest.SpanStub) { s.DroppedAttributes = 72 },
			func(e *op.Entry) bool { return e.DroppedAttributes == 72 && e.Warn == op.WarnDroppedAttributes }},
		{"no parent", func(s *tracetest.SpanStub) { s.Parent = trace.SpanContext{} },
			func(e *op.Entry) bool { return e.ParentSpanID.IsZero() }},
		{"remote parent", func(s *tracetest.SpanStub) { s.Parent = s.Parent.WithRemote(true) },
			func(e *op.Entry) bool { return e.ParentSpanID == op.SpanID(spantest.SpanID(1<<20)) }},
		{"no ids", func(s *tracetest.SpanStub) { s.SpanContext, s.Parent = trace.SpanContext{}, trace.SpanContext{} },
			func(e *op.Entry) bool { return e.TraceID.IsZero() && e.Warn == op.WarnBadID }},
		{"other scope", func(s *tracetest.SpanStub) { s.InstrumentationScope.Name = "engine" },
			func(e *op.Entry) bool { return e.Scope == "engine" }},
		{"events and links", func(s *tracetest.SpanStub) {
			s.Events = []sdktrace.Event{{Name: "retry", Attributes: []attribute.KeyValue{tensorconv.OpName("x")}}}
			s.Links = []sdktrace.Link{{SpanContext: spantest.SpanContext(9, 9), Attributes: []attribute.KeyValue{tensorconv.Step(1)}}}
		}, func(e *op.Entry) bool { return e.Operation == "matmul" && e.Step == op.Known(0) && e.Warn == 0 }},
		{"name of the span", func(s *tracetest.SpanStub) {
			s.Name, s.Attributes = "conv", []attribute.KeyValue{tensorconv.OpName("")}
		}, func(e *op.Entry) bool { return e.Operation == "conv" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stub := spantest.Operation(0)
			tt.change(&stub)
			if e := convert(t, stub); e == nil || !tt.check(e) {
				t.Errorf("the entry is %+v", e)
			}
		})
	}
}

func TestConvertNoOperation(t *testing.T) {
	for name, attrs := range map[string][]attribute.KeyValue{
		"nothing":              nil,
		"device alone":         {tensorconv.DeviceID("cuda:0")},
		"shapes alone":         {tensorconv.OutputShape(1)},
		"bare name alone":      {attribute.String("op", "matmul")},
		"a request's":          {attribute.String("http.request.method", "GET")},
		"list of no interest":  {attribute.Int64Slice("sizes", []int64{1})},
		"value of no interest": {attribute.Map("m", attribute.String("op", "x"))},
	} {
		t.Run(name, func(t *testing.T) {
			stub := spantest.Operation(0)
			stub.Attributes = attrs
			if e := convert(t, stub); e != nil {
				t.Errorf("the entry is %+v", e)
			}
		})
	}
}

// Every type of attribute value where an input's shapes are expected.
func TestConvertShapeEncodings(t *testing.T) {
	nested := func(depth int) attribute.Value {
		v := attribute.Int64SliceValue([]int64{2, 3})
		for range depth {
			v = attribute.SliceValue(v)
		}
		return v
	}
	two := []op.Shape{{2, 3}, {3, 4}}
	tests := []struct {
		name  string
		value attribute.Value
		want  []op.Shape
		warn  op.Warning
	}{
		{"nested", attribute.SliceValue(attribute.Int64SliceValue([]int64{2, 3}), attribute.Int64SliceValue([]int64{3, 4})), two, 0},
		{
			"nested floats",
			attribute.SliceValue(attribute.Float64SliceValue([]float64{2, 3}), attribute.Float64SliceValue([]float64{3, 4})), two, 0,
		},
		{"nested values", attribute.SliceValue(
			attribute.SliceValue(attribute.Int64Value(2), attribute.Float64Value(3)),
			attribute.SliceValue(attribute.Int64Value(3), attribute.Int64Value(4))), two, 0},
		{"texts", attribute.StringSliceValue([]string{"2x3", "[3, 4]"}), two, 0},
		{"one text", attribute.StringValue("[[2,3],[3,4]]"), two, 0},
		{"flat", attribute.Int64SliceValue([]int64{2, 3}), []op.Shape{{2, 3}}, 0},
		{"scalar", attribute.SliceValue(attribute.Int64SliceValue(nil)), []op.Shape{{}}, 0},
		{"bool", attribute.BoolValue(true), nil, op.WarnBadShape},
		{"number", attribute.Float64Value(2.5), nil, op.WarnBadShape},
		{"bools", attribute.BoolSliceValue([]bool{true}), nil, op.WarnBadShape},
		{"fractions", attribute.Float64SliceValue([]float64{2.5}), nil, op.WarnBadShape},
		{"NaN", attribute.Float64SliceValue([]float64{math.NaN()}), nil, op.WarnBadShape},
		{"map", attribute.MapValue(attribute.Int64("0", 2)), nil, op.WarnBadShape},
		{"bytes", attribute.ByteSliceValue([]byte{2, 3}), nil, op.WarnBadShape},
		{"empty", attribute.Value{}, nil, op.WarnBadShape},
		{
			"map within",
			attribute.SliceValue(attribute.MapValue(), attribute.Int64SliceValue([]int64{2, 3})), []op.Shape{nil, {2, 3}}, op.WarnBadShape,
		},
		{"too deep", nested(3), nil, op.WarnBadShape},
		{"far too deep", nested(50), nil, op.WarnBadShape},
		{"dynamic", attribute.SliceValue(attribute.Int64SliceValue([]int64{-1, 3})), []op.Shape{{-1, 3}}, 0},
		{"negative", attribute.SliceValue(attribute.Int64SliceValue([]int64{-2, 3})), nil, op.WarnBadShape},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stub := spantest.Operation(0)
			stub.Attributes = []attribute.KeyValue{tensorconv.OpName("matmul"), {Key: attrkey.InputShapes, Value: tt.value}}
			e := convert(t, stub)
			if diff := cmp.Diff(tt.want, e.InputShapes); diff != "" || e.Warn != tt.warn {
				t.Errorf("warnings %b, want %b, input shapes (-want +got):\n%s", e.Warn, tt.warn, diff)
			}
		})
	}
}

func TestConvertManyAndLongLists(t *testing.T) {
	// More distinct lists than the cache takes, and one too long for it.
	var out bytes.Buffer
	exp := newExporter(t, &out)
	const n = 10_000
	spans := make([]sdktrace.ReadOnlySpan, n)
	for i := range spans {
		stub := spantest.Operation(i)
		stub.Attributes = []attribute.KeyValue{tensorconv.OpName("matmul"), tensorconv.OutputShape(int64(i))}
		spans[i] = stub.Snapshot()
	}
	if err := exp.ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	for i, e := range spantest.ReadWhole(t, out.Bytes()).Entries {
		if e.OutputElements != op.Known(int64(i)) {
			t.Fatalf("entry %d has %v elements", i, e.OutputElements)
		}
	}
	stub := spantest.Operation(0)
	shapes := make([][]int64, 2000)
	for i := range shapes {
		shapes[i] = []int64{int64(i), 2}
	}
	stub.Attributes = []attribute.KeyValue{tensorconv.OpName("concat"), tensorconv.InputShapes(shapes...)}
	if e := convert(t, stub); len(e.InputShapes) != op.MaxInputs || e.Warn != op.WarnShapeTruncated {
		t.Errorf("%d inputs with warnings %b", len(e.InputShapes), e.Warn)
	}
}

func TestConvertMapping(t *testing.T) {
	var m attr.Mapping
	m.Alias("engine.kernel", attrkey.Name)
	m.Keep("user.tenant")
	m.Keep("batch.sizes")
	stub := spantest.Operation(0)
	stub.Attributes = []attribute.KeyValue{
		attribute.String("engine.kernel", "gemm"), attribute.String("user.tenant", "acme"),
		attribute.Int64Slice("batch.sizes", []int64{1, 2}), attribute.String("other", "x"),
	}
	e := convert(t, stub, optrace.WithMapping(&m))
	if e == nil || e.Operation != "gemm" {
		t.Fatalf("the entry is %+v", e)
	}
	want := []op.Attr{{Key: "user.tenant", Value: "acme"}, {Key: "batch.sizes", Value: "[1,2]", Type: op.AttrJSON}}
	if diff := cmp.Diff(want, e.Attrs); diff != "" {
		t.Errorf("attributes kept (-want +got):\n%s", diff)
	}
}

func TestConvertAncestor(t *testing.T) {
	request := spantest.Request()
	request.Parent = spantest.SpanContext(0, 1<<21).WithRemote(true)
	request.Status.Code = codes.Error
	request.Name = "GET " + strings.Repeat("\xff", 2)
	request.EndTime = request.StartTime.Add(-time.Second)
	var out bytes.Buffer
	exp := newExporter(t, &out)
	if err := exp.ExportSpans(t.Context(), tracetest.SpanStubs{spantest.Operation(0), request}.Snapshots()); err != nil {
		t.Fatal(err)
	}
	want := []op.Span{{
		Name: "GET \ufffd\ufffd", TraceID: op.TraceID(spantest.TraceID(0)), SpanID: op.SpanID(spantest.SpanID(1 << 20)),
		ParentSpanID: op.SpanID(spantest.SpanID(1 << 21)), RemoteParent: true,
		Start: op.Known(spantest.Epoch.UnixNano()), Service: "trainer", Failed: true,
	}}
	if diff := cmp.Diff(want, spantest.ReadWhole(t, out.Bytes()).Spans); diff != "" {
		t.Errorf("ancestry record (-want +got):\n%s", diff)
	}
}

// convertKeys are the attributes that become fields of entries, and others.
var convertKeys = []string{
	attrkey.Name, attrkey.Name, attrkey.InputShapes, attrkey.InputShapes, attrkey.OutputShape, attrkey.InputDTypes, attrkey.Kind,
	attrkey.Path, attrkey.FLOPs, attrkey.Side, attrkey.OutputElements, attrkey.DType, attrkey.Device, attrkey.Stream, attrkey.Step,
	attrkey.Memory, attrkey.Collective, attrkey.Group, attrkey.GroupSize, attrkey.Sequence, attrkey.PeerRank, attrkey.InElements,
	attrkey.Rank, attrkey.InputShape(0), attrkey.InputShape(3), "pytorch.input_shapes", "pytorch.device.type",
	"pytorch.device.index", "pytorch.device_memory_usage_bytes", "op", "device", "kept",
}

// Whatever a span holds: nothing panics, what is written is whole lines, and
// each entry is valid and comes back as it was.
func FuzzConvert(f *testing.F) {
	f.Add([]byte{})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		seed := make([]byte, 600)
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		f.Add(seed)
	}
	var mapping attr.Mapping
	mapping.Keep("kept")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &spantest.Random{Data: data, Keys: convertKeys}
		var spans []sdktrace.ReadOnlySpan
		for range 1 + r.Below(3) {
			stub := r.Span()
			spans = append(spans, stub.Snapshot())
		}
		var out bytes.Buffer
		exp := newExporter(t, &out, optrace.WithMapping(&mapping))
		if err := exp.ExportSpans(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
		written := uint64(0)
		for line := range bytes.Lines(out.Bytes()) {
			line, ended := bytes.CutSuffix(line, []byte("\n"))
			rec, err := entries.DecodeLine(line)
			if err != nil || !ended {
				t.Fatalf("line %q (ended: %v): %v", line, ended, err)
			}
			if rec.Entry == nil {
				continue
			}
			written++
			if err := rec.Entry.Validate(); err != nil {
				t.Errorf("entry %s: %v", line, err)
			}
			if again := rec.Entry.AppendJSON(nil); !bytes.Equal(line, again) {
				t.Errorf("entry changes when it is read and written:\n%s\n%s", line, again)
			}
		}
		if st := exp.Stats(); st.Written != written || st.Dropped != 0 {
			t.Errorf("%d entries with %+v", written, st)
		}
	})
}
