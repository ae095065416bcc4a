package launch

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Coverage counts the work of a run and how much of it the input has.
type Coverage struct {
	// Launches counts launches of kernels and graphs, LaunchesWithoutOperation the ones without an operation.
	// LaunchesCaptured of them were captured into a graph and did not run.
	Launches                 int64 `json:"launches"`
	LaunchesWithoutOperation int64 `json:"launches_without_operation"`
	LaunchesCaptured         int64 `json:"launches_captured"`
	// GraphReplays counts launches of graphs. A whole replay has the median number of operations of its graph, or more.
	// Half of it is enough for graphs without numbers.
	GraphReplays      int64 `json:"graph_replays"`
	GraphReplaysWhole int64 `json:"graph_replays_whole"`
	// Steps counts the steps of each rank.
	Steps                  int64 `json:"steps"`
	StepsWithoutDeviceWork int64 `json:"steps_without_device_work"`
	// Ranks counts the ranks in the input, WorldSize the ranks of the job.
	Ranks     int64  `json:"ranks"`
	WorldSize op.Int `json:"world_size"`
	// SampledShare is the share of the operations in the input, unknown without sampling weights.
	SampledShare op.Float `json:"sampled_share"`
	// Corrected has the times of devices with the missing replays, nil if no replay is missing.
	Corrected *Correction `json:"corrected,omitzero"`
	// OfPart is set if the recorded work is only a part of the input, by a filter or the steady state. The counts do
	// not belong together then.
	OfPart bool `json:"-"`
}

// CoverageOf counts the work of f and the unrecorded work, given by the reasons of its gaps.
func CoverageOf(f *trace.Forest, unrecorded map[string]int64) *Coverage {
	f.Build()
	lost := unrecorded[opmodel.LostLaunch]
	graphs := unrecorded[opmodel.LostGraphLaunch]
	captured := unrecorded[opmodel.CapturedLaunch]
	steps := unrecorded[opmodel.EmptyStep]
	c := &Coverage{
		Launches: lost + graphs + captured, LaunchesWithoutOperation: lost + graphs, LaunchesCaptured: captured,
		GraphReplays: graphs, Steps: steps, StepsWithoutDeviceWork: steps,
	}
	ranks := make(map[op.Int]bool)
	for _, l := range f.Names.Lanes.Values {
		ranks[l.Device.Rank] = true
	}
	delete(ranks, op.Int{})
	c.Ranks = int64(len(ranks))
	var launched, stepped []int32
	processes := f.Processes()
	isLike := func(a, b int32) bool {
		return f.Step(a) == f.Step(b) && processes[f.Lane(a)] == processes[f.Lane(b)] && f.IsDeviceSide(a) == f.IsDeviceSide(b)
	}
	for r := range f.Rows() {
		if f.CountsInSums(r) && f.Has(r, trace.FlagStep) {
			if n := len(stepped); n < 2 || !isLike(r, stepped[n-1]) || !isLike(r, stepped[n-2]) { // two tell as much as many
				stepped = append(stepped, r)
			}
		}
		if f.IsDeviceSide(r) && f.Has(r, trace.FlagLaunch) && (f.Kind(r) != op.KindMemory || graphOf(f, r) != nil) {
			launched = append(launched, r)
		}
	}
	replays := c.countLaunches(f, launched)
	if graphs > 0 || c.GraphReplaysWhole < c.GraphReplays {
		c.Corrected = correct(f, replays, graphs, lost)
	}
	c.countSteps(f, stepped)
	return c
}

// graphOf returns the launching graph of row r, or nil.
func graphOf(f *trace.Forest, r int32) *trace.Graph {
	if _, g := f.Graph(r); g != nil && (g.ID != "" || g.Call != "") {
		return g
	}
	return nil
}

// runs splits rows into runs of one process with equal values.
func runs(f *trace.Forest, rows []int32, of func(r int32) int64) iter.Seq[[]int32] {
	processes := f.Processes()
	process := func(r int32) int32 { return processes[f.Lane(r)] }
	order.Rows(rows, of, func(a, b int32) int { return cmp.Compare(process(a), process(b)) })
	type key struct {
		process int32
		value   int64
	}
	return order.RunsOf(rows, func(r *int32) key { return key{process(*r), of(*r)} })
}

