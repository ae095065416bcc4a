package requests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

func TestDivide(t *testing.T) {
	for _, tt := range []struct {
		total    int64
		n        int
		weights  []int64
		dropped  int64
		want     []int64
		unlinked int64
	}{
		{100, 3, nil, 0, []int64{34, 33, 33}, 0},
		{100, 3, []int64{1, 2, 4}, 0, []int64{14, 29, 57}, 0},
		{100, 3, []int64{0, 0, 0}, 0, []int64{34, 33, 33}, 0},
		{100, 3, []int64{0, 0, 7}, 0, []int64{0, 0, 100}, 0},
		{1, 4, nil, 0, []int64{1, 0, 0, 0}, 0},
		{0, 2, nil, 0, []int64{0, 0}, 0},
		{10, 1, []int64{3}, 0, []int64{10}, 0},
		{1<<63 - 1, 2, []int64{1<<63 - 1, 1<<63 - 1}, 0, []int64{1 << 62, 1<<62 - 1}, 0},
		{1<<63 - 1, 3, []int64{1<<63 - 1, 1<<63 - 1, 1<<63 - 1}, 0, []int64{3074457345618258603, 3074457345618258602, 3074457345618258602}, 0},
		{100, 2, nil, 2, []int64{25, 25}, 50},
		{100, 2, []int64{8, 8}, 2, []int64{25, 25}, 50},
		{100, 2, []int64{1, 3}, 2, []int64{13, 37}, 50}, // each of those dropped weighs 2
		{100, 2, []int64{0, 0}, 3, []int64{20, 20}, 60},
		{100, 2, []int64{1 << 62, 1 << 62}, 2, []int64{25, 25}, 50},
		{100, 1, []int64{1}, 1<<63 - 1, []int64{0}, 100},
	} {
		e := &trace.Execution{Led: tt.n, Requests: make([]int32, tt.n), Weights: tt.weights}
		got, unlinked := divide(tt.total, e.Weights, e, tt.dropped)
		if !slices.Equal(got, tt.want) || unlinked != tt.unlinked {
			t.Errorf("divide(%d, %d, %v, %d) = %v, %d, want %v, %d", tt.total, tt.n, tt.weights, tt.dropped, got, unlinked, tt.want, tt.unlinked)
		}
		if sum := naiveSum(got) + unlinked; sum != tt.total {
			t.Errorf("divide(%d, %d, %v, %d) adds up to %d", tt.total, tt.n, tt.weights, tt.dropped, sum)
		}
	}
}

