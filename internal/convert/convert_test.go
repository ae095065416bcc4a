package convert_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/convert"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

func data(stub tracetest.SpanStub) *span.Data {
	d := span.Read(stub.Snapshot(), stub.SpanContext, stub.Parent)
	return &d
}

// operation returns the data of the first operation with the attributes given
// instead of its own.
func operation(attrs ...attribute.KeyValue) *span.Data {
	stub := spantest.Operation(0)
	stub.Attributes = attrs
	return data(stub)
}

func TestEntry(t *testing.T) {
	state, err := trace.ParseTraceState("vendor=x,ot=th:c")
	if err != nil {
		t.Fatal(err)
	}
	root := span.Root{Name: "POST /generate", ID: op.SpanID(spantest.SpanID(7))}
	tests := []struct {
		name   string
		root   span.Root
		change func(*span.Data)
		want   func(*op.Entry)
	}{
		{
			name:   "matrix product",
			change: func(*span.Data) {},
			want:   func(*op.Entry) {},
		},
		{
			name: "shapes as nested values",
			change: func(d *span.Data) {
				d.Attrs[3].Value = attribute.SliceValue(
					attribute.SliceValue(attribute.Int64Value(2), attribute.Float64Value(3)),
					attribute.Float64SliceValue([]float64{3, 4}), attribute.StringValue("4x5"))
			},
			want: func(e *op.Entry) { e.InputShapes = []op.Shape{{2, 3}, {3, 4}, {4, 5}} },
		},
		{
			name: "a value within shapes that is none",
			change: func(d *span.Data) {
				d.Attrs[3].Value = attribute.SliceValue(attribute.BoolValue(true), attribute.Int64SliceValue([]int64{784, 256}))
			},
			want: func(e *op.Entry) {
				e.InputShapes, e.Warn = []op.Shape{nil, {784, 256}}, op.WarnBadShape
			},
		},
		{
			name:   "booleans as a shape",
			change: func(d *span.Data) { d.Attrs[4].Value = attribute.BoolSliceValue([]bool{true}) },
			want: func(e *op.Entry) {
				e.OutputShape, e.OutputElements, e.MemoryBytes, e.Warn = nil, op.Int{}, op.Int{}, op.WarnBadShape
			},
		},
		{
			name: "texts",
			change: func(d *span.Data) {
				d.Attrs = append(d.Attrs, tensorconv.OpPath("encoder.0\xff"), attribute.String("user.note", "ignored"))
			},
			want: func(e *op.Entry) { e.Path, e.Warn = "encoder.0\ufffd", op.WarnInvalidUTF8 },
		},
		{
			name:   "root",
			root:   root,
			change: func(*span.Data) {},
			want:   func(e *op.Entry) { e.Root, e.RootSpanID = root.Name, root.ID },
		},
		{
			name:   "sampling threshold",
			change: func(d *span.Data) { d.Context = d.Context.WithTraceState(state) },
			want:   func(e *op.Entry) { e.AdjustedCount = 4 },
		},
		{
			name:   "error",
			change: func(d *span.Data) { d.Status = sdktrace.Status{Code: codes.Error, Description: "NaN"} },
			want:   func(e *op.Entry) { e.Failed, e.Error = true, "NaN" },
		},
		{
			name:   "success with a description",
			change: func(d *span.Data) { d.Status = sdktrace.Status{Code: codes.Ok, Description: "fine"} },
			want:   func(*op.Entry) {},
		},
		{
			name:   "dropped attributes",
			change: func(d *span.Data) { d.DroppedAttrs = 72 },
			want:   func(e *op.Entry) { e.DroppedAttributes, e.Warn = 72, op.WarnDroppedAttributes },
		},
		{
			name:   "a negative number of dropped attributes",
			change: func(d *span.Data) { d.DroppedAttrs = -3 },
			want:   func(*op.Entry) {},
		},
		{
			name:   "no end",
			change: func(d *span.Data) { d.End = time.Time{} },
			want:   func(e *op.Entry) { e.Duration, e.Warn = 0, op.WarnBadTime },
		},
		{
			name:   "end before the start",
			change: func(d *span.Data) { d.End = d.Start.Add(-time.Second) },
			want:   func(e *op.Entry) { e.Duration, e.Warn = 0, op.WarnNegativeDuration },
		},
		{
			name:   "no resource",
			change: func(d *span.Data) { d.Resource = nil },
			want:   func(e *op.Entry) { e.Service = "" },
		},
	}
	c := convert.New(nil, 1<<10) // one for all: nothing of a span is left for the next
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := &op.Entry{
				Step: op.Known(0), Operation: "matmul", Kind: op.KindCompute, KindRule: op.RuleDefault, DeviceID: "cuda:0",
				InputShapes: []op.Shape{{64, 784}, {784, 256}}, OutputShape: op.Shape{64, 256}, DType: op.F32,
				Start: op.Known(spantest.Epoch.UnixNano()), Duration: 125_000,
				OutputElements: op.Known(64 * 256), MemoryBytes: op.Known(4 * 64 * 256),
				TraceID: op.TraceID(spantest.TraceID(0)), SpanID: op.SpanID(spantest.SpanID(0)),
				ParentSpanID: op.SpanID(spantest.SpanID(1 << 20)),
				Service:      "trainer", Scope: spantest.ScopeName,
			}
			tt.want(want)
			d := data(spantest.Operation(0))
			tt.change(d)
			got, ok := c.Entry(d, tt.root)
			if !ok {
				t.Fatal("an operation has no entry")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
			if err := got.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEntryOfOtherSpans(t *testing.T) {
	c := convert.New(nil, 1<<10)
	for name, attrs := range map[string][]attribute.KeyValue{
		"no attributes":  nil,
		"a request":      {attribute.String("http.route", "/"), attribute.Int64Slice("sizes", []int64{1})},
		"a device alone": {tensorconv.DeviceID("cuda:0")},
		"a shape alone":  {tensorconv.OutputShape(2, 3)},
		"a map":          {attribute.Map("m", tensorconv.OpName("matmul"))},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := c.Entry(data(spantest.Operation(0)), span.Root{}); !ok {
				t.Fatal("an operation has no entry")
			}
			if e, ok := c.Entry(operation(attrs...), span.Root{}); ok {
				t.Errorf("the entry is %+v", e)
			}
		})
	}
}

