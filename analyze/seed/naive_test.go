package seed

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// naiveSeed has the analyses in their plainest form: a map per question, and saturating sums.
type naiveSeed struct{ *Trace }

// naiveSum sums up the entries of an operation or device.
type naiveSum struct {
	count        int64
	ns, memory   int64
	microseconds float64
}

func saturated(a, b int64) int64 {
	switch sum := a + b; {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	default:
		return sum
	}
}

func (n naiveSeed) sumBy(name func(*op.Entry) (string, bool)) map[string]naiveSum {
	sums := map[string]naiveSum{}
	for i := range n.Entries {
		e := &n.Entries[i]
		if key, ok := name(e); ok {
			sum := sums[key]
			sum.count++
			sum.ns = saturated(sum.ns, e.Duration)
			sum.memory = saturated(sum.memory, e.MemoryBytes.V)
			sum.microseconds = float64(sum.ns) / 1000
			sums[key] = sum
		}
	}
	return sums
}

func (n naiveSeed) byOperation() map[string]naiveSum {
	return n.sumBy(func(e *op.Entry) (string, bool) { return e.Operation, true })
}

func (n naiveSeed) byDevice() map[string]naiveSum {
	return n.sumBy(func(e *op.Entry) (string, bool) { return e.DeviceID, e.HasDevice() })
}

func mapped[V any](sums map[string]naiveSum, of func(s naiveSum) V) map[string]V {
	m := map[string]V{}
	for name, s := range sums {
		m[name] = of(s)
	}
	return m
}

func (n naiveSeed) balance() *Balance {
	devices := n.byDevice()
	if len(devices) < 2 {
		return nil
	}
	b := &Balance{DeviceCount: len(devices)}
	total := int64(0)
	for device, s := range devices {
		b.PerDeviceDurationUS = append(b.PerDeviceDurationUS, DeviceDuration{device, s.microseconds})
		b.MaxDurationUS = max(b.MaxDurationUS, s.microseconds)
	}
	slices.SortFunc(b.PerDeviceDurationUS, func(x, y DeviceDuration) int { return strings.Compare(x.Device, y.Device) })
	for _, d := range b.PerDeviceDurationUS {
		total = saturated(total, devices[d.Device].ns)
	}
	b.TotalDurationUS = float64(total) / 1000
	b.IdealDurationUS = b.TotalDurationUS / float64(len(devices))
	if b.IdealDurationUS > 0 {
		b.ImbalanceRatio = max(0, (b.MaxDurationUS-b.IdealDurationUS)/b.IdealDurationUS)
	}
	return b
}

func (n naiveSeed) bottlenecks(minRatio float64) []Bottleneck {
	total := max(1e-9, float64(n.TotalDuration)/1000)
	result := []Bottleneck{}
	for name, s := range n.byOperation() {
		lower := strings.ToLower(name)
		words := []string{"allreduce", "all_gather", "reduce_scatter", "broadcast", "send", "recv", "comm"}
		if !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(lower, word) }) {
			continue
		}
		if ratio := s.microseconds / total; ratio >= minRatio {
			result = append(result, Bottleneck{name, s.microseconds, ratio, s.count})
		}
	}
	slices.SortFunc(result, func(a, b Bottleneck) int {
		return cmp.Or(cmp.Compare(b.TotalDurationUS, a.TotalDurationUS), strings.Compare(a.Operation, b.Operation))
	})
	return result
}

func (n naiveSeed) collapsed() string {
	weights := map[string]int64{}
	for _, e := range n.Entries {
		device := e.DeviceID
		if !e.HasDevice() {
			device = "unknown"
		}
		us := e.Duration / 1000
		if e.Duration%1000 >= 500 {
			us++
		}
		stack := "trace;" + strings.ReplaceAll(device, ";", ":") + ";" + strings.ReplaceAll(e.Operation, ";", ":")
		weights[stack] = saturated(weights[stack], max(us, 1))
	}
	var lines []string
	for stack, weight := range weights {
		lines = append(lines, stack+" "+strconv.FormatInt(weight, 10))
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(a[:strings.LastIndexByte(a, ' ')], b[:strings.LastIndexByte(b, ' ')])
	})
	return strings.Join(lines, "\n")
}

func (n naiveSeed) slowest(most int) []*op.Entry {
	all := []*op.Entry{}
	for i := range n.Entries {
		all = append(all, &n.Entries[i])
	}
	slices.SortStableFunc(all, func(a, b *op.Entry) int { return cmp.Compare(b.Duration, a.Duration) })
	return all[:max(0, min(most, len(all)))]
}

