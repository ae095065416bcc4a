package trace_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func newForest(limit int) *trace.Forest {
	f := trace.NewLimited(limit)
	f.KeepShapes()
	return f
}

// record returns a span, or an operation with an output and a grid.
func record(s tracetest.Spec) op.Record {
	rec := s.Record()
	if e := rec.Entry; e != nil && s.Memory%3 > 0 {
		e.OutputShape = op.Shape{s.Memory % 7}
		e.Attrs = append(e.Attrs, op.Attr{Key: "grid", Value: fmt.Sprint(s.End % 5), Type: op.AttrInt},
			op.Attr{Key: "else", Value: "x"}, op.Attr{Key: "thread.id", Value: fmt.Sprint(s.End % 4), Type: op.AttrInt})
	}
	if rec.Span != nil && s.End%3 > 0 {
		rec.Span.Attrs = []op.Attr{{Key: "thread.id", Value: fmt.Sprint(s.End % 3), Type: op.AttrInt}}
	}
	return rec
}

// whole returns a forest of all specs. It overwrites entries after Add, as readers do.
func whole(specs []tracetest.Spec, limit int) *trace.Forest {
	f := newForest(limit)
	for _, s := range specs {
		rec := record(s)
		f.Add(rec)
		if rec.Entry != nil {
			*rec.Entry = op.Entry{Operation: "overwritten", Duration: 99}
		}
	}
	return f
}

// tracesOf distributes specs over workers in parts of random sizes, ascending for each worker.
func tracesOf(r *rand.Rand, specs []tracetest.Spec, workers, limit, longest int) []*trace.Forest {
	traces := make([]*trace.Forest, workers)
	for i := range traces {
		traces[i] = newForest(limit)
	}
	first := r.Int64N(3)
	for part := first; len(specs) > 0; part++ {
		n := min(1+r.IntN(longest), len(specs))
		forest := traces[r.IntN(workers)]
		forest.StartPart(part)
		if r.IntN(5) == 0 {
			forest.StartPart(part) // once more changes nothing
		}
		for _, s := range specs[:n] {
			forest.Add(record(s))
		}
		specs = specs[n:]
		if r.IntN(10) == 0 {
			forest.Build()
		}
	}
	return traces
}

// Merging gives the same forest for any distribution of parts, and accepts further records.
func TestMergeIsIndependentOfWorkers(t *testing.T) {
	cases.Seeds(t, 150, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, 1+r.IntN(80))
		limit := trace.MaxRows
		if r.IntN(2) == 0 {
			limit = 1 + r.IntN(80)
		}
		all := whole(specs, limit)
		want := tellEverything(t, all)
		workers := 1 + r.IntN(4)

		merged := trace.NewLimited(limit)
		for _, w := range tracesOf(r, specs, workers, limit, 8) {
			merged.Merge(w)
			if r.IntN(3) == 0 {
				merged.Build()
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: %d workers, one by one", seed, workers), want, tellEverything(t, merged))

		traces := tracesOf(r, specs, workers, limit, 8)
		traces[0].Merge(traces[1:]...)
		check.Equal(t, fmt.Sprintf("seed %d: %d workers, all at once", seed, workers), want,
			tellEverything(t, traces[0]))
		checkSameRows(t, all, traces[0])
		more := tracetest.RandomSpecs(r, 20)
		for _, s := range more {
			traces[0].Add(record(s))
		}
		want = tellEverything(t, whole(slices.Concat(specs, more), limit))
		check.Equal(t, fmt.Sprintf("seed %d: %d workers, with more", seed, workers), want, tellEverything(t, traces[0]))
		for i, o := range traces[1:] {
			if o.Len() != 0 {
				t.Errorf("seed %d: worker %d still holds rows", seed, i+1)
			}
		}
	})
}

// Calls keep what waits state, in a merged forest as well. Waits within operations are marked.
func TestCallsOfMergedForests(t *testing.T) {
	f, g := trace.New(), trace.New()
	add := func(f *trace.Forest, e op.Entry) {
		e.Attrs = append(e.Attrs, op.Attr{Key: "thread.id", Value: "7", Type: op.AttrInt})
		f.AddCall(&e)
	}
	add(f, op.Entry{Operation: "cudaFree", Start: op.Known(1), Duration: 2})
	add(f, op.Entry{Operation: "cudaFree", Start: op.Known(1)})
	add(f, op.Entry{Operation: "cudaEventSynchronize", Start: op.Known(3)})
	add(g, op.Entry{
		Operation: "cudaStreamWaitEvent", Start: op.Known(5), Duration: 1, DeviceID: "cuda:1", Stream: op.Known(20),
		Rank: op.Known(2), ParentSpanID: op.SpanID{7: 1}, Attrs: []op.Attr{
			{Key: "tensor.wait.stream", Value: "9", Type: op.AttrInt},
			{Key: "tensor.wait.recorded", Value: "4", Type: op.AttrInt},
		},
	})
	f.Merge(g)
	check.Equal(t, "calls", []trace.Call{
		{Name: "cudaFree", Start: 1, Duration: 2, Thread: op.Known(7)},
		{Name: "cudaEventSynchronize", Start: 3, Thread: op.Known(7), Inside: true},
		{Name: "cudaStreamWaitEvent", Rank: op.Known(2), Start: 5, Duration: 1, Thread: op.Known(7), Device: "cuda:1",
			Stream: op.Known(20), OnStream: op.Known(9), Recorded: op.Known(4), Inside: true},
	}, f.Calls)
}