func naiveSum(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// naiveParts divides a small total nanosecond by nanosecond: each goes to who has least of what is due, the first of several.
// dropped links count as so many mean ones of the others, and have the last part.
func naiveParts(total int64, n int, weights []int64, links int, dropped int64) []int64 {
	if naiveSum(weights) == 0 {
		weights, links = slices.Repeat([]int64{1}, n), n
	}
	weights = append(slices.Clone(weights), naiveSum(weights)*dropped/int64(links))
	all, parts := naiveSum(weights), make([]int64, len(weights))
	left := total
	for i, w := range weights {
		parts[i] = total * w / all
		left -= parts[i]
	}
	for ; left > 0; left-- {
		next := 0
		for i, w := range weights {
			if total*w-parts[i]*all > total*weights[next]-parts[next]*all {
				next = i
			}
		}
		parts[next]++
	}
	return parts
}

// shareRow is what a request has of its own and of shared executions.
type shareRow struct {
	Name              string
	Own, Shared       int64
	Ops, SharedOps    int
	Uncovered, Queued int64
}

// executionRow is a shared execution as the tests write it.
type executionRow struct {
	Name            string
	Links, Requests int
	Ops             int
	Sum, Unlinked   int64
}

func shareRows(all *Requests) []shareRow {
	var rows []shareRow
	for i := range all.List {
		r := &all.List[i]
		rows = append(rows, shareRow{r.Name, r.OwnNS, r.SharedNS, r.Ops(), r.SharedOps, r.UncoveredNS.V, r.QueueingNS.V})
	}
	return rows
}

func executionRows(all *Requests) []executionRow {
	var rows []executionRow
	for i := range all.Shared {
		e := &all.Shared[i]
		rows = append(rows, executionRow{e.Name, e.Links, e.Requests, e.Ops(), e.SumNS, e.UnlinkedNS})
	}
	return rows
}

func TestSharedExecutions(t *testing.T) {
	a, b := tracetest.SpanAt("A", 1, 0, 0, 100), tracetest.SpanAt("B", 1, 0, 5, 90).In(2)
	tests := []struct {
		name       string
		specs      []tracetest.Spec
		requests   []shareRow
		executions []executionRow
		unattached []string
	}{
		{
			name: "one step for two requests",
			specs: []tracetest.Spec{a, b, tracetest.SpanAt("step", 1, 0, 10, 60).In(3).To(1, 1).To(2, 1),
				tracetest.OpAt("matmul", 2, 1, 10, 51).In(3)},
			requests:   []shareRow{{"A", 0, 21, 0, 1, 59, 10}, {"B", 0, 20, 0, 1, 44, 5}},
			executions: []executionRow{{"step", 2, 2, 1, 41, 0}},
		},
		{
			name: "by weight; two links to one request count together",
			specs: []tracetest.Spec{
				a, tracetest.SpanAt("decode", 2, 1, 10, 90), b,
				tracetest.OpAt("fused", 1, 0, 20, 60).In(3).ToPart(1, 1, 1).ToPart(2, 1, 1).ToPart(1, 2, 2),
			},
			requests:   []shareRow{{"A", 0, 30, 0, 1, 60, 20}, {"B", 0, 10, 0, 1, 45, 15}},
			executions: []executionRow{{"fused", 3, 2, 1, 40, 0}},
		},
		{
			name:       "equally where a weight is missing",
			specs:      []tracetest.Spec{a, b, tracetest.OpAt("fused", 1, 0, 20, 60).In(3).ToPart(1, 1, 3).To(2, 1)},
			requests:   []shareRow{{"A", 0, 20, 0, 1, 60, 20}, {"B", 0, 20, 0, 1, 45, 15}},
			executions: []executionRow{{"fused", 2, 2, 1, 40, 0}},
		},
		{
			name: "below one of the requests",
			specs: []tracetest.Spec{
				a, tracetest.OpAt("own", 3, 1, 0, 10), b, tracetest.SpanAt("step", 2, 1, 10, 60).To(1, 1).To(2, 1),
				tracetest.OpAt("matmul", 4, 2, 10, 50),
			},
			requests:   []shareRow{{"A", 10, 20, 1, 1, 50, 0}, {"B", 0, 20, 0, 1, 45, 5}},
			executions: []executionRow{{"step", 2, 2, 1, 40, 0}},
		},
		{
			name: "a link to what is above or below is none",
			specs: []tracetest.Spec{
				a, tracetest.SpanAt("inner", 2, 1, 10, 90).To(1, 1).To(1, 3), tracetest.OpAt("own", 3, 2, 20, 60).To(1, 2).To(1, 1),
			},
			requests: []shareRow{{"A", 40, 0, 1, 0, 60, 20}},
		},
		{
			name: "a step within a step; an engine around it",
			specs: []tracetest.Spec{
				a, b, tracetest.SpanAt("engine", 1, 0, 0, 100).In(3), tracetest.OpAt("idle", 9, 1, 0, 5).In(3),
				tracetest.SpanAt("batch", 2, 1, 10, 60).In(3).To(1, 1).To(2, 1), tracetest.OpAt("matmul", 3, 2, 10, 30).In(3),
				tracetest.OpAt("for B", 4, 2, 30, 60).In(3).To(2, 1),
			},
			requests:   []shareRow{{"A", 0, 10, 0, 1, 50, 10}, {"engine", 5, 0, 1, 0, 45, 0}, {"B", 0, 40, 0, 2, 35, 5}},
			executions: []executionRow{{"batch", 2, 2, 1, 20, 0}, {"for B", 1, 1, 1, 30, 0}},
		},
		{
			name: "through a consumer that works for a producer",
			specs: []tracetest.Spec{
				tracetest.SpanAt("step", 1, 0, 40, 80).In(4).To(3, 1).To(2, 1), tracetest.OpAt("matmul", 2, 1, 40, 80).In(4),
				tracetest.SpanAt("consume", 1, 0, 20, 90).In(3).To(1, 1), tracetest.OpAt("parse", 2, 1, 20, 30).In(3), a, b,
			},
			requests:   []shareRow{{"A", 0, 30, 0, 2, 50, 20}, {"B", 0, 20, 0, 1, 45, 35}},
			executions: []executionRow{{"step", 2, 2, 1, 40, 0}, {"consume", 1, 1, 1, 10, 0}},
		},
		{
			name: "links that lead nowhere, to an operation without a request, and from a duplicate",
			specs: []tracetest.Spec{
				a, tracetest.SpanAt("lost", 1, 0, 0, 10).In(4).To(7, 7), tracetest.OpAt("x", 2, 1, 0, 5).In(4),
				tracetest.OpAt("alone", 1, 0, 50, 60).In(5),
				tracetest.OpAt("y", 1, 0, 0, 5).In(6).To(5, 1), tracetest.OpAt("y", 1, 0, 0, 6).In(6).To(1, 1),
			},
			requests:   []shareRow{{"A", 0, 0, 0, 0, 100, 0}, {"lost", 5, 0, 1, 0, 5, 0}},
			unattached: []string{"alone", "y"},
		},
		{
			name: "a request that was not read",
			specs: []tracetest.Spec{tracetest.OpAt("own", 2, 1, 0, 10).Under("GET /", 1),
				tracetest.OpAt("fused", 1, 0, 20, 61).In(3).To(1, 1).To(9, 9)},
			requests:   []shareRow{{"GET /", 10, 41, 1, 1, 0, 0}},
			executions: []executionRow{{"fused", 2, 1, 1, 41, 0}},
		},
		{
			name: "in a circle one of them is a request",
			specs: []tracetest.Spec{tracetest.SpanAt("p", 1, 0, 0, 50).To(2, 1), tracetest.SpanAt("q", 1, 0, 10, 60).In(2).To(1, 1),
				tracetest.OpAt("x", 2, 1, 10, 20).In(1)},
			requests:   []shareRow{{"q", 0, 10, 0, 1, 40, 0}},
			executions: []executionRow{{"p", 1, 1, 1, 10, 0}},
		},
		{
			name: "the host's view takes no part in the sums",
			specs: []tracetest.Spec{
				a, b, tracetest.SpanAt("step", 1, 0, 10, 60).In(3).To(1, 1).To(2, 1),
				tracetest.OpAt("aten::mm", 2, 1, 10, 20).In(3).FromHost(), tracetest.OpAt("gemm", 3, 1, 20, 40).In(3),
			},
			requests:   []shareRow{{"A", 0, 10, 0, 2, 70, 10}, {"B", 0, 10, 0, 2, 55, 5}},
			executions: []executionRow{{"step", 2, 2, 2, 20, 0}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := Find(tracetest.AddTo(trace.New(), tt.specs...))
			check.Equal(t, "requests", tt.requests, shareRows(all))
			check.Equal(t, "executions", tt.executions, executionRows(all))
			check.Equal(t, "unattached", tt.unattached, tracetest.Names(all.Unattached()))
		})
	}
}

// The critical path of a request goes through the executions that work for it.
func TestCriticalPathThroughLinks(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.SpanAt("A", 1, 0, 0, 100), tracetest.SpanAt("wait", 2, 1, 10, 95), tracetest.SpanAt("B", 1, 0, 5, 50).In(2),
		tracetest.SpanAt("step", 1, 0, 20, 80).In(3).To(1, 2).To(2, 1), tracetest.OpAt("matmul", 2, 1, 30, 70).In(3),
	)
	want := map[string][]step{
		"A": {
			{"A", 0, 10}, {"wait", 10, 20}, {"step", 20, 30}, {"matmul", 30, 70}, {"step", 70, 80}, {"wait", 80, 95}, {"A", 95, 100},
		},
		"B": {{"B", 5, 20}, {"step", 20, 30}, {"matmul", 30, 50}},
	}
	for _, r := range Find(forest).List {
		path := path.Of(forest, r.Root)
		check.Equal(t, fmt.Sprintf("%s: path", r.Name), want[r.Name], stepsOf(path))
		check.Equal(t, fmt.Sprintf("%s: edges from links", r.Name), 1, path.Edges.Links)
	}
	check.Equal(t, "links are missing", 0, forest.Structure().MissingLinks)
}

