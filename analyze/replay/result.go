package replay

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/serving"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/replay/internal/waits"
	"github.com/optrace/optrace/analyze/trace"
)

// Result is the prediction of a replay. Times are in nanoseconds.
type Result struct {
	Changes  []Applied `json:"changes"`
	Run      Times     `json:"run"`
	Requests *Requests `json:"requests"` // nil without requests
	Steps    *Steps    `json:"steps"`    // nil with fewer than two steps
	// Bound and ReplayedBound divide the critical path to the end, before and after.
	Bound         []Part `json:"bound"`
	ReplayedBound []Part `json:"replayed_bound"`
	// Unexplained is the share of waiting without a known reason on the recorded path. Above a fifth,
	// gains are not known: Known is false.
	Unexplained float64 `json:"unexplained_share"`
	Known       bool    `json:"known"`
	Edges       Edges   `json:"edges"`
	// Batches describes the executions whose batches are formed again, nil without any.
	Batches *Batches `json:"batches"`
}

// Applied is a change and its number of selected operations and calls.
type Applied struct {
	Change
	Count int64 `json:"count"`
}

// Times is the extent of the run: recorded, predicted, and the bounds of the prediction.
type Times struct {
	NS         int64 `json:"ns"`
	ReplayedNS int64 `json:"replayed_ns"`
	LowNS      int64 `json:"low_ns"`
	HighNS     int64 `json:"high_ns"`
}

// Requests sums up the durations of requests.
type Requests struct {
	Count         int64 `json:"count"`
	SumNS         int64 `json:"sum_ns"`
	ReplayedSumNS int64 `json:"replayed_sum_ns"`
	LowSumNS      int64 `json:"low_sum_ns"`
	HighSumNS     int64 `json:"high_sum_ns"`
	P50NS         int64 `json:"p50_ns"`
	ReplayedP50NS int64 `json:"replayed_p50_ns"`
	P95NS         int64 `json:"p95_ns"`
	ReplayedP95NS int64 `json:"replayed_p95_ns"`
}

// Steps has the median time from the start of a step to the start of the next.
type Steps struct {
	Count         int64 `json:"count"`
	P50NS         int64 `json:"p50_ns"`
	ReplayedP50NS int64 `json:"replayed_p50_ns"`
}

// Part is a part of the critical path of the run.
type Part struct {
	Name  string  `json:"name"`
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
}

// Edges counts the edges of the graph by kind.
type Edges struct {
	Thread     EdgeCount `json:"thread"`
	Stream     EdgeCount `json:"stream"`
	Launch     EdgeCount `json:"launch"`
	Event      EdgeCount `json:"event"`
	Wait       EdgeCount `json:"wait"`
	Collective EdgeCount `json:"collective"`
	Request    EdgeCount `json:"request"`
	Execution  EdgeCount `json:"execution"`
}

// MostUnexplained is the largest share of unexplained waiting on the path at which gains are known.
const MostUnexplained = 0.2

// ErrNoTimes is the error of a change to a recording without starts.
var ErrNoTimes = errors.New("no operation has a start, and a replay needs them")

// Run replays the recording with changes, one after the other. It returns an [*UnknownError] for an empty selection, and
// ErrNoTimes for any change without times.
func (g *Graph) Run(changes ...Change) (*Result, error) {
	p, err := g.replay(changes)
	if err != nil {
		return nil, err
	}
	defer g.used.Put(p.changed)
	r := &p.Result
	recorded := g.g.Recorded()
	r.Bound = g.parts(recorded.Last(), recorded)
	r.ReplayedBound = g.parts(p.changed.Last(), p.changed)
	r.Edges = g.edges()
	r.Steps = g.steps(p.changed)
	return r, nil
}

// replayed is a replay. Its result lacks parts, edges and steps.
type replayed struct {
	Result
	changed *variant
}

