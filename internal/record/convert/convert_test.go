package convert_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/tensorconv"
)

func data(stub tracetest.SpanStub) *span.Data {
	d := span.Read(stub.Snapshot(), stub.SpanContext, stub.Parent)
	return &d
}

// operation returns the data of the first operation with the attributes given instead of its own.
func operation(attrs ...attribute.KeyValue) *span.Data {
	stub := spantest.Operation(0)
	stub.Attributes = attrs
	return data(stub)
}

func TestEntryMapping(t *testing.T) {
	var m attr.Mapping
	m.Alias("engine.kernel", attrkey.Name)
	for _, key := range []string{"text", "number", "float", "flag", "list", "nested", "flags", "map"} {
		m.Keep(key)
	}
	d := operation(
		attribute.String("engine.kernel", "gemm"), attribute.String("text", "acme"), attribute.Int64("number", -1),
		attribute.Float64("float", 2.5), attribute.Bool("flag", true),
		attribute.StringSlice("list", []string{"a", "b"}),
		attribute.Slice("nested", attribute.Float64SliceValue([]float64{0.5}),
			attribute.SliceValue(attribute.StringValue("x"))),
		attribute.BoolSlice("flags", []bool{true}), attribute.Map("map", attribute.Int64("k", 1)),
		attribute.String("other", "x"))
	got, ok := convert.New(&m, 1<<10).Entry(d, span.Root{})
	if !ok || got.Operation != "gemm" {
		t.Fatalf("the entry is %+v", got)
	}
	want := []op.Attr{
		{Key: "text", Value: "acme"}, {Key: "number", Value: "-1", Type: op.AttrInt},
		{Key: "float", Value: "2.5", Type: op.AttrFloat}, {Key: "flag", Value: "true", Type: op.AttrBool},
		{Key: "list", Value: `["a","b"]`, Type: op.AttrJSON}, {Key: "nested", Value: `[[0.5],["x"]]`,
			Type: op.AttrJSON},
		{Key: "flags", Value: "[true]", Type: op.AttrJSON}, {Key: "map", Value: `{"k":1}`, Type: op.AttrJSON},
	}
	check.Equal(t, "attributes kept", want, got.Attrs)
	if _, ok := convert.New(nil, 1<<10).Entry(d, span.Root{}); ok {
		t.Error("an alias holds without its mapping")
	}
}

// For any spans, a Converter's result is valid, survives a round trip, and does not depend on earlier spans.
func FuzzConverter(f *testing.F) {
	for seed := range uint64(20) {
		random := rand.NewChaCha8([32]byte{byte(seed)})
		first := make([]byte, 600)
		second := make([]byte, 600)
		_, _ = random.Read(first)
		_, _ = random.Read(second)
		f.Add(first, second)
	}
	var m attr.Mapping
	m.Keep("kept")
	m.Alias("aliased", attrkey.InputShapes)
	keys := []string{
		attrkey.InputShapes, attrkey.InputDTypes, attrkey.OutputShape, attrkey.DType, attrkey.Device, attrkey.Stream,
		attrkey.Memory, attrkey.Collective, attrkey.Group, attrkey.Rank, attrkey.InputShape(0),
		attrkey.InputShape(2), "pytorch.input_shapes", "pytorch.input_dtypes", "pytorch.device.type",
		"pytorch.device.index", "pytorch.device_memory_usage_bytes", "op", "kept", "aliased",
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		convertOne := func(c *convert.Converter, random []byte) (*op.Entry, *op.Span) {
			d := data((&spantest.Random{Data: random, Keys: keys}).Span())
			e, ok := c.Entry(d, span.Root{})
			if !ok {
				return nil, c.Ancestor(d)
			}
			check.OK(t, e.Validate())
			line := e.AppendJSON(nil)
			back := check.Must(entries.DecodeLine(line))(t).Entry
			check.Equal(t, "written and read", string(line), string(back.AppendJSON(nil)))
			return e, nil
		}
		used := convert.New(&m, 1<<10)
		convertOne(used, first)
		entry, ancestor := convertOne(used, second)
		wantEntry, wantAncestor := convertOne(convert.New(&m, 1<<10), second)
		check.Equal(t, "entry", wantEntry, entry)
		check.Equal(t, "ancestry record", wantAncestor, ancestor)
	})
}

