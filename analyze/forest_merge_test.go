package analyze

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// tracesOf spreads the specs over workers in parts of random sizes, each
// worker's in ascending order.
func tracesOf(r *rand.Rand, specs []spec, workers, limit int) []*Forest {
	traces := make([]*Forest, workers)
	for i := range traces {
		traces[i] = newForest(limit)
	}
	first := r.Int64N(3)
	for part := first; len(specs) > 0; part++ {
		n := min(1+r.IntN(8), len(specs))
		forest := traces[r.IntN(workers)]
		forest.startPart(part)
		if r.IntN(5) == 0 {
			forest.startPart(part) // once more changes nothing
		}
		for _, s := range specs[:n] {
			forest.Add(s.record())
		}
		specs = specs[n:]
		if r.IntN(10) == 0 {
			forest.build()
		}
	}
	return traces
}

// Whichever parts each worker takes, merging gives what one Trace holds.
func TestMergeIsIndependentOfWorkers(t *testing.T) {
	cases.Seeds(t, 150, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, 1+r.IntN(80))
		limit := maxRows
		if r.IntN(2) == 0 {
			limit = 1 + r.IntN(80)
		}
		whole := newForest(limit)
		for _, s := range specs {
			whole.Add(s.record())
		}
		want := tellEverything(t, whole)
		workers := 1 + r.IntN(4)

		merged := newForest(limit)
		for _, w := range tracesOf(r, specs, workers, limit) {
			merged.Merge(w)
			if r.IntN(3) == 0 {
				merged.build()
			}
		}
		if diff := cmp.Diff(want, tellEverything(t, merged)); diff != "" {
			t.Errorf("seed %d: %d workers, one by one (-whole +merged):\n%s", seed, workers, diff)
		}

		traces := tracesOf(r, specs, workers, limit)
		traces[0].take(traces[1:])
		if diff := cmp.Diff(want, tellEverything(t, traces[0])); diff != "" {
			t.Errorf("seed %d: %d workers, all at once (-whole +merged):\n%s", seed, workers, diff)
		}
		checkSameRows(t, whole, traces[0])
		for i, o := range traces[1:] {
			if o.Len() != 0 {
				t.Errorf("seed %d: worker %d still holds rows", seed, i+1)
			}
		}
	})
}

// checkSameRows compares what two traces hold row by row.
func checkSameRows(t *testing.T, want, got *Forest) {
	t.Helper()
	if want.Len() != got.Len() {
		t.Errorf("%d rows, want %d", got.Len(), want.Len())
		return
	}
	for r := range want.rowCount() {
		a, b := describeRow(want, r), describeRow(got, r)
		if a != b {
			t.Errorf("row %d: %s, want %s", r, b, a)
			return
		}
	}
}

func describeRow(forest *Forest, r int32) string {
	stamp := forest.dict.stamps.Values[forest.stamp(r)]
	return fmt.Sprint(
		forest.start(r), forest.duration(r), forest.span(r), forest.parentID(r), forest.dict.traces.Values[forest.trace(r)], forest.rowName(r),
		forest.dict.lanes.Values[forest.lane(r)], forest.kind(r), forest.flags(r)&^builtFlags, forest.step(r), forest.memory(r), forest.launch(r),
		stamp.name, stamp.span, forest.dict.traces.Values[stamp.trace],
	)
}

// Parts longer than a block, and optional columns that some blocks lack, go
// through blocks that are used again.
func TestMergeUsesBlocksAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var specs []spec
	for part := range 12 {
		for i := range 700 + r.IntN(2000) {
			s := randomSpec(r, 1000)
			s.id, s.parent = uint64(part*10_000+i), uint64(r.IntN(part*10_000+i+1))
			if part%3 == 0 {
				s.memory, s.step, s.launch, s.root = 0, op.Int{}, op.Int{}, ""
				s.rootID = 0
			}
			specs = append(specs, s)
		}
	}
	whole := addTo(NewForest(), specs...)
	for workers := 1; workers <= 4; workers++ {
		traces := make([]*Forest, workers)
		for i := range traces {
			traces[i] = NewForest()
		}
		part := int64(0)
		for some := range slices.Chunk(specs, 1+r.IntN(3000)) {
			w := traces[r.IntN(workers)]
			w.startPart(part)
			part++
			for _, s := range some {
				w.Add(s.record())
			}
		}
		traces[0].take(traces[1:])
		checkSameRows(t, whole, traces[0])
		if got, want := traces[0].structure(), whole.structure(); got != want {
			t.Errorf("%d workers: %+v, want %+v", workers, got, want)
		}
		traces[0].Add(opAt("more", 1, 0, 0, 10).record())
		if got := traces[0].memory(traces[0].n - 1); got != 0 {
			t.Errorf("%d workers: a row added later has the memory size %d", workers, got)
		}
	}
}

func TestMergePartsLeavesTheOther(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	traces := tracesOf(r, randomSpecs(r, 60), 2, maxRows)
	want := tellEverything(t, traces[1])
	traces[0].Merge(traces[1])
	traces[0].startPart(99)
	traces[0].Add(opAt("more", 99, 0, 0, 10).record())
	traces[0].build()
	if diff := cmp.Diff(want, tellEverything(t, traces[1])); diff != "" {
		t.Errorf("merging changed the other (-before +after):\n%s", diff)
	}
}

// Merging uses the blocks of the rows that it has read again. What it has read is freed.
func TestMergeMemory(t *testing.T) {
	cases.NotUnderRace(t, "the race detector's memory is counted as well")
	const entries = 400_000
	forest := NewForest()
	other := NewForest()
	for part := range int64(200) {
		w := pickTrace(part, forest, other)
		w.startPart(part)
		addRequests(w, entries/200)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	forest.take([]*Forest{other})
	runtime.ReadMemStats(&after)
	perEntry := float64(after.TotalAlloc-before.TotalAlloc) / entries
	t.Logf("%.1f bytes allocated per entry", perEntry)
	if perEntry > 30 {
		t.Errorf("%.1f bytes allocated per entry", perEntry)
	}
}

func pickTrace(part int64, traces ...*Forest) *Forest { return traces[int(part)%len(traces)] }

func BenchmarkMergeTraces(b *testing.B) {
	const entries = 1_000_000
	for _, partEntries := range []int{1000, 4000, 100_000} {
		b.Run(fmt.Sprintf("part=%d", partEntries), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				traces := []*Forest{NewForest(), NewForest()}
				for part := range int64(entries / partEntries) {
					w := pickTrace(part, traces...)
					w.startPart(part)
					addRequests(w, partEntries)
				}
				runtime.GC()
				b.StartTimer()
				traces[0].take(traces[1:])
			}
			perEntry(b, entries)
		})
	}
}
