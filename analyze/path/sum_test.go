package path

import (
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

func TestCriticalPathSummary(t *testing.T) {
	gpu := device.Key{DeviceID: "cuda:0"}
	forest := tracetest.AddTo(trace.New(),
		// request 10, matmul 30, all_reduce 20, request 40
		tracetest.SpanAt("request", 1, 0, 0, 100).Of("a"), tracetest.OpAt("matmul", 2, 1, 10, 40),
		tracetest.OpAt("all_reduce", 3, 1, 40, 60).As(op.KindCollective),
		// request 10, matmul 20, aten::mm 10, matmul 20: the same name, another service
		tracetest.SpanAt("request", 1, 0, 0, 60).In(2).Of("b"), tracetest.OpAt("matmul", 2, 1, 10, 60).In(2), tracetest.OpAt("aten::mm", 3, 2, 30,
			40).In(2).On("cpu").FromHost(),
		// load 10, idle 10, copy 20
		tracetest.OpAt("load", 1, 0, 0, 10).In(3).On("").As(op.KindIO), tracetest.OpAt("copy", 2, 0, 20, 40).In(3).As(op.KindMemory),
	)
	want := Summary{
		Paths:      3,
		DurationNS: 200,
		BoundBy:    BoundBy{ComputeNS: 70, CommunicationNS: 20, MemoryNS: 20, OtherNS: 10, HostNS: 70, IdleNS: 10},
		Edges:      Edges{Tree: 6},
	}
	shares := []Share{
		{Operation: "matmul", Kind: "compute", Key: gpu, TimeNS: 70, Share: 0.35, Segments: 3},
		{Operation: "request", Kind: KindHost, TimeNS: 60, Share: 0.3, Segments: 3},
		{Operation: "all_reduce", Kind: "collective", Key: gpu, TimeNS: 20, Share: 0.1, Segments: 1},
		{Operation: "copy", Kind: "memory", Key: gpu, TimeNS: 20, Share: 0.1, Segments: 1},
		{Operation: "", Kind: KindIdle, TimeNS: 10, Share: 0.05, Segments: 1},
		{Operation: "aten::mm", Kind: KindHost, Key: device.Key{DeviceID: "cpu"}, TimeNS: 10, Share: 0.05, Segments: 1},
		{Operation: "load", Kind: "io", Key: device.Key{DeviceID: device.Unknown}, TimeNS: 10, Share: 0.05, Segments: 1},
	}
	sum, none := sumAll(forest), sumAll(trace.New())
	check.Equal(t, "summary", want, sum.Summary())
	check.Equal(t, "shares", shares, sum.List())
	check.Equal(t, "summary of nothing", Summary{}, none.Summary())
	check.Equal(t, "shares of nothing", []Share{}, none.List())
}