func TestEntryMapping(t *testing.T) {
	var m attr.Mapping
	m.Alias("engine.kernel", attrkey.Name)
	for _, key := range []string{"text", "number", "float", "flag", "list", "nested", "flags", "map"} {
		m.Keep(key)
	}
	d := operation(
		attribute.String("engine.kernel", "gemm"), attribute.String("text", "acme"), attribute.Int64("number", -1),
		attribute.Float64("float", 2.5), attribute.Bool("flag", true), attribute.StringSlice("list", []string{"a", "b"}),
		attribute.Slice("nested", attribute.Float64SliceValue([]float64{0.5}), attribute.SliceValue(attribute.StringValue("x"))),
		attribute.BoolSlice("flags", []bool{true}), attribute.Map("map", attribute.Int64("k", 1)), attribute.String("other", "x"))
	got, ok := convert.New(&m, 1<<10).Entry(d, span.Root{})
	if !ok || got.Operation != "gemm" {
		t.Fatalf("the entry is %+v", got)
	}
	want := []op.Attr{
		{Key: "text", Value: "acme"}, {Key: "number", Value: "-1", Type: op.AttrInt},
		{Key: "float", Value: "2.5", Type: op.AttrFloat}, {Key: "flag", Value: "true", Type: op.AttrBool},
		{Key: "list", Value: `["a","b"]`, Type: op.AttrJSON}, {Key: "nested", Value: `[[0.5],["x"]]`, Type: op.AttrJSON},
		{Key: "flags", Value: "[true]", Type: op.AttrJSON}, {Key: "map", Value: `{"k":1}`, Type: op.AttrJSON},
	}
	if diff := cmp.Diff(want, got.Attrs); diff != "" {
		t.Errorf("attributes kept (-want +got):\n%s", diff)
	}
	if _, ok := convert.New(nil, 1<<10).Entry(d, span.Root{}); ok {
		t.Error("an alias holds without its mapping")
	}
}

