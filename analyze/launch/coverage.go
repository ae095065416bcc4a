package launch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
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
}

// Unrecorded counts the work announced by readers and missing in the input. It has no counts of recorded work.
type Unrecorded struct{ Launches, GraphLaunches, Captured, Steps int64 }

// CoverageOf adds the recorded work of f to the unrecorded work.
func CoverageOf(f *trace.Forest, un Unrecorded) *Coverage {
	f.Build()
	c := &Coverage{
		Launches:                 un.Launches + un.GraphLaunches + un.Captured,
		LaunchesWithoutOperation: un.Launches + un.GraphLaunches, LaunchesCaptured: un.Captured,
		GraphReplays: un.GraphLaunches, Steps: un.Steps, StepsWithoutDeviceWork: un.Steps,
	}
	c.countRanks(f)
	var launched, stepped []int32
	for r := range f.Rows() {
		if !f.CountsInSums(r) {
			continue
		}
		if f.Has(r, trace.FlagStep) {
			stepped = append(stepped, r)
		}
		if f.IsDeviceSide(r) && f.Has(r, trace.FlagLaunch) && (f.Kind(r) != op.KindMemory || graphOf(f, r) != nil) {
			launched = append(launched, r)
		}
	}
	processes := f.Processes()
	process := func(r int32) int32 { return processes[f.Lane(r)] }
	sameProcess := func(a, b int32) int { return cmp.Compare(process(a), process(b)) }
	order.Rows(launched, f.Launch, sameProcess)
	c.countLaunches(f, launched, func(a, b int32) bool { return f.Launch(a) == f.Launch(b) && process(a) == process(b) })
	order.Rows(stepped, f.Step, sameProcess)
	c.countSteps(f, stepped, func(a, b int32) bool { return f.Step(a) == f.Step(b) && process(a) == process(b) })
	return c
}

func (c *Coverage) countRanks(f *trace.Forest) {
	ranks := make(map[int64]struct{})
	for _, l := range f.Names.Lanes.Values {
		if l.Device.Rank.Known {
			ranks[l.Device.Rank.V] = struct{}{}
		}
	}
	c.Ranks = int64(len(ranks))
}

// graphOf returns the graph that launched row r, or nil.
func graphOf(f *trace.Forest, r int32) *trace.Graph {
	if _, g := f.Graph(r); g != nil && (g.ID != "" || g.Call != "") {
		return g
	}
	return nil
}

// countLaunches counts the launches of sorted rows, given which rows are of one launch.
func (c *Coverage) countLaunches(f *trace.Forest, rows []int32, same func(a, b int32) bool) {
	type key struct {
		graph string
		first int32 // the name of the first operation, for graphs without a number
	}
	replays := make(map[key][]int64) // the numbers of operations
	for first, n := 0, 0; first < len(rows); first = n {
		var graph *trace.Graph
		for n = first; n < len(rows) && same(rows[first], rows[n]); n++ {
			if g := graphOf(f, rows[n]); g != nil && (graph == nil || g.ID < graph.ID) {
				graph = g
			}
		}
		c.Launches++
		if graph != nil {
			k := key{graph: graph.ID}
			if k.graph == "" {
				k.first = f.Name(slices.MinFunc(rows[first:n], f.CompareStart))
			}
			replays[k] = append(replays[k], int64(n-first))
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
}

// countSteps counts the steps of sorted rows. If no step has several operations, the numbers are ordinals and no steps.
func (c *Coverage) countSteps(f *trace.Forest, rows []int32, same func(a, b int32) bool) {
	several := false
	steps, without := int64(0), int64(0)
	for first, n := 0, 0; first < len(rows); first = n {
		works := false
		for n = first; n < len(rows) && same(rows[first], rows[n]); n++ {
			works = works || f.IsDeviceSide(rows[n])
		}
		several = several || n-first > 1
		if steps++; !works {
			without++
		}
	}
	if several {
		c.Steps += steps
		c.StepsWithoutDeviceWork += without
	}
}

// maxLost is the share of lost work from which on times between operations are not known.
const maxLost = 0.03

// Doubtful reports whether so much work is missing that idle times and the bound of the run are not known.
func (c *Coverage) Doubtful() bool {
	least := maxLost * float64(c.Launches)
	return c.Launches > 0 && float64(c.LaunchesWithoutOperation) >= least ||
		c.GraphReplays > 0 && float64(c.GraphReplays-c.GraphReplaysWhole) >= maxLost*float64(c.GraphReplays) ||
		2*c.LaunchesCaptured > c.Launches
}

// Text says in one sentence what the input lacks, or "".
func (c *Coverage) Text() string {
	var lacks []string
	add := func(is bool, parts ...string) {
		if is {
			lacks = append(lacks, strings.Join(parts, ""))
		}
	}
	ofAll := func(n, all int64, noun, verb, verbs string) string {
		if n == 1 {
			verbs = verb
		}
		return units.Count(n) + " of " + units.Plural(all, noun) + " " + verbs
	}
	add(c.LaunchesWithoutOperation > 0,
		ofAll(c.LaunchesWithoutOperation, c.Launches, "launch", "has", "have"), " no operation in the recording")
	add(c.GraphReplaysWhole < c.GraphReplays,
		ofAll(c.GraphReplaysWhole, c.GraphReplays, "graph replay", "is whole", "are whole"))
	add(c.LaunchesCaptured > 0, ofAll(c.LaunchesCaptured, c.Launches, "launch", "was", "were"),
		" captured into a graph and did not run")
	// A step may launch nothing.
	idle := c.StepsWithoutDeviceWork
	add(idle < c.Steps && (idle > 0 && c.LaunchesWithoutOperation > 0 || 2*idle > c.Steps),
		ofAll(c.Steps-c.StepsWithoutDeviceWork, c.Steps, "step", "has", "have"), " device work")
	add(c.WorldSize.Known && 0 < c.Ranks && c.Ranks < c.WorldSize.V,
		ofAll(c.Ranks, c.WorldSize.V, "rank", "is", "are"), " in the input")
	add(c.SampledShare.Known && c.SampledShare.V < 1,
		units.Percent(c.SampledShare.V), " of all operations were sampled")
	if len(lacks) == 0 {
		return ""
	}
	return strings.Join(lacks, "; ") + "."
}
