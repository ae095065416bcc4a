package tensorconv

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
)

// OpSideHost is tensor.op.side = "host": the host's view of an operation with separately recorded work on the device.
// The device's sums do not include it.
var OpSideHost = OpSideKey.String(op.SideHost.String())

// OpName returns tensor.op.name. A span with this attribute is an operation.
func OpName(name string) attribute.KeyValue { return OpNameKey.String(name) }

// OpKind returns tensor.op.kind. Without it readers infer the kind from the name.
func OpKind(kind op.Kind) attribute.KeyValue { return OpKindKey.String(kind.String()) }

// OpPath returns tensor.op.path, the layer or module.
func OpPath(path string) attribute.KeyValue { return OpPathKey.String(path) }

// OpFLOPCount returns tensor.op.flop_count, the number of floating-point operations.
func OpFLOPCount(n int64) attribute.KeyValue { return OpFLOPCountKey.Int64(n) }

// DeviceID returns tensor.device.id, such as "cuda:0" or "cpu".
func DeviceID(id string) attribute.KeyValue { return DeviceIDKey.String(id) }

// StreamID returns tensor.stream.id, the device's stream.
func StreamID(id int64) attribute.KeyValue { return StreamIDKey.Int64(id) }

// LaunchTime returns tensor.launch.time, the time of the host's launch in Unix nanoseconds.
func LaunchTime(unixNS int64) attribute.KeyValue { return LaunchTimeKey.Int64(unixNS) }

// ClockError returns tensor.clock.error, the largest error in nanoseconds of times from a device's clock.
func ClockError(ns int64) attribute.KeyValue { return ClockErrorKey.Int64(ns) }

// Step returns tensor.step, the iteration.
func Step(n int64) attribute.KeyValue { return StepKey.Int64(n) }

// Phase returns tensor.phase, such as "prefill" or "backward".
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

// MemorySize returns tensor.memory.size in bytes. The default follows from the output's shape and element type.
func MemorySize(bytes int64) attribute.KeyValue { return MemorySizeKey.Int64(bytes) }

// CollectiveName returns tensor.collective.name, such as "all_reduce".
func CollectiveName(name string) attribute.KeyValue { return CollectiveNameKey.String(name) }

// CollectiveGroupName returns tensor.collective.group.name, the process group.
func CollectiveGroupName(name string) attribute.KeyValue { return CollectiveGroupNameKey.String(name) }

// CollectiveGroupSize returns tensor.collective.group.size, the number of ranks in the group.
func CollectiveGroupSize(n int64) attribute.KeyValue { return CollectiveGroupSizeKey.Int64(n) }

// CollectiveSequence returns tensor.collective.sequence. With the group's name it identifies one collective on all ranks.
func CollectiveSequence(n int64) attribute.KeyValue { return CollectiveSequenceKey.Int64(n) }

// CollectivePeerRank returns tensor.collective.peer_rank, the other rank of a send or receive.
func CollectivePeerRank(rank int64) attribute.KeyValue { return CollectivePeerRankKey.Int64(rank) }

// CollectiveInElements returns tensor.collective.in_elements, the message's number of elements before the collective.
func CollectiveInElements(n int64) attribute.KeyValue { return CollectiveInElementsKey.Int64(n) }

// CollectiveOutElements returns tensor.collective.out_elements, the message's number of elements after the collective.
func CollectiveOutElements(n int64) attribute.KeyValue { return CollectiveOutElementsKey.Int64(n) }

// LinkWeight returns tensor.link.weight, for a span link: the share of the span's work for the linked span, in a unit
// of the engine such as tokens or rows.
func LinkWeight(n int64) attribute.KeyValue { return LinkWeightKey.Int64(n) }

// LinkWeightAttention returns tensor.link.weight.attention, for a span link with tensor.link.weight: the share of the
// span's attention for the linked span, in pairs of queries and keys.
func LinkWeightAttention(n int64) attribute.KeyValue { return LinkWeightAttentionKey.Int64(n) }

// Link returns a link from the step of a batch to the span sc of one of its requests. weight is the request's share of
// the step, in a unit of the engine such as tokens or rows. 0 sets no weight; without weights all requests have equal
// shares. more may hold [LinkWeightAttention].
func Link(sc trace.SpanContext, weight int64, more ...attribute.KeyValue) trace.Link {
	link := trace.Link{SpanContext: sc, Attributes: more}
	if weight != 0 {
		link.Attributes = append([]attribute.KeyValue{LinkWeight(weight)}, more...)
	}
	return link
}

// AttentionPairs returns the number of pairs of queries and keys in causal attention of tokens new tokens after before
// earlier ones: a request's weight for [LinkWeightAttention].
func AttentionPairs(before, tokens int64) int64 { return tokens*before + tokens*(tokens+1)/2 }

// Rank returns tensor.rank, the process in a distributed job, for the resource.
func Rank(rank int64) attribute.KeyValue { return RankKey.Int64(rank) }

// WorldSize returns tensor.world_size, the number of ranks, for the resource.
func WorldSize(n int64) attribute.KeyValue { return WorldSizeKey.Int64(n) }
