package path

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// pathStep is a segment as the tests write it; the name "" is idle time.
type pathStep struct {
	Name     string
	From, To int64
}

func pathSteps(p *Path) []pathStep {
	var steps []pathStep
	for _, s := range p.Segments {
		name := ""
		if !s.Node.IsZero() {
			name = s.Node.Name()
		}
		steps = append(steps, pathStep{name, s.StartNS, s.StartNS + s.DurationNS})
	}
	return steps
}

// allPaths returns the critical path of each trace.
func allPaths(f *trace.Forest) map[op.TraceID]*Path {
	f.Build()
	paths := make(map[op.TraceID]*Path)
	for w, roots := range traceWindows(f) {
		paths[f.Node(roots[0]).TraceID()] = collectPath(f, w, roots)
	}
	return paths
}

func TestCriticalPathOfNothing(t *testing.T) {
	forest := tracetest.AddTo(trace.New(), tracetest.OpAt("a", 1, 0, 0, 10).WithoutStart())
	if p := Of(forest, trace.Node{}); p != nil {
		t.Errorf("path of no node: %+v", p)
	}
	if p := Of(forest, forest.Node(0)); p != nil {
		t.Errorf("path without a start: %+v", p)
	}
}

// naivePath returns the segments of spec i within [from, to), the last first.
func naivePath(n *tracetest.NaiveTree, i int, children []int, from, to int64) []pathStep {
	name := ""
	if i >= 0 {
		name = n.Specs[i].Name
	}
	var steps []pathStep
	at := to
	taken := make(map[int]bool)
	for {
		last := -1
		for _, c := range children {
			s := n.Specs[c]
			if taken[c] || s.Timeless || min(s.End, to) > at || max(s.Start, from) >= min(s.End, to) {
				continue
			}
			if last < 0 || s.End > n.Specs[last].End || s.End == n.Specs[last].End && n.CompareStart(c, last) < 0 {
				last = c
			}
		}
		if last < 0 {
			break
		}
		taken[last] = true
		s := n.Specs[last]
		begin, end := max(s.Start, from), min(s.End, to)
		if end < at {
			steps = append(steps, pathStep{name, end, at})
		}
		steps = append(steps, naivePath(n, last, n.PathChildren(last), begin, end)...)
		at = begin
	}
	if from < at {
		steps = append(steps, pathStep{name, from, at})
	}
	return steps
}

// naivePathThroughRoots returns the segments within [from, to), the last first: at
// each nanosecond the root that runs and ends last, and its path in each such run of
// nanoseconds.
func naivePathThroughRoots(n *tracetest.NaiveTree, roots []int, from, to int64) []pathStep {
	latest := func(at int64) int {
		last := -1
		for _, c := range roots {
			s := n.Specs[c]
			if !s.RunsAt(at) {
				continue
			}
			if last < 0 || s.End > n.Specs[last].End || s.End == n.Specs[last].End && n.CompareStart(c, last) < 0 {
				last = c
			}
		}
		return last
	}
	var steps []pathStep
	for to > from {
		root, begin := latest(to-1), to-1
		for begin > from && latest(begin-1) == root {
			begin--
		}
		if root < 0 {
			steps = append(steps, pathStep{"", begin, to})
		} else {
			steps = append(steps, naivePath(n, root, n.PathChildren(root), begin, to)...)
		}
		to = begin
	}
	return steps
}

func TestCriticalPathsAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		forest, naive := tracetest.AddTo(trace.New(), specs...), tracetest.NewNaiveTree(specs)
		if !naive.FindExecutions() {
			return // links in a circle: see TestSharedExecutionsAddUp
		}
		got := make(map[op.TraceID][]pathStep)
		total := int64(0)
		for id, path := range allPaths(forest) {
			got[id] = pathSteps(path)
			total += path.DurationNS
		}
		want := make(map[op.TraceID][]pathStep)
		for number := byte(1); number < 3; number++ {
			roots := naive.Roots(number)
			var rootSpecs []tracetest.Spec
			for _, i := range roots {
				rootSpecs = append(rootSpecs, specs[i])
			}
			from, to, ok := tracetest.Extent(rootSpecs)
			if !ok || naive.IsSharedTrace(roots) {
				continue
			}
			var steps []pathStep
			if len(roots) == 1 {
				steps = naivePath(naive, roots[0], naive.PathChildren(roots[0]), from, to)
			} else {
				steps = naivePathThroughRoots(naive, roots, from, to)
			}
			slices.Reverse(steps)
			want[op.TraceID{15: number}] = steps
		}
		check.Equal(t, fmt.Sprintf("seed %d: paths", seed), want, got)
		checkSummary(t, seed, forest, total)
	})
}

// checkSummary checks that the summary of the paths adds up to their duration in every way.
func checkSummary(t *testing.T, seed uint64, forest *trace.Forest, total int64) {
	t.Helper()
	all := sumAll(forest)
	sum, shares, part := all.Summary(), int64(0), 0.0
	for _, s := range all.List() {
		shares += s.TimeNS
		part += s.Share
	}
	b := sum.BoundBy
	bound := b.ComputeNS + b.CommunicationNS + b.MemoryNS + b.OtherNS + b.HostNS + b.IdleNS
	if shares != total || bound != total || sum.DurationNS != total {
		t.Errorf("seed %d: shares add up to %d, bounds to %d, duration %d, want %d", seed, shares, bound, sum.DurationNS, total)
	}
	if total > 0 && (part < 0.999999 || part > 1.000001) {
		t.Errorf("seed %d: shares add up to %g", seed, part)
	}
}