func (c *Coverage) countLaunches(f *trace.Forest, rows []int32) (recorded []replay) {
	processes := f.Processes()
	replays := make(map[graphKey][]int64) // the numbers of operations
	for run := range runs(f, rows, f.Launch) {
		c.Launches++
		first := slices.MinFunc(run, f.CompareStart)
		if g := graphOf(f, first); g != nil {
			k := graphKey{graph: g.ID}
			if g.ID == "" {
				k.first = f.Name(first)
			}
			replays[k] = append(replays[k], int64(len(run)))
			k.process = processes[f.Lane(first)]
			recorded = append(recorded, replay{graphKey: k, rows: run, launch: f.Launch(first)})
		}
	}
	for k, counts := range replays {
		slices.Sort(counts)
		whole := counts[len(counts)/2]
		if k.graph == "" { // several graphs may begin alike
			whole = (whole + 1) / 2
		}
		at, _ := slices.BinarySearch(counts, whole)
		c.GraphReplays += int64(len(counts))
		c.GraphReplaysWhole += int64(len(counts) - at)
	}
	return recorded
}

// countSteps counts the steps of rows. If no step has several operations, the numbers are ordinals and no steps.
func (c *Coverage) countSteps(f *trace.Forest, rows []int32) {
	several := false
	steps := int64(0)
	without := int64(0)
	for run := range runs(f, rows, f.Step) {
		several = several || len(run) > 1
		if steps++; !slices.ContainsFunc(run, f.IsDeviceSide) {
			without++
		}
	}
	if several {
		c.Steps += steps
		c.StepsWithoutDeviceWork += without
	}
}

// Doubtful reports whether too much work is missing to know idle times and the bound of the run.
func (c *Coverage) Doubtful() bool {
	isPart := func(n, all int64) bool { return n > 0 && 100*n >= 3*all }
	return isPart(c.LaunchesWithoutOperation, c.Launches) || isPart(c.GraphReplays-c.GraphReplaysWhole, c.GraphReplays) ||
		4*c.LaunchesCaptured > c.Launches
}

// Text describes the missing work in one sentence, or returns "".
func (c *Coverage) Text() string {
	var lacks []string
	add := func(is bool, n, all int64, noun, one, several string) {
		if n != 1 {
			one = several
		}
		if is {
			lacks = append(lacks, units.Count(n)+" of "+units.Plural(all, noun)+" "+one)
		}
	}
	lost := c.LaunchesWithoutOperation
	captured := c.LaunchesCaptured
	add(lost > 0, lost, c.Launches, "launch", "has no operation in the recording", "have no operation in the recording")
	add(c.GraphReplaysWhole < c.GraphReplays, c.GraphReplaysWhole, c.GraphReplays, "graph replay", "is whole", "are whole")
	add(captured > 0, captured, c.Launches, "launch", "was captured into a graph and did not run",
		"were captured into a graph and did not run")
	without := c.StepsWithoutDeviceWork // a step may launch nothing
	add(without < c.Steps && (without > 0 && lost > 0 || 2*without > c.Steps), c.Steps-without, c.Steps, "step",
		"has device work", "have device work")
	add(c.WorldSize.Known && 0 < c.Ranks && c.Ranks < c.WorldSize.V, c.Ranks, c.WorldSize.V, "rank", "is in the input",
		"are in the input")
	if c.SampledShare.Known && c.SampledShare.V < 1 {
		lacks = append(lacks, units.Percent(c.SampledShare.V)+" of all operations were sampled")
	}
	switch {
	case lacks == nil:
		return ""
	case c.OfPart && lost+captured > 0:
		return "Launches have no operation in the recording; how many of this part is not known."
	case c.OfPart:
		return ""
	}
	text := strings.Join(lacks, "; ") + "."
	if c.Corrected != nil {
		text += c.Corrected.text()
	}
	return text
}