// A request waits for an execution also where the span that this links to is over, or
// where it is linked through another execution.
func TestCriticalPathThroughEndedSpans(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.SpanAt("A", 1, 0, 0, 100), tracetest.SpanAt("enqueue", 2, 1, 0, 5), tracetest.SpanAt("wait", 3, 1, 5, 90),
		tracetest.SpanAt("push", 4, 3, 5, 6),
		tracetest.SpanAt("prefill", 1, 0, 10, 30).In(2).To(1, 2), tracetest.OpAt("embed", 2, 1, 10, 30).In(2),
		tracetest.SpanAt("decode", 1, 0, 40, 60).In(3).To(2, 1), tracetest.OpAt("matmul", 2, 1, 40, 60).In(3),
		tracetest.OpAt("sample", 1, 0, 65, 70).In(4).To(1, 4),
	)
	want := []step{
		{"enqueue", 0, 5}, {"push", 5, 6}, {"wait", 6, 65}, {"sample", 65, 70}, {"wait", 70, 90}, {"A", 90, 100},
	}
	// The two executions below the request are hidden by the span that runs longer.
	check.Equal(t, "path", want, stepsOf(path.Of(forest, forest.Node(0))))
	forest = tracetest.AddTo(trace.New(),
		tracetest.SpanAt("A", 1, 0, 0, 100), tracetest.SpanAt("enqueue", 2, 1, 0, 5),
		tracetest.SpanAt("prefill", 1, 0, 10, 30).In(2).To(1, 2), tracetest.OpAt("embed", 2, 1, 10, 30).In(2),
		tracetest.SpanAt("decode", 1, 0, 40, 60).In(3).To(2, 1), tracetest.OpAt("matmul", 2, 1, 40, 60).In(3),
	)
	want = []step{{"enqueue", 0, 5}, {"A", 5, 10}, {"embed", 10, 30}, {"A", 30, 40}, {"matmul", 40, 60}, {"A", 60, 100}}
	check.Equal(t, "path", want, stepsOf(path.Of(forest, forest.Node(0))))
	paths := 0
	for range path.All(forest) {
		paths++
	}
	check.Equal(t, "paths", 1, paths)
}