// Times are kept if they fit into nanoseconds of 64 bits, in whole seconds. Durations use the monotonic clock if the
// times have it.
func TestEntryTimes(t *testing.T) {
	now := spantest.Epoch
	read := time.Now()
	unix := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	known := func(at time.Time) op.Int { return op.Known(at.UnixNano()) }
	c := convert.New(nil, 0)
	for name, tt := range map[string]struct {
		start, end time.Time
		want       op.Int
		duration   int64
		warn       op.Warning
	}{
		"end before start":  {now, now.Add(-5 * time.Second), known(now), 0, op.WarnNegativeDuration},
		"zero duration":     {now, now, known(now), 0, 0},
		"nanoseconds":       {now, now.Add(125), known(now), 125, 0},
		"monotonic":         {read, read.Add(1234), known(read), 1234, 0},
		"no times":          {time.Time{}, time.Time{}, op.Int{}, 0, op.WarnBadTime},
		"no start":          {time.Time{}, now, op.Int{}, 0, op.WarnBadTime},
		"no end":            {now, time.Time{}, known(now), 0, op.WarnBadTime},
		"after 2261":        {now, time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), known(now), 0, op.WarnBadTime},
		"1970":              {unix(0), unix(0).Add(9), op.Known(0), 9, 0},
		"before 1970":       {unix(-1), unix(-1).Add(9), op.Known(-1e9), 9, 0},
		"the first second":  {unix(-9223372036), unix(-9223372036), op.Known(-9223372036e9), 0, 0},
		"the one before":    {unix(-9223372037), unix(-9223372037), op.Int{}, 0, op.WarnBadTime},
		"the last second":   {unix(9223372035), unix(9223372035), op.Known(9223372035e9), 0, 0},
		"the one behind it": {unix(9223372036), unix(9223372036), op.Int{}, 0, op.WarnBadTime},
	} {
		d := data(spantest.Operation(0))
		d.Start = tt.start
		d.End = tt.end
		if e, _ := c.Entry(d, span.Root{}); e.Start != tt.want || e.Duration != tt.duration || e.Warn != tt.warn {
			t.Errorf("%s: start %v, duration %d, warnings %b; want %v, %d, %b", name, e.Start, e.Duration, e.Warn,
				tt.want, tt.duration, tt.warn)
		}
	}
}

// Values for the shapes of inputs beyond the cases of package optest.
func TestEntryShapes(t *testing.T) {
	ints := func(dims ...int64) attribute.Value { return attribute.Int64SliceValue(dims) }
	list := attribute.SliceValue
	deep := ints(2, 3)
	for range 50 {
		deep = list(deep)
	}
	c := convert.New(nil, 1<<10)
	for name, tt := range map[string]struct {
		value attribute.Value
		want  []op.Shape
		warn  op.Warning
	}{
		"nested values": {
			list(list(attribute.Int64Value(2), attribute.Float64Value(3)), attribute.StringValue("3x4")),
			[]op.Shape{{2, 3}, {3, 4}}, 0,
		},
		"texts":        {attribute.StringSliceValue([]string{"2x3"}), []op.Shape{{2, 3}}, 0},
		"bool within":  {list(attribute.BoolValue(true), ints(2, 3)), []op.Shape{nil, {2, 3}}, op.WarnBadShape},
		"bytes":        {attribute.ByteSliceValue([]byte{2, 3}), nil, op.WarnBadShape},
		"empty within": {list(attribute.Value{}, ints(2, 3)), []op.Shape{nil, {2, 3}}, 0},
		"empty":        {attribute.Value{}, nil, op.WarnBadShape},
		"map within":   {list(attribute.MapValue(), ints(2, 3)), []op.Shape{nil, {2, 3}}, op.WarnBadShape},
		"too deep":     {list(list(list(ints(2, 3)))), nil, op.WarnBadShape},
		"far too deep": {deep, nil, op.WarnBadShape},
	} {
		e, _ := c.Entry(operation(tensorconv.OpName("matmul"), attribute.KeyValue{Key: attrkey.InputShapes,
			Value: tt.value}), span.Root{})
		if diff := cmp.Diff(tt.want, e.InputShapes); diff != "" || e.Warn != tt.warn {
			t.Errorf("%s: warnings %b, want %b, input shapes (-want +got):\n%s", name, e.Warn, tt.warn, diff)
		}
	}
}

// Lists and maps are read down to a limited depth, whatever a span holds.
func TestEntryDepth(t *testing.T) {
	var m attr.Mapping
	m.Keep("nested")
	c := convert.New(&m, 1<<10)
	maps := func(v attribute.Value) attribute.Value {
		return attribute.MapValue(attribute.KeyValue{Key: "k", Value: v})
	}
	lists := func(v attribute.Value) attribute.Value { return attribute.SliceValue(v) }
	for _, tt := range []struct {
		wrap  func(attribute.Value) attribute.Value
		depth int
		want  string
	}{
		{maps, 1, `{"k":7}`}, {maps, 4, `{"k":{"k":{"k":{"k":7}}}}`}, {maps, 5, `{"k":{"k":{"k":{"k":null}}}}`},
		{maps, 50, `{"k":{"k":{"k":{"k":null}}}}`},
		{lists, 1, "[7]"}, {lists, 4, "[[[[7]]]]"}, {lists, 5, "[[[[null]]]]"}, {lists, 1000, "[[[[null]]]]"},
	} {
		v := attribute.IntValue(7)
		for range tt.depth {
			v = tt.wrap(v)
		}
		e, _ := c.Entry(operation(tensorconv.OpName("matmul"), attribute.KeyValue{Key: "nested", Value: v}),
			span.Root{})
		check.Equal(t, fmt.Sprintf("depth %d: attributes kept", tt.depth),
			[]op.Attr{{Key: "nested", Value: tt.want, Type: op.AttrJSON}}, e.Attrs)
	}
}

