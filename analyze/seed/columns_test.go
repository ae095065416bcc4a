package seed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

func TestColumnsConcurrentSafe(t *testing.T) {
	columns := NewColumns(wildTrace(rand.New(rand.NewPCG(5, 6)), 3000, false))
	s := columns.Summary()
	want := s.FlamegraphCollapsed()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if s.FlamegraphCollapsed() != want || columns.Summary().FlamegraphCollapsed() != want || len(columns.SlowestOps(3)) != 3 {
				t.Error("another result")
			}
		})
	}
	group.Wait()
}

// seedEntries is the trace of the benchmarks: 40 operations on 8 devices.
func seedEntries(n int) *seed.Trace {
	r := rand.New(rand.NewPCG(7, 8))
	names, devices := make([]string, 40), make([]string, 8)
	for i := range names {
		names[i] = fmt.Sprintf("operation_%d", i)
	}
	for i := range devices {
		devices[i] = fmt.Sprintf("cuda:%d", i)
	}
	base := make([]op.Entry, 320)
	for i := range base {
		name := i % 40
		base[i] = op.Entry{
			Operation: names[name], DeviceID: devices[i/40],
			InputShapes: []op.Shape{{64, int64(name)}, {int64(name), 256}}, OutputShape: op.Shape{64, 256},
			OutputElements: op.Known(64 * 256), MemoryBytes: op.Known(64 * 256 * 4),
		}
	}
	t := &seed.Trace{Entries: make([]op.Entry, n)}
	for i := range t.Entries {
		e := &t.Entries[i]
		*e = base[r.IntN(320)]
		if e.Operation == "operation_7" {
			e.Operation = "allreduce"
		}
		e.Step = op.Known(int64(i))
		e.Duration = int64(math.Exp(r.NormFloat64()*1.5) * 50_000)
		t.TotalDuration += e.Duration
	}
	return t
}

// BenchmarkSeedAnalyses runs the seed's five analyses over a million entries in
// memory: operation summary, device summary, collapsed stacks, communication
// bottlenecks and the ten slowest. Every run goes over all entries again.
func BenchmarkSeedAnalyses(b *testing.B) {
	const entries = 1_000_000
	trace := seedEntries(entries)
	columns := NewColumns(trace)
	b.Run("columns", func(b *testing.B) {
		for b.Loop() {
			s := columns.Summary()
			s.OperationSummary()
			s.PerDeviceSummary()
			s.FlamegraphCollapsed()
			s.CommunicationBottlenecks(0.01)
			columns.SlowestOps(10)
		}
		perEntry(b, entries)
	})
	b.Run("columns/build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewColumns(trace)
		}
		perEntry(b, entries)
	})
	b.Run("entries", func(b *testing.B) {
		for b.Loop() {
			OperationSummary(trace)
			PerDeviceSummary(trace)
			FlamegraphCollapsed(trace)
			CommunicationBottlenecks(trace, 0.01)
			trace.SlowestOps(10)
		}
		perEntry(b, entries)
	})
}

func BenchmarkStacks(b *testing.B) {
	entries := seedEntries(1 << 12).Entries
	var s Stacks
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Add(&entries[i&(1<<12-1)])
	}
}

func perEntry(b *testing.B, entries int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
}