func (g *Graph) replay(changes []Change) (*replayed, error) {
	g.build()
	if len(changes) > 0 && g.g.Nodes() == 0 {
		return nil, ErrNoTimes
	}
	used, _ := g.used.Get().(*variant)
	p := &replayed{changed: g.g.Variant(used)}
	recorded := g.g.Recorded()
	shared := p.changed // with all requests
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == Without }) {
		shared = g.g.variant()
	}
	without := make(map[int32]bool)
	r := &p.Result
	r.Changes = []Applied{}
	spread := 0.0
	of := forming{chunk: math.Inf(1), replicas: 1, window: math.MaxInt64}
	for _, c := range changes {
		n, err := g.apply(c, p.changed)
		if err != nil {
			g.used.Put(p.changed)
			return nil, err
		}
		switch {
		case c.Kind == Without:
			rows, _ := g.request(c.Select)
			maps.Copy(without, rows)
		case c.Kind == Chunk:
			of.chunk = min(of.chunk, c.Factor)
		case c.Kind == Replicas:
			of.replicas *= int(c.Factor)
		case c.Kind == Window:
			of.window = min(of.window, int64(c.Factor))
		case c.Kind == Early:
			of.early = true
		case c.isEven():
			of.even = true
		case shared != p.changed:
			_, _ = g.apply(c, shared)
		}
		r.Changes = append(r.Changes, Applied{c, n})
		spread = max(spread, spreads[c.Kind])
	}
	r.Run.NS = g.whole
	r.Run.ReplayedNS = p.changed.Run()
	r.Unexplained = g.unexplained()
	r.Known = r.Unexplained <= MostUnexplained
	if shared != p.changed {
		shared.Run()
	}
	formed := g.formAgain(recorded, shared, without, of)
	r.Batches = formed.Batches
	if formed.end > 0 {
		r.Run.ReplayedNS = formed.end
	}
	if len(formed.ns) > 0 {
		spread = max(spread, spreadFormed)
	}
	r.Run.LowNS, r.Run.HighNS = r.bounds(r.Run.NS, r.Run.ReplayedNS, spread)
	r.Requests = g.requests(p.changed, formed, without)
	if q := r.Requests; q != nil {
		q.LowSumNS, q.HighSumNS = r.bounds(q.SumNS, q.ReplayedSumNS, spread)
	}
	return p, nil
}

// Saving is the time saved by changes, and its bounds, in nanoseconds. Known is false if too much of the recorded time
// has no known reason, see [Result].
type Saving struct {
	NS, LowNS, HighNS int64
	Known             bool
}

// Saved returns the saving of changes in the run, or with ofRequests in the sum over its requests. Its errors are those of
// Run.
func (g *Graph) Saved(ofRequests bool, changes ...Change) (Saving, error) {
	p, err := g.replay(changes)
	if err != nil {
		return Saving{}, err
	}
	defer g.used.Put(p.changed)
	t := p.Run
	if q := p.Requests; ofRequests && q != nil {
		t = Times{q.SumNS, q.ReplayedSumNS, q.LowSumNS, q.HighSumNS}
	}
	return Saving{t.NS - t.ReplayedNS, t.NS - t.HighNS, t.NS - t.LowNS, p.Known}, nil
}

// Unexplained returns the waiting of operations without a known reason on the recorded path, and its share,
// or zero if the share is less than least.
func (g *Graph) Unexplained(least float64) (ns int64, share float64) {
	if g.mostUnexplained() < least {
		return 0, 0
	}
	if share = g.unexplained(); share < least {
		return 0, 0
	}
	return int64(share * float64(g.whole)), share
}

// Overlapping reports whether requests of a process overlap, or share executions. Otherwise they follow each other, as
// the steps of a loop do.
func (g *Graph) Overlapping() bool {
	return slices.Contains(g.loops, false) || len(g.forest.Executions.List) > 0
}

// ops returns the rows of operations on devices.
func (g *Graph) ops() []int32 { return g.g.owner[:g.g.Owned()] }

// spreads are the shares of a gain by which it may be wrong, because a change cannot know how fast the changed
// operations would be.
var spreads = map[Kind]float64{
	Scale: 0.05, Typical: 0.1, Roofline: 0.3, Rate: 0.15, Overlap: 0.3, Parts: 0.3, Balance: 0.25, Fuse: 0.3, Host: 0.1,
	Without: 0.1, Chunk: 0.2, Replicas: 0.2, Window: 0.1,
}

// spreadFormed is the possible error of a gain from batches formed again, as its share.
const spreadFormed = 0.05

// spreadChunks is the possible error of the time of all with prompts in parts, whose attention may read more than its own.
const spreadChunks = 0.1

// mostDrift is the drift beyond which it widens bounds.
const mostDrift = 0.02

// bounds returns the bounds of a predicted time: at least 1 % of the recorded time on both sides, and the spread and
// the unexplained share of the gain. Without a change they equal the time.
func (r *Result) bounds(recorded, replayed int64, spread float64) (low, high int64) {
	if len(r.Changes) == 0 {
		return replayed, replayed
	}
	saved := float64(max(recorded-replayed, replayed-recorded))
	share := 0.01
	if r.Batches != nil && math.Abs(r.Batches.Drift) > mostDrift {
		share += math.Abs(r.Batches.Drift)
	}
	if slices.ContainsFunc(r.Changes, func(c Applied) bool { return c.Kind == Chunk }) {
		share += spreadChunks
	}
	width := int64(share*float64(recorded) + (spread+r.Unexplained)*saved)
	low = max(0, replayed-width)
	if !slices.ContainsFunc(r.Changes, func(c Applied) bool { return c.Kind != Roofline || c.Factor != 0 }) { // the peaks are reached
		low = max(low, replayed-int64(share*float64(recorded)))
	}
	return low, replayed + width
}

