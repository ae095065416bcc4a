package seed

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

	"github.com/optrace/optrace/analyze/internal/random"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// exactSeed sums up with a map per question and a check at every addition, in
// the order of the entries.
type exactSeed struct{ *seed.Trace }

func (s exactSeed) sumBy(key func(*op.Entry) (string, bool)) map[string]totals {
	sums := make(map[string]totals)
	for i := range s.Entries {
		e := &s.Entries[i]
		if k, ok := key(e); ok {
			sum := sums[k]
			sum.count++
			sum.duration = wide.AddSaturating(sum.duration, e.Duration)
			sum.memory = wide.AddSaturating(sum.memory, e.MemoryBytes.V)
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

func (s exactSeed) byDevice() map[string]totals {
	return s.sumBy(func(e *op.Entry) (string, bool) { return e.DeviceID, e.DeviceID != "" })
}

func (s exactSeed) devices() map[string]DeviceSummary {
	summary := map[string]DeviceSummary{}
	for name, sum := range s.byDevice() {
		summary[name] = DeviceSummary{sum.count, microseconds(sum.duration), sum.memory}
	}
	return summary
}

func (s exactSeed) balance() *Balance {
	var devices []Sum
	for device, sum := range s.byDevice() {
		devices = append(devices, Sum{Name: device, NS: sum.duration})
	}
	return NewBalance(devices)
}

func (s exactSeed) bottlenecks(minRatio float64) []Bottleneck {
	var found []Sum
	for name, sum := range s.sumBy(func(e *op.Entry) (string, bool) {
		return e.Operation, op.IsCommunicationName(e.Operation)
	}) {
		found = append(found, Sum{name, sum.count, sum.duration})
	}
	return Bottlenecks(found, s.TotalDuration, minRatio)
}

func (s exactSeed) flamegraph() string {
	weights := map[string]int64{}
	for _, e := range s.Entries {
		us := e.Duration / 1000
		if e.Duration%1000 >= 500 {
			us++
		}
		stack := "trace;" + stacks.Collapse(cmp.Or(e.DeviceID, "unknown")) + ";" + stacks.Collapse(e.Operation)
		weights[stack] = wide.AddSaturating(weights[stack], max(us, 1))
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
func wildTrace(r *rand.Rand, n int, huge bool) *seed.Trace {
	t := &seed.Trace{}
	for i := range n {
		e := random.Entry(r, i)
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
	return t
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// Both forms of a trace give exactly what the plain form gives.
func TestColumnsAndFunctionsAgainstDefinition(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		trace := wildTrace(r, r.IntN(300), seed%3 == 0)
		want, columns := exactSeed{trace}, NewColumns(trace)
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
		check("MemoryHotspots", want.hotspots(threshold), places(trace, MemoryHotspots(trace, threshold)))
		check("TotalDuration", trace.TotalDuration, columns.TotalDuration)
	})
}

// places returns where the entries stand in t.
func places(t *seed.Trace, entries []*op.Entry) []int {
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
func TestColumnsAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	trace := wildTrace(r, 5000, false)
	trace.TotalDuration = 0
	columns := NewColumns(nil)
	var e op.Entry
	for i := range trace.Entries {
		e = *trace.Entries[i].Clone()
		columns.Add(&e)
		if e.Side != op.SideHost {
			trace.TotalDuration = wide.AddSaturating(trace.TotalDuration, e.Duration)
		}
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
func TestSummaryIsASnapshot(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	first, more := wildTrace(r, 100, false), wildTrace(r, 3000, false)
	columns := NewColumns(first)
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
			columns.Entry(2000)
		})
	}
	group.Wait()
}

func TestColumnsAddDoesNotAllocate(t *testing.T) {
	entries := seedEntries(2 * blockRows).Entries
	columns := NewColumns(nil)
	for i := range entries[:blockRows+1] {
		columns.Add(&entries[i])
	}
	i := 0
	if n := testing.AllocsPerRun(blockRows-10, func() { columns.Add(&entries[i]); i++ }); n != 0 {
		t.Errorf("%g allocations per entry", n)
	}
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
		beyond := NewColumns(trace)
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
