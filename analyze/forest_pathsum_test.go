package analyze

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

func TestCriticalPathSummary(t *testing.T) {
	gpu := DeviceKey{DeviceID: "cuda:0"}
	forest := addTo(NewForest(),
		// request 10, matmul 30, all_reduce 20, request 40
		spanAt("request", 1, 0, 0, 100).of("a"), opAt("matmul", 2, 1, 10, 40), opAt("all_reduce", 3, 1, 40, 60).as(op.KindCollective),
		// request 10, matmul 20, aten::mm 10, matmul 20: the same name, another service
		spanAt("request", 1, 0, 0, 60).in(2).of("b"), opAt("matmul", 2, 1, 10, 60).in(2), opAt("aten::mm", 3, 2, 30,
			40).in(2).on("cpu").fromHost(),
		// load 10, idle 10, copy 20
		opAt("load", 1, 0, 0, 10).in(3).on("").as(op.KindIO), opAt("copy", 2, 0, 20, 40).in(3).as(op.KindMemory),
	)
	want := &PathSummary{
		Paths:      3,
		DurationNS: 200,
		BoundBy:    BoundBy{ComputeNS: 70, CommunicationNS: 20, MemoryNS: 20, OtherNS: 10, HostNS: 70, IdleNS: 10},
		Shares: []PathShare{
			{Operation: "matmul", Kind: "compute", DeviceKey: gpu, TimeNS: 70, Share: 0.35, Segments: 3},
			{Operation: "request", Kind: KindHost, TimeNS: 60, Share: 0.3, Segments: 3},
			{Operation: "all_reduce", Kind: "collective", DeviceKey: gpu, TimeNS: 20, Share: 0.1, Segments: 1},
			{Operation: "copy", Kind: "memory", DeviceKey: gpu, TimeNS: 20, Share: 0.1, Segments: 1},
			{Operation: "", Kind: KindIdle, TimeNS: 10, Share: 0.05, Segments: 1},
			{Operation: "aten::mm", Kind: KindHost, DeviceKey: DeviceKey{DeviceID: "cpu"}, TimeNS: 10, Share: 0.05, Segments: 1},
			{Operation: "load", Kind: "io", DeviceKey: DeviceKey{DeviceID: UnknownDevice}, TimeNS: 10, Share: 0.05, Segments: 1},
		},
		Edges: PathEdges{Tree: 6},
	}
	if diff := cmp.Diff(want, forest.criticalPathSummary()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestCriticalPathSummaryOfNothing(t *testing.T) {
	want := &PathSummary{Shares: []PathShare{}}
	if diff := cmp.Diff(want, NewForest().criticalPathSummary()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}
