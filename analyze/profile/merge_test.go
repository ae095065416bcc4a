package profile

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Profiles without parts merge in the order of the calls.
func TestProfileMergeWithoutChunksKeepsOrder(t *testing.T) {
	opts := Options{}
	opts.Top = 3
	opts.HotspotBytes = -1
	add := func(p *Profile, names ...string) {
		for _, name := range names {
			p.Add(&op.Entry{Operation: name, Duration: 5, MemoryBytes: op.Known(1)})
		}
	}
	a := New(opts)
	b := New(opts)
	c := New(opts)
	add(a, "1", "2")
	add(b, "3")
	add(c, "4", "5")
	a.Merge(b)
	a.Merge(c)
	add(a, "6")
	rep := a.Sums()
	for name, list := range map[string][]*op.Entry{"slowest": rep.Slowest, "hotspots": rep.Hotspots} {
		got := ""
		for _, e := range list {
			got += e.Operation
		}
		check.Equal(t, name, "123", got)
	}
	check.Equal(t, "hotspots", 6, rep.HotspotCount)
}

// Merging leaves the source unchanged and shares no mutable state with it, because live shards go on counting.
func TestProfileMergeLeavesSource(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	opts := Options{By: tracetest.Keys("device,shape"), MaxGroups: 3, Peaks: tracetest.TestPeaks()}
	shard := New(opts)
	entries := tracetest.RandomEntries(r, 500)
	for i := range entries[:250] {
		shard.Add(&entries[i])
	}
	before := shard.Sums()
	sum := New(opts)
	sum.Merge(shard)
	check.Equal(t, "a merged copy", before, sum.Sums(), tracetest.EqualKeys)
	for i := range entries[250:] {
		sum.Add(&entries[250+i])
	}
	check.Equal(t, "the source changed", before, shard.Sums(), tracetest.EqualKeys)
}

// The profile retains no memory of entries, which readers reuse.
func TestProfileKeepsNoEntry(t *testing.T) {
	opts := Options{}
	opts.HotspotBytes = -1
	opts.By = tracetest.Keys("shape")
	p := New(opts)
	dims := []int64{2, 3}
	e := op.Entry{OutputShape: dims, InputShapes: []op.Shape{dims}, Operation: "a", Duration: 9,
		MemoryBytes: op.Known(1)}
	p.Add(&e)
	want := p.Sums()
	wantText := fmt.Sprint(want.Slowest[0].OutputShape, want.Groups[0].Key)
	dims[0] = 7
	e = op.Entry{Operation: "overwritten"}
	got := p.Sums()
	check.Equal(t, "", want, got, tracetest.EqualKeys)
	check.Equal(t, "", wantText, fmt.Sprint(got.Slowest[0].OutputShape, got.Groups[0].Key))
}

// Adding to an existing group does not allocate.
func TestProfileAddDoesNotAllocate(t *testing.T) {
	opts := Options{}
	opts.By = tracetest.Keys("device,shape,trace")
	p := New(opts)
	entries := tracetest.RandomEntries(rand.New(rand.NewPCG(1, 2)), 1000)
	for range 3 {
		for i := range entries {
			p.Add(&entries[i])
		}
	}
	i := 0
	check.Equal(t, "allocations per entry", 0,
		testing.AllocsPerRun(2000, func() { p.Add(&entries[i%len(entries)]); i++ }))
}

func BenchmarkAddEntry(b *testing.B) {
	entries := tracetest.RandomEntries(rand.New(rand.NewPCG(1, 2)), 1000)
	p := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		for i := range entries {
			p.Add(&entries[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/entry")
}
