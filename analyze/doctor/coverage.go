package doctor

import (
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/units"
)

// Advice for lost launches, by the source of the recording.
const (
	tryPyTorch = "record fewer steps, torch.profiler.schedule(wait=1, warmup=1, active=2); or set " +
		"ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB in the file named by KINETO_CONFIG"
	tryNsight  = "nsys profile --trace=cuda,nvtx, for a shorter time"
	tryGraphs  = "nsys profile --cuda-graph-trace=node"
	tryCapture = "record a replay, after the capture of the graph has ended"
)

// coverage lists the gaps of the recording as a whole.
func (d *Doctor) coverage(env *analyze.Envelope) []Lack {
	lacks := append([]Lack{}, d.sampled(env)...)
	add := func(n int64, noun, lacking, try string) {
		if n > 0 {
			lacks = append(lacks, Lack{units.Plural(n, noun) + lacking, try})
		}
	}
	launches := tryPyTorch
	graphs := tryPyTorch
	if slices.Contains(env.Formats, "nsys") {
		launches = tryNsight
		graphs = tryGraphs
	}
	lost := env.Unrecorded[opmodel.LostLaunch]
	graphLaunches := env.Unrecorded[opmodel.LostGraphLaunch]
	add(lost, "launch", " of a kernel without an operation in the recording: idle times are not known", launches)
	add(graphLaunches, "graph replay", " without an operation in the recording: idle times are not known", graphs)
	add(env.Unrecorded[opmodel.CapturedLaunch], "launch", " captured into a graph that did not run", tryCapture)
	if ranks := int64(len(d.ranks)); ranks < env.WorldSize.V {
		in := " in the input, of " + units.Count(env.WorldSize.V)
		add(ranks, "rank", in, "optrace report with the files of all ranks")
	}
	if c := clocks.Apart(d.collectives, collective.FindJoins(d.collectives)); c != nil {
		lacks = append(lacks, Lack{c.Text(), "optrace report -align-clocks FILE…"})
	}
	return lacks
}
