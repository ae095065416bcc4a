package analyze

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

// exactSeed sums up with a map per question and a check at every addition, in
// the order of the entries.
type exactSeed struct{ *op.Trace }

func (s exactSeed) sumBy(key func(*op.Entry) (string, bool)) map[string]seedSum {
	sums := make(map[string]seedSum)
	for i := range s.Entries {
		e := &s.Entries[i]
		if k, ok := key(e); ok {
			sum := sums[k]
			sum.count++
			sum.duration = addSaturating(sum.duration, e.Duration)
			sum.memory = addSaturating(sum.memory, e.MemoryBytes.V)
			sums[k] = sum
		}
	}
	return sums
}

func (s exactSeed) operations() map[string]OpSummary {
	summary := map[string]OpSummary{}
	for name, sum := range s.sumBy(func(e *op.Entry) (string, bool) { return e.Operation, true }) {
		summary[name] = OpSummary{sum.count, microseconds(sum.duration), sum.memory}
	}
	return summary
}

func (s exactSeed) averages() map[string]float64 {
	avg := map[string]float64{}
	for name, sum := range s.operations() {
		avg[name] = sum.TotalDurationUS / float64(sum.Count)
	}
	return avg
}

func (s exactSeed) byDevice() map[string]seedSum {
	return s.sumBy(func(e *op.Entry) (string, bool) { return e.DeviceID, e.DeviceID != "" })
}

func (s exactSeed) devices() map[string]DeviceSummary {
	summary := map[string]DeviceSummary{}
	for name, sum := range s.byDevice() {
		summary[name] = DeviceSummary{sum.count, microseconds(sum.duration), sum.memory}
	}
	return summary
}

func (s exactSeed) balance() *LoadBalanceMetrics {
	var devices []deviceSum
	for device, sum := range s.byDevice() {
		devices = append(devices, deviceSum{device, sum.duration})
	}
	return loadBalance(devices)
}

func (s exactSeed) bottlenecks(minRatio float64) []CommunicationBottleneck {
	var found []communication
	for name, sum := range s.sumBy(func(e *op.Entry) (string, bool) {
		return e.Operation, op.IsCommunicationName(e.Operation)
	}) {
		found = append(found, communication{name, sum.duration, sum.count})
	}
	return bottlenecks(found, s.TotalDuration, minRatio)
}

func (s exactSeed) flamegraph() string {
	weights := map[string]int64{}
	for _, e := range s.Entries {
		us := e.Duration / 1000
		if e.Duration%1000 >= 500 {
			us++
		}
		stack := "trace;" + cmp.Or(e.DeviceID, "unknown") + ";" + e.Operation
		weights[stack] = addSaturating(weights[stack], max(us, 1))
	}
	var lines []string
	for _, stack := range slices.Sorted(maps.Keys(weights)) {
		lines = append(lines, fmt.Sprint(stack, " ", weights[stack]))
	}
	return strings.Join(lines, "\n")
}

func (s exactSeed) slowest(n int) []int {
	all := make([]int, len(s.Entries))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(s.Entries[b].Duration, s.Entries[a].Duration) })
	return all[:max(0, min(n, len(all)))]
}

func (s exactSeed) hotspots(threshold int64) []int {
	places := []int{}
	for i := range s.Entries {
		if s.Entries[i].MemoryBytes.V > threshold {
			places = append(places, i)
		}
	}
	return places
}