// Times are kept as far as they fit into nanoseconds of 64 bits, in whole seconds.
func TestEntryTimes(t *testing.T) {
	c := convert.New(nil, 0)
	for _, tt := range []struct {
		seconds int64
		known   bool
	}{
		{0, true}, {-9223372036, true}, {-9223372037, false}, {9223372035, true}, {9223372036, false},
	} {
		d := data(spantest.Operation(0))
		d.Start = time.Unix(tt.seconds, 0)
		d.End = d.Start
		e, _ := c.Entry(d, span.Root{})
		if e.Start.Known != tt.known || tt.known && e.Start.V != tt.seconds*1e9 || (e.Warn&op.WarnBadTime != 0) == tt.known {
			t.Errorf("second %d: start %v, warnings %v", tt.seconds, e.Start, e.Warn)
		}
	}
}

// A resource is converted once, also when others come in between.
func TestResourceIsConvertedOnce(t *testing.T) {
	c := convert.New(nil, 0)
	first := resource.NewSchemaless(attribute.String("service.name", "first"))
	was := c.Resource(first)
	for i := range 10 {
		c.Resource(resource.NewSchemaless(attribute.Int("n", i)))
	}
	if now := c.Resource(first); now != was || now.Service != "first" {
		t.Errorf("the resource is %+v at %p, was at %p", now, now, was)
	}
}

// Lists are read down to a limited depth, whatever a span holds.
func TestEntryDepth(t *testing.T) {
	var m attr.Mapping
	m.Keep("nested")
	c := convert.New(&m, 1<<10)
	m.Keep("map")
	for _, tt := range []struct {
		depth int
		want  string
	}{
		{1, `{"k":7}`}, {3, `{"k":{"k":{"k":7}}}`}, {4, `{"k":{"k":{"k":{"k":7}}}}`}, {5, `{"k":{"k":{"k":{"k":null}}}}`},
		{50, `{"k":{"k":{"k":{"k":null}}}}`},
	} {
		v := attribute.IntValue(7)
		for range tt.depth {
			v = attribute.MapValue(attribute.KeyValue{Key: "k", Value: v})
		}
		e, ok := c.Entry(operation(tensorconv.OpName("matmul"), attribute.KeyValue{Key: "map", Value: v}), span.Root{})
		if !ok {
			t.Fatalf("depth %d: an operation has no entry", tt.depth)
		}
		if diff := cmp.Diff([]op.Attr{{Key: "map", Value: tt.want, Type: op.AttrJSON}}, e.Attrs); diff != "" {
			t.Errorf("maps of depth %d kept (-want +got):\n%s", tt.depth, diff)
		}
	}
	for _, tt := range []struct {
		depth int
		want  string
	}{
		{1, "[7]"},
		{4, "[[[[7]]]]"},
		{5, "[[[[null]]]]"},
		{1000, "[[[[null]]]]"},
	} {
		v := attribute.Int64SliceValue([]int64{7})
		for range tt.depth - 1 {
			v = attribute.SliceValue(v)
		}
		e, ok := c.Entry(operation(tensorconv.OpName("matmul"), attribute.KeyValue{Key: "nested", Value: v}), span.Root{})
		if !ok {
			t.Fatalf("depth %d: an operation has no entry", tt.depth)
		}
		if diff := cmp.Diff([]op.Attr{{Key: "nested", Value: tt.want, Type: op.AttrJSON}}, e.Attrs); diff != "" {
			t.Errorf("depth %d: attributes kept (-want +got):\n%s", tt.depth, diff)
		}
	}
}