// The executions and the shares of the requests are those of the definition.
func TestSharedExecutionsAgainstNaive(t *testing.T) {
	found, attended := 0, 0
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		for i := range specs {
			if specs[i].IsOp && r.IntN(3) == 0 {
				specs[i].Name = "FLASH_ATTN_EXT"
			}
		}
		naive := tracetest.NewNaiveTree(specs)
		if !naive.FindExecutions() {
			return
		}
		var want []executionRow
		shared := make(map[int]int64)
		for _, e := range naive.Executions {
			row := executionRow{Name: specs[e].Name, Links: len(specs[e].Links), Requests: len(naive.WorksFor[e])}
			attention := int64(0)
			for i, s := range specs {
				if naive.Execution[i] == e && s.IsOp && !naive.Duplicate[i] {
					row.Ops++
					if s.DeviceSide() {
						row.Sum += s.End - s.Start
						if s.Name == "FLASH_ATTN_EXT" && naiveSum(naive.Attention[e]) > 0 {
							attention += s.End - s.Start
						}
					}
				}
			}
			for _, part := range []struct {
				ns      int64
				weights []int64
			}{{attention, naive.Attention[e]}, {row.Sum - attention, naive.Weights[e]}} {
				parts := naiveParts(part.ns, row.Requests, part.weights, naive.Led[e], specs[e].Dropped)
				row.Unlinked += parts[row.Requests]
				for k, ns := range parts[:row.Requests] {
					shared[naive.WorksFor[e][k]] += ns
				}
			}
			want = append(want, row)
			if found++; attention > 0 && attention < row.Sum {
				attended++
			}
		}
		all := Find(tracetest.AddTo(trace.New(), specs...))
		check.Equal(t, fmt.Sprintf("seed %d: executions", seed), want, executionRows(all))
		sums := make(map[int64]int) // which sums there are, and how often
		for _, ns := range shared {
			sums[ns]++
		}
		for i := range all.List {
			if q := &all.List[i]; len(q.shared) > 0 {
				sums[q.SharedNS]--
			}
		}
		for ns, n := range sums {
			if n != 0 {
				t.Errorf("seed %d: %d more requests with %d ns of shared executions than wanted", seed, n, ns)
			}
		}
	})
	if cases.All() && (found < 1000 || attended < 10) {
		t.Errorf("only %d executions in all inputs, %d with weights for attention", found, attended)
	}
}

