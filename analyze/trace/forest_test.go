package trace_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// tellEverything returns all figures of a forest for comparison.
func tellEverything(t *testing.T, forest *trace.Forest) map[string]any {
	t.Helper()
	var collapsed bytes.Buffer
	if err := stacks.WriteForest(forest, &collapsed); err != nil {
		t.Error(err)
	}
	requests := requests.Find(forest)
	shares, _, paths := path.Figures(forest, func() *collective.Joins { return collective.FindJoins(forest) },
		math.MaxInt)
	return map[string]any{
		"structure":   forest.Structure(),
		"self times":  timeline.OperationSelfTimes(forest),
		"timelines":   timeline.Timelines(forest),
		"idle":        timeline.Idle(forest, 10),
		"use":         timeline.UseOf(forest, 7),
		"memory":      timeline.MemoryOf(forest, 7),
		"concurrency": timeline.Concurrency(forest),
		"steps":       steps.Rows(forest),
		"shares":      shares,
		"paths":       paths,
		"requests":    describeRequests(requests),
		"unattached":  tracetest.Names(requests.Unattached()),
		"stacks":      collapsed.String(),
		"collectives": collective.FindJoins(forest).Rows(),
	}
}

func describeRequests(requests *requests.Requests) []string {
	var list []string
	for i := range requests.List {
		r := &requests.List[i]
		list = append(list, fmt.Sprint(r.Name, r.TraceID, r.SpanID, r.StartNS, r.DurationNS, r.UncoveredNS,
			r.QueueingNS,
			tracetest.Names(r.Operations())))
	}
	return list
}

// Rows beyond the limit are counted, whether added or merged.
func TestRowsBeyondLimitAreCounted(t *testing.T) {
	specs := []tracetest.Spec{
		tracetest.OpAt("a", 1, 0, 0, 10).As(op.KindCollective), tracetest.SpanAt("b", 2, 0, 0, 10),
		tracetest.OpAt("c", 3, 0, 0, 10).As(op.KindCollective), tracetest.OpAt("d", 4, 0, 1<<62, 1<<62),
	}
	limited := trace.NewLimited(2)
	for _, s := range specs {
		limited.Add(s.Record())
	}
	merged := trace.NewLimited(2)
	merged.Merge(tracetest.AddTo(trace.New(), specs[:1]...))
	merged.Merge(tracetest.AddTo(trace.New(), specs[1:]...))
	check.Equal(t, "structure", trace.Counts{Ops: 1, Spans: 1, BadTimes: 1, Overflow: 2}, limited.Structure())
	check.Equal(t, "", tellEverything(t, limited), tellEverything(t, merged))
}

func TestAnalysesConcurrentSafe(t *testing.T) {
	forest := tracetest.AddTo(trace.New(), tracetest.RandomSpecs(rand.New(rand.NewPCG(7, 8)), 100)...)
	forest.Build()
	want := tellEverything(t, forest)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			check.Equal(t, "", want, tellEverything(t, forest))
		})
	}
	group.Wait()
}

// maxBytesPerEntry is the bound in the doc comment of Forest.
const maxBytesPerEntry = 100

// TestTraceMemoryPerEntry measures the heap of many entries in requests of a hundred, each with step and memory.
func TestTraceMemoryPerEntry(t *testing.T) {
	cases.NotUnderRace(t, "the race detector's memory is counted as well")
	entries := cases.Count(t, 500_000, 10_000_000)
	before := check.Heap()
	forest := trace.New()
	for rec := range tracetest.Requests(entries) {
		forest.Add(rec)
	}
	added := check.Heap()
	forest.Build()
	built := float64(check.Heap()-before) / float64(entries)
	t.Logf("%.1f bytes per entry before Build, %.1f after", float64(added-before)/float64(entries), built)
	if built > maxBytesPerEntry {
		t.Errorf("%.1f bytes per entry, want at most %d", built, maxBytesPerEntry)
	}
	runtime.KeepAlive(forest)
}

// Row C5 of docs/faults.md: no analysis recurses on the depth of the tree.
func TestMillionDeepChain(t *testing.T) {
	depth := cases.Count(t, 50_000, 1_000_000)
	forest := trace.New()
	for i := range depth {
		s := tracetest.OpAt("call", uint64(i+1), uint64(i), int64(i), int64(2*depth-i))
		if i%3 == 1 {
			s = tracetest.SpanAt("layer", uint64(i+1), uint64(i), int64(i), int64(2*depth-i))
		}
		forest.Add(s.Record())
	}
	total := int64(0)
	for _, self := range timeline.OperationSelfTimes(forest) {
		total += self
	}
	if total != int64(2*depth) {
		t.Errorf("self times add up to %d, want the root's %d", total, 2*depth)
	}
	root := forest.Node(0)
	longest := path.Of(forest, root)
	length := int64(0)
	for _, s := range longest.Segments {
		length += s.DurationNS
	}
	check.Equal(t, "the critical path takes ns", root.Duration(), length)
	if n := len(slices.Collect(requests.Find(forest).Unattached())); n != int(forest.Structure().Ops) {
		t.Errorf("%d unattached operations, want all %d", n, forest.Structure().Ops)
	}
}

// Operations of equal names and results have like work in all layers, but not at other places of a layer.
func TestLikenessOfOperationsWithoutFLOPs(t *testing.T) {
	f := trace.New()
	for i, path := range []string{"blk.0.qkv", "blk.1.qkv", "blk.1.ffn", "blk.1.ffn", "blk.2.qkv"} {
		e := tracetest.OpAt("mul_mat", uint64(i+1), 0, int64(i), int64(i+1)).Entry()
		e.Path = path
		e.OutputElements = op.Known(int64(8))
		if i > 2 {
			e.FLOPs = op.Known(int64(64))
		}
		f.Add(op.Record{Entry: e})
	}
	f.Build()
	for i, like := range []bool{true, true, false, false, false} {
		check.Equal(t, fmt.Sprint("row ", i, " is like row 0"), like, f.Likeness(int32(i)) == f.Likeness(0))
	}
	check.Equal(t, "known FLOPs", f.Likeness(3), f.Likeness(4))
}

// Products of other shapes are not alike, even with equal FLOPs and bytes, or with unknown outputs.
func TestLikenessOfProducts(t *testing.T) {
	f := trace.New()
	for i, shapes := range [][]op.Shape{
		{{64, 8}, {8, 16}}, {{64, 8}, {8, 16}}, {{16, 8}, {8, 64}}, {{8, 64}, {64, 16}},
	} {
		e := tracetest.OpAt("matmul", uint64(i+1), 0, int64(i), int64(i+1)).Entry()
		e.InputShapes = shapes
		f.AddOp(e, work.Work{Flops: 2 * 64 * 8 * 16})
	}
	f.Build()
	for i, like := range []bool{true, true, false, false} {
		check.Equal(t, fmt.Sprint("row ", i, " is like row 0"), like, f.Likeness(int32(i)) == f.Likeness(0))
	}
	check.Equal(t, "elements of an unknown output", int64(0), f.Elements(0))
}
