package tensorconv

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
)

// OpSideHost is tensor.op.side = "host", for the host's view of an operation whose work on the device is recorded separately.
// Such an operation takes no part in the sums of the device.
var OpSideHost = OpSideKey.String(op.SideHost.String())

// OpName returns tensor.op.name, the attribute that makes a span an operation.
func OpName(name string) attribute.KeyValue { return OpNameKey.String(name) }

// OpKind returns tensor.op.kind. Without it the kind is inferred from the name.
func OpKind(kind op.Kind) attribute.KeyValue { return OpKindKey.String(kind.String()) }

// OpPath returns tensor.op.path, the layer or module.
func OpPath(path string) attribute.KeyValue { return OpPathKey.String(path) }

// OpFLOPCount returns tensor.op.flop_count, the number of floating-point operations.
func OpFLOPCount(n int64) attribute.KeyValue { return OpFLOPCountKey.Int64(n) }

// DeviceID returns tensor.device.id, such as "cuda:0" or "cpu".
func DeviceID(id string) attribute.KeyValue { return DeviceIDKey.String(id) }

// StreamID returns tensor.stream.id, the queue of the device.
func StreamID(id int64) attribute.KeyValue { return StreamIDKey.Int64(id) }

// LaunchTime returns tensor.launch.time, when the host launched the operation on the device, in Unix nanoseconds.
func LaunchTime(unixNS int64) attribute.KeyValue { return LaunchTimeKey.Int64(unixNS) }

// ClockError returns tensor.clock.error: the operation's times come from the clock of a device, and are off by at most this
// many nanoseconds.
func ClockError(ns int64) attribute.KeyValue { return ClockErrorKey.Int64(ns) }

// Step returns tensor.step, the iteration.
func Step(n int64) attribute.KeyValue { return StepKey.Int64(n) }

// Phase returns tensor.phase, what the operation is part of, such as "prefill" or "backward".
func Phase(name string) attribute.KeyValue { return PhaseKey.String(name) }

// DType returns tensor.dtype, the element type of the output.
func DType(t op.DType) attribute.KeyValue { return DTypeKey.String(string(t)) }

// InputDTypes returns tensor.input.dtypes, the element type of each input.
func InputDTypes(types ...op.DType) attribute.KeyValue {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return InputDTypesKey.StringSlice(names)
}

// MemorySize returns tensor.memory.size in bytes. Without it the size follows from the shape and element type of the output.
func MemorySize(bytes int64) attribute.KeyValue { return MemorySizeKey.Int64(bytes) }

// CollectiveName returns tensor.collective.name, such as "all_reduce".
func CollectiveName(name string) attribute.KeyValue { return CollectiveNameKey.String(name) }

// CollectiveGroupName returns tensor.collective.group.name, the process group.
func CollectiveGroupName(name string) attribute.KeyValue { return CollectiveGroupNameKey.String(name) }

// CollectiveGroupSize returns tensor.collective.group.size, the number of ranks in the group.
func CollectiveGroupSize(n int64) attribute.KeyValue { return CollectiveGroupSizeKey.Int64(n) }

// CollectiveSequence returns tensor.collective.sequence, which together with the name of the group identifies one collective on
// all ranks.
func CollectiveSequence(n int64) attribute.KeyValue { return CollectiveSequenceKey.Int64(n) }

// CollectivePeerRank returns tensor.collective.peer_rank, the rank at the other end of a send or receive.
func CollectivePeerRank(rank int64) attribute.KeyValue { return CollectivePeerRankKey.Int64(rank) }

// CollectiveInElements returns tensor.collective.in_elements, the size of the message before the collective, in elements.
func CollectiveInElements(n int64) attribute.KeyValue { return CollectiveInElementsKey.Int64(n) }

// CollectiveOutElements returns tensor.collective.out_elements, the size of the message after the collective, in elements.
func CollectiveOutElements(n int64) attribute.KeyValue { return CollectiveOutElementsKey.Int64(n) }

// LinkWeight returns tensor.link.weight. It belongs on a span link: the part of the span's work that is done for the linked
// span, by the measure of the engine, such as tokens or rows.
func LinkWeight(n int64) attribute.KeyValue { return LinkWeightKey.Int64(n) }

// LinkWeightAttention returns tensor.link.weight.attention. It belongs on a span link, beside tensor.link.weight: the part of the
// span's attention that is done for the linked span, in pairs of queries and keys.
func LinkWeightAttention(n int64) attribute.KeyValue { return LinkWeightAttentionKey.Int64(n) }

// Link returns a link from a step that an engine runs for several requests to one of them: sc is the span of the request. weight is
// the part of the step that is done for it, by the measure of the engine, such as tokens or rows; 0 states none, and without
// weights all requests have equal parts. Further attributes may be [LinkWeightAttention].
func Link(sc trace.SpanContext, weight int64, more ...attribute.KeyValue) trace.Link {
	link := trace.Link{SpanContext: sc, Attributes: more}
	if weight != 0 {
		link.Attributes = append([]attribute.KeyValue{LinkWeight(weight)}, more...)
	}
	return link
}

// AttentionPairs returns how many pairs of queries and keys causal attention has of some tokens that follow others: the
// weight for attention of a request that reads them in a step.
func AttentionPairs(before, tokens int64) int64 { return tokens*before + tokens*(tokens+1)/2 }

// Rank returns tensor.rank, the process in a distributed job. It belongs on the resource.
func Rank(rank int64) attribute.KeyValue { return RankKey.Int64(rank) }

// WorldSize returns tensor.world_size, the number of ranks. It belongs on the resource.
func WorldSize(n int64) attribute.KeyValue { return WorldSizeKey.Int64(n) }
