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
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// tellEverything returns what a Trace can tell, to compare two of them.
func tellEverything(t *testing.T, forest *trace.Forest) map[string]any {
	t.Helper()
	var collapsed bytes.Buffer
	if err := stacks.WriteForest(forest, &collapsed); err != nil {
		t.Error(err)
	}
	requests := requests.Find(forest)
	shares, _, paths := path.Figures(forest, func() *collective.Joins { return collective.FindJoins(forest) }, math.MaxInt)
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
		list = append(list, fmt.Sprint(r.Name, r.TraceID, r.SpanID, r.StartNS, r.DurationNS, r.UncoveredNS, r.QueueingNS,
			tracetest.Names(r.Operations())))
	}
	return list
}

// What does not fit is counted, whether it is added or merged.
func TestMaxRows(t *testing.T) {
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

// maxBytesPerEntry bounds what the doc comment of Forest states.
const maxBytesPerEntry = 100

// TestTraceMemoryPerEntry measures the heap of ten million entries in requests of
// a hundred, with a step and a memory size each.
func TestTraceMemoryPerEntry(t *testing.T) {
	cases.NotUnderRace(t, "the race detector's memory is counted as well")
	entries := cases.Count(t, 500_000, 10_000_000)
	before := check.Heap()
	forest := trace.New()
	addRequests(forest, entries)
	added := check.Heap()
	forest.Build()
	built := float64(check.Heap()-before) / float64(entries)
	t.Logf("%.1f bytes per entry before Build, %.1f after", float64(added-before)/float64(entries), built)
	if built > maxBytesPerEntry {
		t.Errorf("%.1f bytes per entry, want at most %d", built, maxBytesPerEntry)
	}
	runtime.KeepAlive(forest)
}

// addRequests adds n operations in requests of a hundred: spans with operations of four children each, on two devices.
func addRequests(forest *trace.Forest, n int) {
	names := [...]string{"matmul", "relu", "softmax", "all_reduce", "Memcpy HtoD"}
	kinds := [...]op.Kind{op.KindCompute, op.KindCompute, op.KindCompute, op.KindCollective, op.KindMemory}
	idOf := func(i int) op.SpanID { return trace.SpanID(uint64(i+1) * 0x9e3779b97f4a7c15) } // spread over all values
	for i := range n {
		request := i / 100
		k := i % 100
		at := 1_700_000_000_000_000_000 + 120_000*int64(request)
		s := op.Span{
			Name: "POST /predict", Service: "inference", Start: op.Known(at), Duration: 100_000,
			TraceID: op.TraceID{byte(request >> 16), byte(request >> 8), byte(request), 1}, SpanID: idOf(n + request),
		}
		e := op.Entry{
			Operation: names[k%5], Kind: kinds[k%5], DeviceID: []string{"cuda:0", "cuda:1"}[k/10%2], MemoryBytes: op.Known(4096),
			Step: op.Known(int64(request)), TraceID: s.TraceID, SpanID: idOf(i), ParentSpanID: idOf(i - k%5),
			Start: op.Known(at + 1000*int64(k)), Duration: 900,
		}
		if k%5 == 0 {
			e.ParentSpanID = s.SpanID
			e.Duration = 4900
		}
		forest.Add(op.Record{Entry: &e})
		if k == 99 {
			forest.Add(op.Record{Span: &s})
		}
	}
}

// C5: nothing recurses on the depth of the tree.
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