// wildTrace is a random trace with what tells implementations apart: names in
// both cases, without a device or on one called "unknown", stacks that read the
// same, durations around rounding, of zero, below it, and, where huge is set,
// sums beyond 64 bits.
func wildTrace(r *rand.Rand, n int, huge bool) *op.Trace {
	t := &op.Trace{}
	for i := range n {
		e := randomEntry(r, i)
		e.Operation = pick(r, e.Operation, "allreduce", "AllReduce", "matmul", "", "b;c", "c")
		e.DeviceID = pick(r, "", "unknown", "cuda:0", "CUDA:0", "a;b", "a")
		e.Duration = pick(r, 0, 1, 499, 500, 501, 999, 1000, 1499, 1500, e.Duration, -e.Duration, -700)
		if r.IntN(4) == 0 {
			e.OutputElements = op.Known(int64(r.IntN(3)))
		}
		if huge && r.IntN(3) == 0 {
			e.Duration = pick[int64](r, math.MaxInt64, math.MaxInt64-1, math.MaxInt64/2, math.MinInt64, math.MinInt64/2)
			e.MemoryBytes = op.Known(pick[int64](r, math.MaxInt64, math.MaxInt64/3, -5))
		}
		t.AddEntry(&e)
	}
	if r.IntN(3) == 0 {
		t.TotalDuration = r.Int64N(1_000_000)
	}
	return t.WithMetadata("model", "resnet50")
}

// Both forms of a trace give exactly what the plain form gives.
func TestColumnTraceDifferential(t *testing.T) {
	seeds(300, func(seed uint64, r *rand.Rand) {
		trace := wildTrace(r, r.IntN(300), seed%3 == 0)
		want, columns := exactSeed{trace}, NewColumnTrace(trace)
		s := columns.Summary()
		minRatio, threshold := r.Float64(), int64(r.IntN(100))-10
		check := func(name string, want any, got ...any) {
			t.Helper()
			for _, g := range got {
				if diff := gocmp.Diff(want, g); diff != "" {
					t.Errorf("seed %d: %s (-want +got):\n%s", seed, name, diff)
				}
			}
		}
		check("OperationSummary", want.operations(), s.OperationSummary(), OperationSummary(trace))
		check("AvgDurationByOp", want.averages(), s.AvgDurationByOp(), AvgDurationByOp(trace))
		check("PerDeviceSummary", want.devices(), s.PerDeviceSummary(), PerDeviceSummary(trace))
		check("LoadBalance", want.balance(), s.LoadBalance(), LoadBalance(trace))
		check("CommunicationBottlenecks", want.bottlenecks(minRatio),
			s.CommunicationBottlenecks(minRatio), CommunicationBottlenecks(trace, minRatio))
		check("FlamegraphCollapsed", want.flamegraph(), s.FlamegraphCollapsed(), FlamegraphCollapsed(trace))
		for _, n := range []int{-1, 0, 1, 2, 7, len(trace.Entries) / 2, len(trace.Entries), 1000} {
			check(fmt.Sprint("SlowestOps ", n), want.slowest(n), columns.SlowestOps(n), places(trace, trace.SlowestOps(n)))
		}
		check("MemoryHotspots", want.hotspots(threshold), columns.MemoryHotspots(threshold),
			places(trace, MemoryHotspots(trace, threshold)))
		check("totals",
			[]any{trace.StepCount(), trace.TotalDuration, trace.TotalDurationUS(), trace.TotalMemoryBytes(), trace.PeakMemoryBytes(), trace.Metadata},
			[]any{columns.StepCount(), columns.TotalDuration, columns.TotalDurationUS(), columns.TotalMemoryBytes(), columns.PeakMemoryBytes(), columns.Metadata})
	})
}

// places returns where the entries stand in t.
func places(t *op.Trace, entries []*op.Entry) []int {
	at := make(map[*op.Entry]int, len(t.Entries))
	for i := range t.Entries {
		at[&t.Entries[i]] = i
	}
	found := make([]int, len(entries))
	for i, e := range entries {
		found[i] = at[e]
	}
	return found
}