// The records of spans above operations are in testdata/ancestors.txt.
func TestAncestor(t *testing.T) {
	m := &attr.Mapping{}
	m.Keep("kept")
	c := convert.New(m, 1<<10)
	exception := sdktrace.Event{Name: "exception", Attributes: []attribute.KeyValue{attribute.String("exception.message",
		"no backend")}}
	parent := spantest.SpanContext(0, 3)
	var all strings.Builder
	for _, tt := range []struct {
		name   string
		change func(*span.Data)
	}{
		{"request", func(*span.Data) {}},
		{"local parent", func(d *span.Data) { d.Parent = parent }},
		{"remote parent", func(d *span.Data) { d.Parent = parent.WithRemote(true) }},
		{"error", func(d *span.Data) { d.Status.Code = codes.Error }},
		{"error with a text", func(d *span.Data) {
			d.Status = sdktrace.Status{Code: codes.Error, Description: "status 500"}
		}},
		{"error told by an exception", func(d *span.Data) {
			d.Status.Code, d.Events = codes.Error, []sdktrace.Event{exception}
		}},
		{"link", func(d *span.Data) { d.Links, d.DroppedLinks = []sdktrace.Link{{SpanContext: parent}}, 7 }},
		{"weights of a link", func(d *span.Data) {
			d.Links = []sdktrace.Link{{SpanContext: parent, Attributes: []attribute.KeyValue{
				attribute.Int(attrkey.LinkWeight, 5), attribute.String(attrkey.LinkAttention, "6"), attribute.Int("x", 7),
			}}}
		}},
		{"more links than are kept", func(d *span.Data) {
			d.Links, d.DroppedLinks = slices.Repeat([]sdktrace.Link{{SpanContext: parent}}, op.MaxLinks+2), 7
		}},
		{"end before the start", func(d *span.Data) { d.End = d.Start.Add(-time.Second) }},
		{"no start", func(d *span.Data) { d.Start = time.Time{} }},
		{"attributes", func(d *span.Data) {
			d.Attrs = []attribute.KeyValue{attribute.String("kept", "x"), attribute.String("other", "y"),
				attribute.Int("gen_ai.usage.input_tokens", 7), attribute.String("kept", "z")}
		}},
		{"no resource", func(d *span.Data) { d.Resource = nil }},
	} {
		d := data(spantest.Request())
		tt.change(d)
		got := c.Ancestor(d)
		fmt.Fprintf(&all, "%s: %d links\n", tt.name, len(got.Links))
		got.Links = got.Links[:min(len(got.Links), 1)]
		fmt.Fprintf(&all, "\t%s\n", got.AppendJSON(nil))
	}
	golden.Check(t, "testdata/ancestors.txt", all.String())
}

func TestResource(t *testing.T) {
	c := convert.New(nil, 1<<10)
	r := resource.NewSchemaless(attribute.String(attrkey.ServiceName, "trainer"), tensorconv.Rank(3),
		tensorconv.WorldSize(8), attribute.String("host.name", "n1"), attribute.Int64Slice("gpus", []int64{0, 1}))
	first := c.Resource(r)
	want := &op.Resource{
		Service: "trainer", Rank: op.Known(3), WorldSize: op.Known(8), Host: "n1",
		Attrs: []op.Attr{{Key: "gpus", Value: "[0,1]", Type: op.AttrJSON}, {Key: "host.name", Value: "n1"}},
	}
	check.Equal(t, "resource", want, first)
	if c.Resource(r) != first {
		t.Error("a resource is converted twice")
	}
	check.Equal(t, "no resource", &op.Resource{}, c.Resource(nil))
	// Each resource differs, as in a program with many providers.
	for i := range 1000 {
		if got := c.Resource(resource.NewSchemaless(tensorconv.Rank(int64(i)))); got.Rank != op.Known(int64(i)) {
			t.Fatalf("resource %d has rank %v", i, got.Rank)
		}
	}
	again := c.Resource(r)
	if again == first {
		t.Error("the cache of resources has no bound")
	}
	check.Equal(t, "resource after many others", want, again)
}
