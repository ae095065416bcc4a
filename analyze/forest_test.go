package analyze

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// everything is what a Trace can tell, to compare two of them.
type everything struct {
	Structure   counts
	SelfTimes   map[operationKey]int64
	Timelines   []timeline
	Idle        *idleTimes
	Utilisation *Utilisation
	Memory      *MemoryUse
	Concurrency []DeviceConcurrency
	Steps       []Step
	Paths       *PathSummary
	Requests    []string
	Endpoints   []Endpoint
	Unattached  []string
	Stacks      string
	Collectives []CollectiveRow
}

func tellEverything(t *testing.T, forest *Forest) everything {
	t.Helper()
	var stacks bytes.Buffer
	if err := forest.WriteCollapsed(&stacks); err != nil {
		t.Error(err)
	}
	requests := forest.Requests()
	return everything{
		Structure:   forest.structure(),
		SelfTimes:   forest.operationSelfTimes(),
		Timelines:   forest.timelines(),
		Idle:        forest.idle(idleOptions{threshold: 20}),
		Utilisation: forest.utilisation(7),
		Memory:      forest.memoryUse(7),
		Concurrency: forest.concurrency(),
		Steps:       forest.stepRows(),
		Paths:       forest.criticalPathSummary(),
		Requests:    describeRequests(requests),
		Endpoints:   requests.Endpoints(),
		Unattached:  names(requests.Unattached()),
		Stacks:      stacks.String(),
		Collectives: forest.collectiveRows(),
	}
}

func describeRequests(requests *Requests) []string {
	var list []string
	for i := range requests.List {
		r := &requests.List[i]
		list = append(list, fmt.Sprint(r.Name, r.TraceID, r.SpanID, r.StartNS, r.DurationNS, r.UncoveredNS, r.QueueingNS, names(r.Operations())))
	}
	return list
}

// However the input is divided, merging the parts in order gives the same.
func TestMergeIsIndependentOfShards(t *testing.T) {
	cases.Seeds(t, 60, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, 1+r.IntN(60))
		want := tellEverything(t, addTo(NewForest(), specs...))
		for shards := 1; shards <= 5; shards++ {
			merged := NewForest()
			for i := range shards {
				shard := addTo(NewForest(), specs[i*len(specs)/shards:(i+1)*len(specs)/shards]...)
				if r.IntN(2) == 0 {
					shard.build()
				}
				merged.Merge(shard)
				if r.IntN(3) == 0 {
					merged.build()
				}
			}
			if diff := cmp.Diff(want, tellEverything(t, merged)); diff != "" {
				t.Errorf("seed %d: %d shards (-whole +merged):\n%s", seed, shards, diff)
			}
		}
	})
}

func TestMergeLeavesTheOther(t *testing.T) {
	specs := randomSpecs(rand.New(rand.NewPCG(1, 2)), 50)
	other := addTo(NewForest(), specs...)
	want := tellEverything(t, other)
	forest := addTo(NewForest(), specs[:10]...)
	forest.Merge(other)
	forest.Add(opAt("more", 99, 0, 0, 10).record())
	forest.build()
	if diff := cmp.Diff(want, tellEverything(t, other)); diff != "" {
		t.Errorf("merging changed the other (-before +after):\n%s", diff)
	}
}

func TestBuildIsIdempotent(t *testing.T) {
	specs := randomSpecs(rand.New(rand.NewPCG(3, 4)), 80)
	forest := addTo(NewForest(), specs[:40]...)
	forest.build()
	first := tellEverything(t, forest)
	forest.build()
	if diff := cmp.Diff(first, tellEverything(t, forest)); diff != "" {
		t.Errorf("a second Build changed something (-before +after):\n%s", diff)
	}
	for _, s := range specs[40:] { // goes on after a Build
		forest.Add(s.record())
	}
	if diff := cmp.Diff(tellEverything(t, addTo(NewForest(), specs...)), tellEverything(t, forest)); diff != "" {
		t.Errorf("adding after Build (-want +got):\n%s", diff)
	}
}

// What does not fit is counted, whether it is added or merged.
func TestMaxRows(t *testing.T) {
	specs := []spec{
		opAt("a", 1, 0, 0, 10).as(op.KindCollective), spanAt("b", 2, 0, 0, 10),
		opAt("c", 3, 0, 0, 10).as(op.KindCollective), opAt("d", 4, 0, 1<<62, 1<<62),
	}
	limited := newForest(2)
	for _, s := range specs {
		limited.Add(s.record())
	}
	merged := newForest(2)
	merged.Merge(addTo(NewForest(), specs[:1]...))
	merged.Merge(addTo(NewForest(), specs[1:]...))
	want := tellEverything(t, limited)
	if diff := cmp.Diff(counts{Ops: 1, Spans: 1, BadTimes: 1, Overflow: 2}, want.Structure); diff != "" {
		t.Errorf("structure (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, tellEverything(t, merged)); diff != "" {
		t.Errorf("(-added +merged):\n%s", diff)
	}
}

// The entry given to Add is used again by its reader.
func TestAddKeepsNothingOfTheEntry(t *testing.T) {
	specs := randomSpecs(rand.New(rand.NewPCG(5, 6)), 40)
	forest := NewForest()
	var e op.Entry
	for _, s := range specs {
		if !s.isOp {
			forest.Add(s.record())
			continue
		}
		e = *s.entry()
		forest.Add(op.Record{Entry: &e})
		e = op.Entry{Operation: "overwritten", Duration: 99}
	}
	if diff := cmp.Diff(tellEverything(t, addTo(NewForest(), specs...)), tellEverything(t, forest)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnalysesConcurrentSafe(t *testing.T) {
	forest := addTo(NewForest(), randomSpecs(rand.New(rand.NewPCG(7, 8)), 100)...)
	forest.build()
	want := tellEverything(t, forest)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if diff := cmp.Diff(want, tellEverything(t, forest)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
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
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	forest := NewForest()
	addRequests(forest, entries)
	added := heap()
	forest.build()
	built := float64(heap()-before) / float64(entries)
	t.Logf("%.1f bytes per entry before Build, %.1f after", float64(added-before)/float64(entries), built)
	if built > maxBytesPerEntry {
		t.Errorf("%.1f bytes per entry, want at most %d", built, maxBytesPerEntry)
	}
	runtime.KeepAlive(forest)
}