// More than a block of entries, added one by one, whose memory is used again.
func TestColumnTraceAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	trace := wildTrace(r, 5000, false)
	trace.TotalDuration = 0
	columns := NewColumnTrace(nil)
	var e op.Entry
	for i := range trace.Entries {
		e = *trace.Entries[i].Clone()
		columns.Add(&e)
		trace.TotalDuration = addSaturating(trace.TotalDuration, e.Duration)
		for _, s := range append(e.InputShapes, e.OutputShape) {
			for k := range s {
				s[k] = 99
			}
		}
	}
	if columns.TotalDuration != trace.TotalDuration {
		t.Errorf("total %d, want %d", columns.TotalDuration, trace.TotalDuration)
	}
	if diff := gocmp.Diff(exactSeed{trace}.operations(), columns.Summary().OperationSummary()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	for i := range trace.Entries {
		e := &trace.Entries[i]
		want := op.Entry{
			Step: e.Step, Operation: e.Operation, DeviceID: e.DeviceID, InputShapes: e.InputShapes,
			OutputShape: e.OutputShape, Duration: e.Duration, OutputElements: e.OutputElements, MemoryBytes: e.MemoryBytes,
		}
		if diff := gocmp.Diff(want, columns.Entry(i)); diff != "" {
			t.Fatalf("entry %d (-want +got):\n%s", i, diff)
		}
	}
}

// A summary stays as it is when the trace goes on.
func TestSeedSummaryIsASnapshot(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	first, more := wildTrace(r, 100, false), wildTrace(r, 3000, false)
	columns := NewColumnTrace(first)
	s := columns.Summary()
	for i := range more.Entries {
		e := &more.Entries[i]
		e.Operation += fmt.Sprint(i)
		columns.Add(e)
	}
	if diff := gocmp.Diff(exactSeed{first}.flamegraph(), s.FlamegraphCollapsed()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestColumnTraceConcurrentSafe(t *testing.T) {
	columns := NewColumnTrace(wildTrace(rand.New(rand.NewPCG(5, 6)), 3000, false))
	s := columns.Summary()
	want := s.FlamegraphCollapsed()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if s.FlamegraphCollapsed() != want || columns.Summary().FlamegraphCollapsed() != want || len(columns.SlowestOps(3)) != 3 {
				t.Error("another result")
			}
			columns.Entry(2000)
		})
	}
	group.Wait()
}

func TestColumnTraceAddDoesNotAllocate(t *testing.T) {
	entries := benchEntries()
	columns := NewColumnTrace(nil)
	for i := range entries[:blockRows+1] {
		columns.Add(&entries[i])
	}
	i := 0
	if n := testing.AllocsPerRun(blockRows-10, func() { columns.Add(&entries[i]); i++ }); n != 0 {
		t.Errorf("%g allocations per entry", n)
	}
}

// seedEntries is the trace of the benchmarks: 40 operations on 8 devices.
func seedEntries(n int) *op.Trace {
	r := rand.New(rand.NewPCG(7, 8))
	base := benchEntries()
	for i := range 8 { // a device for every operation
		for k := range 40 {
			base[i*40+k].DeviceID = fmt.Sprintf("cuda:%d", i)
		}
	}
	t := &op.Trace{Entries: make([]op.Entry, n)}
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
	columns := NewColumnTrace(trace)
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
	b.Run("columns/summary", func(b *testing.B) {
		for b.Loop() {
			columns.Summary()
		}
		perEntry(b, entries)
	})
	b.Run("columns/slowest", func(b *testing.B) {
		for b.Loop() {
			columns.SlowestOps(10)
		}
		perEntry(b, entries)
	})
	b.Run("columns/saturating", func(b *testing.B) {
		beyond := NewColumnTrace(trace)
		beyond.Add(&op.Entry{Operation: "matmul", Duration: math.MaxInt64})
		b.ResetTimer()
		for b.Loop() {
			beyond.Summary()
		}
		perEntry(b, entries)
	})
	b.Run("columns/build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewColumnTrace(trace)
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
	b.Run("entries/operations", func(b *testing.B) {
		for b.Loop() {
			OperationSummary(trace)
		}
		perEntry(b, entries)
	})
	b.Run("entries/maps", func(b *testing.B) {
		for b.Loop() {
			exactSeed{trace}.operations()
		}
		perEntry(b, entries)
	})
}