// The names of parts other than kinds of operations.
const (
	partHost   = "host"
	partLaunch = "launch"
	partWait   = "wait"
	partOther  = "other"
)

// parts divides the path to a point by the use of its time.
func (g *Graph) parts(last int32, v *variant) []Part {
	sums := make(map[string]int64)
	whole := int64(0)
	if last != none {
		g.g.binding(v, last, func(e edge, lag int64) {
			name := partOther
			switch e.kind {
			case own:
				name = g.forest.Kind(e.owner).String()
			case onThread, ofExecution:
				name = partHost
			case afterLaunch:
				name = partLaunch
			case afterWait, whileHeld:
				name = partWait
				if e.owner >= 0 && e.from == g.begin[e.owner] { // of a copy behind its call
					name = g.forest.Kind(e.owner).String()
				}
			}
			sums[name] += lag
			whole += lag
		})
	}
	parts := []Part{}
	for name, ns := range sums {
		if ns > 0 {
			parts = append(parts, Part{name, ns, float64(ns) / float64(whole)})
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name)) })
	return parts
}

// unexplainedOf returns the share of the recorded path in long times before launched operations without a known reason.
// Before operations without a launch, the time is the host's.
func (g *Graph) unexplainedOf() float64 {
	if g.mostUnexplained() == 0 {
		return 0
	}
	g.build()
	sum := int64(0)
	recorded := g.g.Recorded()
	if last := recorded.Last(); last != none {
		g.g.binding(recorded, last, func(e edge, lag int64) {
			if (e.kind == onStream || e.kind == afterLaunch) && g.forest.Has(e.owner, trace.FlagLaunch) {
				sum += waits.Long(g.forest, e.owner, lag)
			}
		})
	}
	return float64(sum) / float64(max(1, g.whole))
}

// mostUnexplained returns a bound of the unexplained share, without points and edges.
func (g *Graph) mostUnexplained() float64 { return waits.Share(g.forest) }

func (g *Graph) edges() Edges {
	c := &g.g.count
	wait := EdgeCount{c[afterWait].Count + c[whileHeld].Count, c[afterWait].Broken + c[whileHeld].Broken}
	return Edges{
		Thread: c[onThread], Stream: c[onStream], Launch: c[afterLaunch], Event: c[afterStream], Wait: wait,
		Collective: c[ofCollective], Request: c[ofRequest], Execution: c[ofExecution],
	}
}

func (g *Graph) requests(v *variant, formed again, without map[int32]bool) *Requests {
	if len(g.roots) == 0 {
		return nil
	}
	nested := serving.NewNested(&g.rows, g.roots, g.begin)
	took := func(r int32) (ns, recorded int64, isFormed bool) {
		ns, isFormed = formed.ns[r]
		return ns, v.Time(g.end[r]) - v.Time(g.begin[r]), isFormed
	}
	q := &Requests{ReplayedSumNS: formed.sum}
	var before, after []int64
	for _, r := range g.roots {
		ns, isFormed := formed.ns[r]
		if nested.Outer[r] != none {
			if isFormed && ns > 0 {
				q.ReplayedSumNS -= ns
			}
			continue
		}
		q.Count++
		before = append(before, g.g.slack(g.begin[r], g.end[r]))
		q.SumNS += before[len(before)-1]
		if !isFormed {
			if ns = 0; !without[r] || nested.Inner[r] == nil {
				ns = nested.Around(r, took)
			}
			q.ReplayedSumNS += ns
		}
		if !isFormed || !without[r] {
			after = append(after, ns)
		}
	}
	q.P50NS, q.P95NS = percentiles(before)
	q.ReplayedP50NS, q.ReplayedP95NS = percentiles(after)
	return q
}

func percentiles(ns []int64) (p50, p95 int64) {
	if len(ns) == 0 {
		return 0, 0
	}
	slices.Sort(ns)
	n := int64(len(ns))
	return ns[sketch.Place(n, 50)], ns[sketch.Place(n, 95)]
}

// steps returns the times between the first operations of successive steps.
func (g *Graph) steps(v *variant) *Steps {
	f := g.forest
	first := make(map[int64]int32)
	var order []int64
	for _, r := range f.Devices.ByStart {
		if !f.Has(r, trace.FlagStep) || g.begin[r] == none {
			continue
		}
		if _, known := first[f.Step(r)]; !known {
			first[f.Step(r)] = r
			order = append(order, f.Step(r))
		}
	}
	if len(order) < 2 {
		return nil
	}
	var before, after []int64
	for i := 1; i < len(order); i++ {
		from, to := g.begin[first[order[i-1]]], g.begin[first[order[i]]]
		before = append(before, g.g.slack(from, to))
		after = append(after, v.Time(to)-v.Time(from))
	}
	s := &Steps{Count: int64(len(before))}
	s.P50NS, _ = percentiles(before)
	s.ReplayedP50NS, _ = percentiles(after)
	return s
}