func TestAncestor(t *testing.T) {
	plain := op.Span{
		Name: "POST /generate", TraceID: op.TraceID(spantest.TraceID(0)), SpanID: op.SpanID(spantest.SpanID(1 << 20)),
		Start: op.Known(spantest.Epoch.UnixNano()), Duration: int64(time.Second), Service: "trainer",
	}
	c := convert.New(nil, 1<<10)
	for _, tt := range []struct {
		name   string
		change func(*span.Data)
		want   func(*op.Span)
	}{
		{"request", func(*span.Data) {}, func(*op.Span) {}},
		{
			"local parent", func(d *span.Data) { d.Parent = spantest.SpanContext(0, 3) },
			func(s *op.Span) { s.ParentSpanID = op.SpanID(spantest.SpanID(3)) },
		},
		{
			"remote parent", func(d *span.Data) { d.Parent = spantest.SpanContext(0, 3).WithRemote(true) },
			func(s *op.Span) { s.ParentSpanID, s.RemoteParent = op.SpanID(spantest.SpanID(3)), true },
		},
		{
			"error", func(d *span.Data) { d.Status.Code = codes.Error },
			func(s *op.Span) { s.Failed = true },
		},
		{
			"link", func(d *span.Data) { d.Links = []sdktrace.Link{{SpanContext: spantest.SpanContext(4, 5)}} },
			func(s *op.Span) {
				s.Links = []op.Link{{TraceID: op.TraceID(spantest.TraceID(4)), SpanID: op.SpanID(spantest.SpanID(5))}}
			},
		},
		{
			"end before the start", func(d *span.Data) { d.End = d.Start.Add(-time.Second) },
			func(s *op.Span) { s.Duration = 0 },
		},
		{
			"no start", func(d *span.Data) { d.Start = time.Time{} },
			func(s *op.Span) { s.Start, s.Duration = op.Int{}, 0 },
		},
		{
			"no resource", func(d *span.Data) { d.Resource = nil },
			func(s *op.Span) { s.Service = "" },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := plain
			tt.want(&want)
			d := data(spantest.Request())
			tt.change(d)
			if diff := cmp.Diff(&want, c.Ancestor(d)); diff != "" {
				t.Errorf("ancestry record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResource(t *testing.T) {
	c := convert.New(nil, 1<<10)
	r := resource.NewSchemaless(attribute.String(attrkey.ServiceName, "trainer"), tensorconv.Rank(3), tensorconv.WorldSize(8),
		attribute.String("host.name", "n1"), attribute.Int64Slice("gpus", []int64{0, 1}))
	first := c.Resource(r)
	want := &op.Resource{
		Service: "trainer", Rank: op.Known(3), WorldSize: op.Known(8), Host: "n1",
		Attrs: []op.Attr{{Key: "gpus", Value: "[0,1]", Type: op.AttrJSON}, {Key: "host.name", Value: "n1"}},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	if c.Resource(r) != first {
		t.Error("a resource is converted twice")
	}
	if diff := cmp.Diff(&op.Resource{}, c.Resource(nil)); diff != "" {
		t.Errorf("no resource (-want +got):\n%s", diff)
	}
	// Each resource a different one, as of a program that makes many providers.
	for i := range 1000 {
		if got := c.Resource(resource.NewSchemaless(tensorconv.Rank(int64(i)))); got.Rank != op.Known(int64(i)) {
			t.Fatalf("resource %d has rank %v", i, got.Rank)
		}
	}
	again := c.Resource(r)
	if again == first {
		t.Error("the cache of resources has no bound")
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("resource after many others (-want +got):\n%s", diff)
	}
}

// BenchmarkEntry converts spans of several operations, shapes and resources that
// alternate.
func BenchmarkEntry(b *testing.B) {
	names := []string{"matmul", "layer_norm", "softmax", "all_reduce", "conv2d"}
	spans := make([]*span.Data, 1000)
	for i := range spans {
		stub := spantest.Operation(i)
		rows, columns := int64(1+i%37), int64(64<<(i%5))
		stub.Attributes = []attribute.KeyValue{
			tensorconv.OpName(names[i%len(names)]), tensorconv.DeviceID("cuda:0"), tensorconv.DType(op.F32),
			tensorconv.InputShapes([]int64{rows, columns}, []int64{columns, 256}), tensorconv.OutputShape(rows, 256),
			tensorconv.Step(int64(i / 100)),
		}
		if i%3 == 0 {
			stub.Resource = spantest.Service("evaluator")
		}
		spans[i] = data(stub)
	}
	root := span.Root{Name: "POST /generate", ID: op.SpanID(spantest.SpanID(1 << 20))}
	c := convert.New(nil, 1<<10)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := c.Entry(spans[i%len(spans)], root); !ok {
			b.Fatal("an operation has no entry")
		}
	}
}
