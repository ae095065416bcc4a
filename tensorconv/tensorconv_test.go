package tensorconv_test

import (
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The keys are a contract with other instrumentation and readers.
func TestAttributes(t *testing.T) {
	tests := []struct {
		kv    attribute.KeyValue
		key   string
		value attribute.Value
	}{
		{tensorconv.OpName("matmul"), "tensor.op.name", attribute.StringValue("matmul")},
		{tensorconv.OpKind(op.KindMemory), "tensor.op.kind", attribute.StringValue("memory")},
		{tensorconv.OpPath("encoder.0"), "tensor.op.path", attribute.StringValue("encoder.0")},
		{tensorconv.OpFLOPCount(7), "tensor.op.flop_count", attribute.Int64Value(7)},
		{tensorconv.OpSideHost, "tensor.op.side", attribute.StringValue("host")},
		{tensorconv.DeviceID("cuda:0"), "tensor.device.id", attribute.StringValue("cuda:0")},
		{tensorconv.StreamID(3), "tensor.stream.id", attribute.Int64Value(3)},
		{tensorconv.LaunchTime(1_700_000_000_000_000_000), "tensor.launch.time",
			attribute.Int64Value(1_700_000_000_000_000_000)},
		{tensorconv.ClockError(2000), "tensor.clock.error", attribute.Int64Value(2000)},
		{tensorconv.Step(12), "tensor.step", attribute.Int64Value(12)},
		{tensorconv.DType(op.F32), "tensor.dtype", attribute.StringValue("f32")},
		{tensorconv.InputDTypes(op.F32, op.I64), "tensor.input.dtypes",
			attribute.StringSliceValue([]string{"f32", "i64"})},
		{tensorconv.InputShapes(), "tensor.input.shapes", attribute.SliceValue()},
		{
			tensorconv.InputShapes([]int64{2, 3}, []int64{}, nil), "tensor.input.shapes",
			attribute.SliceValue(attribute.Int64SliceValue([]int64{2, 3}), attribute.Int64SliceValue(nil),
				attribute.Value{}),
		},
		{
			tensorconv.InputShapesText([]int64{2, 3}, []int64{}, nil, []int64{-1, 3}, []int64{7}),
			"tensor.input.shapes",
			attribute.StringSliceValue([]string{"2x3", "[]", "?", "[-1,3]", "7"}),
		},
		{tensorconv.InputShapeAt(11, 2, 3), "tensor.input.11.shape", attribute.Int64SliceValue([]int64{2, 3})},
		{tensorconv.OutputShape(2, 3), "tensor.output.shape", attribute.Int64SliceValue([]int64{2, 3})},
		{tensorconv.OutputShape(), "tensor.output.shape", attribute.Int64SliceValue(nil)},
		{tensorconv.OutputElements(6), "tensor.output.elements", attribute.Int64Value(6)},
		{tensorconv.MemorySize(24), "tensor.memory.size", attribute.Int64Value(24)},
		{tensorconv.CollectiveName("all_reduce"), "tensor.collective.name", attribute.StringValue("all_reduce")},
		{tensorconv.CollectiveGroupName("dp"), "tensor.collective.group.name", attribute.StringValue("dp")},
		{tensorconv.CollectiveGroupSize(8), "tensor.collective.group.size", attribute.Int64Value(8)},
		{tensorconv.CollectiveSequence(4), "tensor.collective.sequence", attribute.Int64Value(4)},
		{tensorconv.CollectivePeerRank(1), "tensor.collective.peer_rank", attribute.Int64Value(1)},
		{tensorconv.CollectiveInElements(5), "tensor.collective.in_elements", attribute.Int64Value(5)},
		{tensorconv.CollectiveOutElements(6), "tensor.collective.out_elements", attribute.Int64Value(6)},
		{tensorconv.LinkWeight(9), "tensor.link.weight", attribute.Int64Value(9)},
		{tensorconv.LinkWeightAttention(9), "tensor.link.weight.attention", attribute.Int64Value(9)},
		{tensorconv.Rank(2), "tensor.rank", attribute.Int64Value(2)},
		{tensorconv.WorldSize(4), "tensor.world_size", attribute.Int64Value(4)},
	}
	for _, tt := range tests {
		if string(tt.kv.Key) != tt.key || tt.kv.Value != tt.value {
			t.Errorf("%s is %v of %s, want %v of %s", tt.kv.Key, tt.kv.Value, tt.kv.Value.Type(), tt.value,
				tt.value.Type())
		}
	}
}

// A link has a weight unless that is 0.
func TestLink(t *testing.T) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	for weight, want := range map[int64][]attribute.KeyValue{0: nil, 9: {tensorconv.LinkWeight(9)}} {
		if l := tensorconv.Link(sc, weight); !l.SpanContext.Equal(sc) || !slices.Equal(l.Attributes, want) {
			t.Errorf("weight %d: %+v", weight, l)
		}
	}
}

// A link keeps further attributes. AttentionPairs counts the pairs of causal attention.
func TestLinkAttention(t *testing.T) {
	for before := range int64(5) {
		for tokens := range int64(5) {
			pairs := int64(0)
			for i := range tokens {
				pairs += before + i + 1
			}
			check.Equal(t, fmt.Sprintf("%d tokens after %d: pairs", tokens, before), pairs,
				tensorconv.AttentionPairs(before, tokens))
		}
	}
	want := []attribute.KeyValue{tensorconv.LinkWeight(2), tensorconv.LinkWeightAttention(40)}
	l := tensorconv.Link(trace.SpanContext{}, 2, tensorconv.LinkWeightAttention(40))
	if !slices.Equal(l.Attributes, want) {
		t.Errorf("%+v", l)
	}
}

// Constructors copy dimensions.
func TestShapesAreCopied(t *testing.T) {
	dims := []int64{2, 3}
	kvs := []attribute.KeyValue{tensorconv.InputShapes(dims), tensorconv.OutputShape(dims...),
		tensorconv.InputShapeAt(0, dims...)}
	dims[0] = 99
	want := []attribute.KeyValue{tensorconv.InputShapes([]int64{2, 3}), tensorconv.OutputShape(2, 3),
		tensorconv.InputShapeAt(0, 2, 3)}
	for i := range kvs {
		if kvs[i] != want[i] {
			t.Errorf("%s is %v after its dimensions changed, want %v", kvs[i].Key, kvs[i].Value, want[i].Value)
		}
	}
}
