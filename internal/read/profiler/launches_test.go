package profiler

import (
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestGapsCountLaunchesWithoutOperation(t *testing.T) {
	ran := Call{Name: "cudaLaunchKernel", Start: 10, Matched: true}
	lost := Call{Name: "cudaLaunchKernel", Start: 20}
	at := func(c Call, start int64) Call { c.Start = start; return c }
	queue := ran // still runs at the start of lost
	queue.End = 30
	begin := Call{Name: "hipStreamBeginCapture"}
	end := Call{Name: "hipStreamEndCapture"}
	one := []op.Gap{{Dropped: 1, Reason: "launch_without_operation"}}
	captured := []op.Gap{{Dropped: 1, Reason: "captured_launch"}}
	for _, test := range []struct {
		name       string
		calls      []Call
		operations bool
		want       []op.Gap
	}{
		{"all ran", []Call{ran, at(ran, 11)}, true, nil},
		{"lost", []Call{ran, lost}, true, one},
		{"operations of other launches only", []Call{lost}, true, nil},
		{"no operation", []Call{lost}, false, one},
		{"a graph", []Call{ran, {Name: "cudaGraphLaunch_ptsz"}}, true,
			[]op.Gap{{Dropped: 1, Reason: "graph_launch_without_operation"}}},
		{"calls that launch no work", []Call{ran, {Name: "cudaLaunchHostFunc"}, {Name: "cudaMemsetAsync"}}, true, nil},
		{"within a capture", []Call{ran, at(end, 21), lost, at(begin, 19)}, true, captured},
		{"behind a capture", []Call{ran, at(end, 19), lost, at(begin, 18)}, true, one},
		{"the recording begins within a capture", []Call{ran, lost, at(end, 21)}, true, captured},
		{"the recording ends within a capture", []Call{ran, lost, at(begin, 19)}, true, captured},
		{"a capture of another process", []Call{ran, lost, {Process: 1, Name: begin.Name}}, true, one},
		{"queued at the end", []Call{queue, lost, at(lost, 40)}, true, nil},
		{"behind the last operation", []Call{queue, at(lost, 40)}, true, one},
		{"in front of a launch that ran", []Call{at(queue, 25), lost}, true, one},
	} {
		var calls Calls
		for _, c := range test.calls {
			calls.Add(c)
		}
		check.Equal(t, test.name, test.want, calls.Gaps(test.operations, 0))
	}
}
