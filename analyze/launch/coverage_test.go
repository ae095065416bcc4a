package launch

import (
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

// kernels returns operations of one launch, of a graph if it has a number or call.
func kernels(n int, launch, step int64, attrs ...op.Attr) (list []op.Entry) {
	for range n {
		list = append(list, op.Entry{Operation: "k", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(0),
			Start: op.Known(launch + 5), Duration: 1, Launch: op.Known(launch), Step: op.Known(step), Attrs: attrs})
	}
	return list
}

func TestCoverageCountsRecordedAndLostWork(t *testing.T) {
	graph := op.Attr{Key: "graph id", Value: "3", Type: op.AttrInt}
	hip := op.Attr{Key: "tensor.launch.call", Value: "hipGraphLaunch"}
	host := op.Entry{Operation: "aten::mm", Side: op.SideHost, Rank: op.Known(0), Step: op.Known(9)}
	copied := kernels(1, 50, 1)
	copied[0].Kind = op.KindMemory
	join := func(lists ...[]op.Entry) (all []op.Entry) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	type told struct {
		Coverage *Coverage
		Text     string
		Doubtful bool
	}
	all := make(map[string]told)
	for name, test := range map[string]struct {
		entries []op.Entry
		un      map[string]int64
	}{
		"nothing":      {},
		"all recorded": {join(kernels(1, 10, 1), kernels(2, 20, 2), copied), nil},
		"lost launches": {join(kernels(1, 10, 1), kernels(1, 20, 1), []op.Entry{host}),
			map[string]int64{"launch_without_operation": 3}},
		"a step that launches nothing": {join(kernels(2, 10, 1), []op.Entry{host}), nil},
		"few lost launches": {kernels(2, 10, 1),
			map[string]int64{"captured_launch": 60, "launch_without_operation": 1}},
		"replays": {join(kernels(4, 10, 1, graph), kernels(4, 20, 2, graph), kernels(2, 30, 3, graph)),
			map[string]int64{"graph_launch_without_operation": 1, "step_without_operation": 1}},
		"graphs without numbers": {join(kernels(4, 10, 1, hip), kernels(1, 20, 2, hip), kernels(5, 30, 3, hip)), nil},
	} {
		c := CoverageOf(forestOf(test.entries), test.un)
		all[name] = told{c, c.Text(), c.Doubtful()}
	}
	golden.JSON(t, "testdata/coverage.json", all)
	part := &Coverage{Ranks: 2, WorldSize: op.Known(128), SampledShare: op.KnownFloat(0.1)}
	check.Equal(t, "a part", "2 of 128 ranks are in the input; 10.0 % of all operations were sampled.", part.Text())
	part.OfPart = true
	check.Equal(t, "a part of the operations", "", part.Text())
	part.LaunchesWithoutOperation = 1
	check.Equal(t, "a part of the launches",
		"Launches have no operation in the recording; how many of this part is not known.", part.Text())
}
