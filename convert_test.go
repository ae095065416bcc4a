package optrace_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

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
		export(t, exp, spans...)
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

// The SDK's spans mean what those of all other sources mean. The entries come
// from the converter itself: what is written leaves out what readers infer.
func TestConformance(t *testing.T) {
	conv := optrace.NewConverter(nil)
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		t.Helper()
		return conv.Entry(sdkStub(t, c.Span).Snapshot())
	})
}

// sdkStub returns a span of a conformance case as the SDK has it.
func sdkStub(t *testing.T, s optest.Span) tracetest.SpanStub {
	t.Helper()
	state, err := trace.ParseTraceState(s.TraceState)
	if err != nil {
		t.Skipf("the SDK does not take the trace state: %v", err)
	}
	stub := tracetest.SpanStub{
		Name: s.Name,
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID(s.TraceID), SpanID: trace.SpanID(s.SpanID), TraceState: state,
		}),
		Parent:            trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(s.TraceID), SpanID: trace.SpanID(s.ParentSpanID)}),
		StartTime:         sdkTime(s.Start),
		EndTime:           sdkTime(s.End),
		Attributes:        sdkAttributes(t, s.Attributes),
		DroppedAttributes: int(s.Dropped),
		DroppedLinks:      int(s.DroppedLinks),
	}
	for _, l := range s.Links {
		stub.Links = append(stub.Links, sdktrace.Link{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(l.TraceID), SpanID: trace.SpanID(l.SpanID)}),
			Attributes:  sdkAttributes(t, l.Attributes),
		})
	}
	stub.InstrumentationScope.Name = s.Scope
	if s.Resource != nil {
		stub.Resource = resource.NewSchemaless(sdkAttributes(t, s.Resource)...)
	}
	if s.Failed {
		stub.Status = sdktrace.Status{Code: codes.Error, Description: s.Error}
	}
	return stub
}

func sdkTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func sdkAttributes(t *testing.T, attrs []optest.Attr) []attribute.KeyValue {
	t.Helper()
	out := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		out[i] = attribute.KeyValue{Key: attribute.Key(a.Key), Value: sdkValue(t, a.Value)}
	}
	return out
}

func sdkValue(t *testing.T, v any) attribute.Value {
	t.Helper()
	switch v := v.(type) {
	case string:
		return attribute.StringValue(v)
	case int64:
		return attribute.Int64Value(v)
	case float64:
		return attribute.Float64Value(v)
	case bool:
		return attribute.BoolValue(v)
	case []string:
		return attribute.StringSliceValue(v)
	case []int64:
		return attribute.Int64SliceValue(v)
	case []float64:
		return attribute.Float64SliceValue(v)
	case []bool:
		return attribute.BoolSliceValue(v)
	case optest.List:
		values := make([]attribute.Value, len(v))
		for i, e := range v {
			values[i] = sdkValue(t, e)
		}
		return attribute.SliceValue(values...)
	case optest.Map:
		return attribute.MapValue(sdkAttributes(t, v)...)
	}
	t.Fatalf("no attribute value for a %T", v)
	return attribute.Value{}
}
