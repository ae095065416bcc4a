package launch

import (
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
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
	for _, test := range []struct {
		name    string
		entries []op.Entry
		un      map[string]int64
		want    Coverage
		text    string
		doubt   bool
	}{
		{"nothing", nil, nil, Coverage{}, "", false},
		{"all recorded", join(kernels(1, 10, 1), kernels(2, 20, 2), copied), nil,
			Coverage{Launches: 2, Steps: 2, Ranks: 1}, "", false},
		{
			"lost launches", join(kernels(1, 10, 1), kernels(1, 20, 1),
				[]op.Entry{host}), map[string]int64{"launch_without_operation": 3},
			Coverage{Launches: 5, LaunchesWithoutOperation: 3, Steps: 2, StepsWithoutDeviceWork: 1, Ranks: 1},
			"3 of 5 launches have no operation in the recording; 1 of 2 steps has device work.", true,
		},
		{"a step that launches nothing", join(kernels(2, 10, 1), []op.Entry{host}), nil,
			Coverage{Launches: 1, Steps: 2, StepsWithoutDeviceWork: 1, Ranks: 1}, "", false},
		{
			"few lost launches", kernels(2, 10, 1), map[string]int64{"captured_launch": 60,
				"launch_without_operation": 1},
			Coverage{Launches: 62, LaunchesWithoutOperation: 1, LaunchesCaptured: 60, Steps: 1, Ranks: 1},
			"1 of 62 launches has no operation in the recording; 60 of 62 launches were captured into a graph and did " +
				"not run.", true,
		},
		{
			"replays", join(kernels(4, 10, 1, graph), kernels(4, 20, 2, graph), kernels(2, 30, 3, graph)),
			map[string]int64{"graph_launch_without_operation": 1, "step_without_operation": 1},
			Coverage{Launches: 4, LaunchesWithoutOperation: 1, GraphReplays: 4, GraphReplaysWhole: 2, Steps: 4,
				StepsWithoutDeviceWork: 1, Ranks: 1,
				Corrected: &Correction{Refused: "the times of the missing launches are not known"}},
			"1 of 4 launches has no operation in the recording; 2 of 4 graph replays are whole; 3 of 4 steps have " +
				"device work. Busy and idle time cannot be corrected: the times of the missing launches are not " +
				"known.", true,
		},
		{
			"graphs without numbers", join(kernels(4, 10, 1, hip), kernels(1, 20, 2, hip), kernels(5, 30, 3, hip)),
			nil, Coverage{Launches: 3, GraphReplays: 3, GraphReplaysWhole: 2, Steps: 3, Ranks: 1,
				Corrected: &Correction{Refused: "too few replays of a graph are whole"}},
			"2 of 3 graph replays are whole. Busy and idle time cannot be corrected: too few replays of a graph " +
				"are whole.", true,
		},
	} {
		c := CoverageOf(forestOf(test.entries), test.un)
		check.Equal(t, test.name, test.want, *c)
		check.Equal(t, test.name, test.text, c.Text())
		check.Equal(t, test.name, test.doubt, c.Doubtful())
	}
	part := &Coverage{Ranks: 2, WorldSize: op.Known(128), SampledShare: op.KnownFloat(0.1)}
	check.Equal(t, "a part", "2 of 128 ranks are in the input; 10.0 % of all operations were sampled.", part.Text())
	part.OfPart = true
	check.Equal(t, "a part of the operations", "", part.Text())
	part.LaunchesWithoutOperation = 1
	check.Equal(t, "a part of the launches",
		"Launches have no operation in the recording; how many of this part is not known.", part.Text())
}