// Whatever links say, every operation counts once: for its request, for the requests
// of its execution, or for none; and paths are complete.
func TestSharedExecutionsAddUp(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(30))
		forest := tracetest.AddTo(trace.New(), specs...)
		naive := tracetest.NewNaiveTree(specs)
		total := int64(0)
		for i, s := range specs {
			if s.DeviceSide() && !naive.Duplicate[i] {
				total += s.End - s.Start
			}
		}
		all := Find(forest)
		got, ops := int64(0), 0
		for i := range all.List {
			q := &all.List[i]
			got += q.OwnNS + q.SharedNS
			ops += q.Ops()
			checkParts(t, seed, forest, all, q)
			if path := path.Of(forest, q.Root); path != nil {
				at := path.StartNS
				for _, s := range path.Segments {
					if s.StartNS != at || s.DurationNS <= 0 {
						t.Fatalf("seed %d: a segment at %d of %d ns, want one at %d", seed, s.StartNS, s.DurationNS, at)
					}
					at += s.DurationNS
				}
				check.Equal(t, fmt.Sprintf("seed %d: the path ends at", seed), path.StartNS+path.DurationNS, at)
			}
		}
		for _, e := range all.Shared {
			ops += e.Ops()
			got += e.UnlinkedNS
			if e.Requests == 0 {
				t.Errorf("seed %d: an execution for no request: %+v", seed, e)
			}
		}
		for n := range all.Unattached() {
			ops++
			if n.Side() == op.SideNone {
				got += n.Duration()
			}
		}
		want := 0
		for i, s := range specs {
			if s.IsOp && !naive.Duplicate[i] {
				want++
			}
		}
		if got != total || ops != want {
			t.Errorf("seed %d: %d ns of %d operations, want %d of %d", seed, got, ops, total, want)
		}
	})
}

// checkParts checks that the parts of a request's path are the sums of its segments.
func checkParts(t *testing.T, seed uint64, forest *trace.Forest, all *Requests, q *Request) {
	t.Helper()
	type key struct {
		operation, kind string
		device          device.Key
	}
	want := make(map[key]PathPart)
	longestPath := path.Of(forest, q.Root)
	if longestPath == nil {
		longestPath = &path.Path{}
	}
	longest := make(map[key]int64)
	for _, s := range longestPath.Segments {
		k := key{operation: s.Node.Name(), kind: path.KindHost}
		if s.Node.IsOp() {
			if k.device = s.Node.Device(); s.Node.Side() == op.SideNone {
				k.kind = s.Node.Kind().String()
			}
		}
		p := want[k]
		p.TimeNS += s.DurationNS
		p.Segments++
		if s.DurationNS > longest[k] {
			longest[k], p.Longest = s.DurationNS, s.Node
		}
		want[k] = p
	}
	for _, got := range all.PathParts(q) {
		k := key{got.Operation, got.Kind, got.Key}
		if w := want[k]; got.TimeNS != w.TimeNS || got.Segments != w.Segments || got.Longest != w.Longest {
			t.Errorf("seed %d: %v has %+v of the path, want %+v", seed, k, got, w)
		}
		delete(want, k)
	}
	if len(want) > 0 {
		t.Errorf("seed %d: parts are missing: %v", seed, want)
	}
}

// step is a segment as the tests write it; the name "" is idle time.
type step struct {
	Name     string
	From, To int64
}

func stepsOf(p *path.Path) []step {
	var list []step
	for _, s := range p.Segments {
		name := ""
		if !s.Node.IsZero() {
			name = s.Node.Name()
		}
		list = append(list, step{name, s.StartNS, s.StartNS + s.DurationNS})
	}
	return list
}