func checkSameRows(t *testing.T, want, got *trace.Forest) {
	t.Helper()
	rows := func(f *trace.Forest) (list []string) {
		f.Build()
		for r := range f.Rows() {
			stamp := f.Names.Stamps.Values[f.Stamp(r)]
			list = append(list, fmt.Sprint(
				f.Start(r), f.Duration(r), f.Span(r), f.ParentID(r), f.Names.Traces.Values[f.Trace(r)], f.RowName(r),
				f.Names.Lanes.Values[f.Lane(r)], f.Kind(r), f.Flags(r)&^trace.BuiltFlags, f.Step(r), f.Memory(r),
				f.Launch(r), f.Names.Threads.Values[f.Thread(r)],
				stamp.Name, stamp.Span, f.Names.Traces.Values[stamp.Trace], f.Node(r).Shapes(), f.Node(r).Arguments(),
			))
		}
		return list
	}
	check.Equal(t, "rows", rows(want), rows(got))
}

// Parts longer than a block merge, also if some blocks hold no value of a column.
func TestMergeOfLongParts(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var specs []tracetest.Spec
	for part := range 12 {
		for i := range 700 + r.IntN(2000) {
			s := tracetest.RandomSpec(r, 1000)
			s.ID = uint64(part*10_000 + i)
			s.Parent = uint64(r.IntN(part*10_000 + i + 1))
			if part%3 == 0 {
				s.Memory = 0
				s.Step = op.Int{}
				s.Launch = op.Int{}
				s.Root = ""
				s.RootID = 0
			}
			specs = append(specs, s)
		}
	}
	all := whole(specs, trace.MaxRows)
	for workers := 1; workers <= 4; workers++ {
		traces := tracesOf(r, specs, workers, trace.MaxRows, 6000)
		traces[0].Merge(traces[1:]...)
		checkSameRows(t, all, traces[0])
		check.Equal(t, fmt.Sprintf("%d workers", workers), all.Structure(), traces[0].Structure())
		traces[0].Add(tracetest.OpAt("more", 1, 0, 0, 10).Record())
		traces[0].Build()
		check.Equal(t, fmt.Sprintf("%d workers: a row added later has the memory size", workers), 0,
			traces[0].Memory(traces[0].N-1))
	}
}

// A forest without some rows equals a forest of the other rows, with children of removed rows moved up.
func TestWithout(t *testing.T) {
	cases.Seeds(t, 150, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, 1+r.IntN(60))
		forest := tracetest.AddTo(trace.New(), specs...)
		forest.Build()
		out := make([]bool, len(specs))
		for i := range out {
			out[i] = r.IntN(4) == 0
		}
		left := tracetest.AddTo(trace.New(), tracetest.NaiveReduced(specs, out)...)
		check.Equal(t, fmt.Sprintf("seed %d", seed), tellEverything(t, left), tellEverything(t, forest.Without(out)))
	})
}

const benchmarkOperations = 20_000

func forestOf(records []op.Record) *trace.Forest {
	forest := trace.New()
	for _, rec := range records {
		forest.Add(rec)
	}
	return forest
}

func BenchmarkAddOperations(b *testing.B) {
	records := slices.Collect(tracetest.Requests(benchmarkOperations))
	b.ReportAllocs()
	for b.Loop() {
		forestOf(records)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(records)), "ns/record")
}

func BenchmarkBuildTree(b *testing.B) {
	forest := forestOf(slices.Collect(tracetest.Requests(benchmarkOperations)))
	shifts := make([]int64, forest.Len())
	b.ReportAllocs()
	for b.Loop() {
		forest.Shift(shifts, nil) // discards the tree
		forest.Build()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*forest.Len()), "ns/record")
}

func BenchmarkMergeForests(b *testing.B) {
	records := slices.Collect(tracetest.Requests(benchmarkOperations))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		first := forestOf(records[:len(records)/2])
		second := forestOf(records[len(records)/2:])
		b.StartTimer()
		first.Merge(second)
	}
}

// linkedSteps returns n spans of the given length, one per trace and 10 ns apart, with links to other spans.
func linkedSteps(n int, length int64, to func(i int) []int) *trace.Forest {
	f := trace.New()
	for i := range n {
		s := op.Span{Name: "step", TraceID: traceID(i), SpanID: op.SpanID{7: 1}, Start: op.Known(int64(10 * i)),
			Duration: length}
		for _, j := range to(i) {
			if 0 <= j && j < n {
				s.Links = append(s.Links, op.Link{TraceID: traceID(j), SpanID: s.SpanID})
			}
		}
		f.AddSpan(&s)
	}
	return f
}

func traceID(i int) op.TraceID {
	return op.TraceID{12: byte(i >> 16), 13: byte(i >> 8), 14: byte(i), 15: 1}
}

// Memory for joining executions grows linearly with the links, in any pattern.
func TestLinksTakeLinearMemory(t *testing.T) {
	cases.NotUnderRace(t, "measures memory")
	const n = 4000
	for name, chain := range map[string]struct {
		n      int
		length int64
		to     func(i int) []int
	}{
		"back":        {n, 9, func(i int) []int { return []int{i - 1} }},
		"forward":     {n, 9, func(i int) []int { return []int{i + 1} }},
		"ring":        {n, 9, func(i int) []int { return []int{(i + 1) % n} }},
		"to two":      {n, 9, func(i int) []int { return []int{i - 1, i - 2} }},
		"overlapping": {n, 10 * n, func(i int) []int { return []int{i - 1} }},
		"of requests": {n, 10 * n, func(i int) []int { return []int{i - 1, (i - n/2) / 2} }},
	} {
		bytes := func(n int) uint64 {
			f := linkedSteps(n, chain.length, chain.to)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f.Build()
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		half := bytes(2 * n)
		whole := bytes(4 * n)
		if float64(whole) > 2.6*float64(half) {
			t.Errorf("%s: %d steps take %d bytes, %d take %d", name, 2*n, half, 4*n, whole)
		}
	}
}