func (n naiveSeed) hotspots(threshold int64) []*op.Entry {
	found := []*op.Entry{}
	for i := range n.Entries {
		if n.Entries[i].MemoryBytes.V > threshold {
			found = append(found, &n.Entries[i])
		}
	}
	return found
}

// wildTrace is a random trace with rare values: names in both cases, absent devices and ones called "" or "unknown",
// stacks of equal text, durations around rounding, zero and negative ones, and, if huge is set, sums beyond 64 bits.
func wildTrace(r *rand.Rand, n int, huge bool) *Trace {
	t := &Trace{}
	still := r.IntN(8) == 0
	for i := range n {
		e := tracetest.RandomEntry(r, i)
		e.Operation = tracetest.Pick(r, e.Operation, "allreduce", "AllReduce", "matmul", "", "b;c", "c",
			"REDUCE_SCATTER",
			"all_to_all")
		e.DeviceID = tracetest.Pick(r, "", "unknown", "cuda:0", "CUDA:0", "a;b", "a")
		e.EmptyDevice = e.DeviceID == "" && r.IntN(2) == 0
		e.Duration = tracetest.Pick(r, 0, 1, 499, 500, 501, 999, 1000, 1499, 1500, e.Duration, -e.Duration, -700)
		if still {
			e.Duration = 0
		} else if huge && r.IntN(3) == 0 {
			e.Duration = tracetest.Pick[int64](r, math.MaxInt64, math.MaxInt64-1, math.MaxInt64/2, math.MinInt64,
				math.MinInt64/2)
			e.MemoryBytes = op.Known(tracetest.Pick[int64](r, math.MaxInt64, math.MaxInt64/3, -5))
		}
		t.AddEntry(&e)
	}
	if r.IntN(3) == 0 {
		t.TotalDuration = r.Int64N(1_000_000)
	}
	return t
}

func TestAnalysesAgainstDefinition(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		trace := wildTrace(r, r.IntN(1+r.IntN(300)), seed%3 == 0)
		want := naiveSeed{trace}
		minRatio := r.Float64()
		threshold := int64(r.IntN(100)) - 10
		verify := func(name string, want, got any) {
			t.Helper()
			check.Equal(t, fmt.Sprintf("seed %d: %s", seed, name), want, got, cmpopts.EquateApprox(1e-15, 0))
		}
		operations := want.byOperation()
		devices := want.byDevice()
		opSummary := func(s naiveSum) OpSummary { return OpSummary{s.count, s.microseconds, s.memory} }
		verify("OperationSummary", mapped(operations, opSummary), trace.OperationSummary())
		average := func(s naiveSum) float64 { return s.microseconds / float64(s.count) }
		verify("AvgDurationByOp", mapped(operations, average), trace.AvgDurationByOp())
		deviceSummary := func(s naiveSum) DeviceSummary { return DeviceSummary{s.count, s.microseconds, s.memory} }
		verify("PerDeviceSummary", mapped(devices, deviceSummary), trace.PerDeviceSummary())
		verify("LoadBalance", want.balance(), trace.LoadBalance())
		// Durations of equal microseconds in floating point are ordered by nanoseconds.
		inOrder := func(rows []Bottleneck) []Bottleneck {
			byDuration := func(a, b Bottleneck) int { return cmp.Compare(b.TotalDurationUS, a.TotalDurationUS) }
			if !slices.IsSortedFunc(rows, byDuration) {
				t.Errorf("seed %d: CommunicationBottlenecks in another order: %v", seed, rows)
			}
			if seed%3 == 0 {
				slices.SortFunc(rows, func(a, b Bottleneck) int { return strings.Compare(a.Operation, b.Operation) })
			}
			return rows
		}
		verify("CommunicationBottlenecks",
			inOrder(want.bottlenecks(minRatio)), inOrder(trace.CommunicationBottlenecks(minRatio)))
		verify("FlamegraphCollapsed", want.collapsed(), trace.FlamegraphCollapsed())
		var stacks Stacks
		for i := range trace.Entries {
			stacks.Add(&trace.Entries[i])
		}
		device := *trace
		device.Entries = slices.DeleteFunc(slices.Clone(trace.Entries),
			func(e op.Entry) bool { return e.Side == op.SideHost })
		verify("Stacks", naiveSeed{&device}.collapsed(), strings.TrimSuffix(text(t, &stacks), "\n"))
		for _, n := range []int{-1, 0, 1, 2, 7, len(trace.Entries) / 2, len(trace.Entries), 1000} {
			verify("SlowestOps", want.slowest(n), trace.SlowestOps(n))
		}
		verify("MemoryHotspots", want.hotspots(threshold), trace.MemoryHotspots(threshold))
	})
}
