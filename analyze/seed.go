package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// OperationSummary returns count, duration and memory per operation.
//
//	matmul 100 µs 80 B, matmul 200 µs 160 B   matmul: 2, 300 µs, 240 B
//	relu 50 µs 80 B                           relu: 1, 50 µs, 80 B
func OperationSummary(t *op.Trace) map[string]OpSummary {
	return summarize(t).OperationSummary()
}

// AvgDurationByOp returns the mean duration per operation in microseconds.
func AvgDurationByOp(t *op.Trace) map[string]float64 {
	return summarize(t).AvgDurationByOp()
}

// PerDeviceSummary returns count, duration and memory per device. Entries
// without a device are left out.
func PerDeviceSummary(t *op.Trace) map[string]DeviceSummary {
	return summarize(t).PerDeviceSummary()
}

// MemoryHotspots returns the entries with more than threshold bytes of memory,
// in order. They belong to t.
func MemoryHotspots(t *op.Trace, threshold int64) []*op.Entry {
	hotspots := []*op.Entry{}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.MemoryBytes.V > threshold {
			hotspots = append(hotspots, e)
		}
	}
	return hotspots
}

// LoadBalance compares the devices' sums of durations; nil for fewer than two
// devices.
//
//	gpu:0 300 µs, gpu:1 100 µs   ideal 200 µs, max 300 µs, imbalance 0.5
func LoadBalance(t *op.Trace) *LoadBalanceMetrics {
	return summarize(t).LoadBalance()
}

// deviceSum is a device and its sum of durations in nanoseconds.
type deviceSum struct {
	label string
	ns    int64
}

// loadBalance returns the metrics of the devices, which it sorts.
func loadBalance(devices []deviceSum) *LoadBalanceMetrics {
	if len(devices) < 2 {
		return nil
	}
	slices.SortFunc(devices, func(a, b deviceSum) int { return cmp.Compare(a.label, b.label) })
	m := &LoadBalanceMetrics{DeviceCount: len(devices)}
	total, longest := int64(0), int64(0)
	for _, d := range devices {
		total = addSaturating(total, d.ns)
		longest = max(longest, d.ns)
		m.PerDeviceDurationUS = append(m.PerDeviceDurationUS, DeviceDuration{d.label, microseconds(d.ns)})
	}
	m.TotalDurationUS = microseconds(total)
	m.IdealDurationUS = m.TotalDurationUS / float64(len(devices))
	m.MaxDurationUS = microseconds(longest)
	m.ImbalanceRatio = imbalance(m.MaxDurationUS, m.IdealDurationUS)
	return m
}

// imbalance is how far the longest lies above the ideal, as a share of it; 0
// when nothing took any time.
func imbalance(longest, ideal float64) float64 {
	if ideal <= 0 {
		return 0
	}
	return max(0, (longest-ideal)/ideal)
}

// CommunicationBottlenecks returns the operations whose names tell of
// communication ([op.IsCommunicationName]) and whose part of the trace's total
// duration is at least minRatio, the longest first, by name where durations are
// equal. The kind that an entry states plays no part in it.
//
//	allreduce 600 µs, matmul 200 µs, broadcast 300 µs; 0.2
//	    allreduce 0.545, broadcast 0.273
func CommunicationBottlenecks(t *op.Trace, minRatio float64) []CommunicationBottleneck {
	return summarize(t).CommunicationBottlenecks(minRatio)
}

// communication is what one communicating operation took.
type communication struct {
	operation string
	ns, count int64
}

// bottlenecks returns the operations that reach minRatio of total, sorted.
func bottlenecks(found []communication, total int64, minRatio float64) []CommunicationBottleneck {
	slices.SortFunc(found, func(a, b communication) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.operation, b.operation))
	})
	result := []CommunicationBottleneck{}
	totalUS := max(microseconds(total), 1e-9) // no division by 0
	for _, c := range found {
		us := microseconds(c.ns)
		if ratio := us / totalUS; ratio >= minRatio {
			result = append(result, CommunicationBottleneck{
				Operation: c.operation, TotalDurationUS: us, RatioOfTotal: ratio, CallCount: c.count,
			})
		}
	}
	return result
}

// FlamegraphCollapsed returns a line per device and operation, sorted, for
// flame graph tools. The weight is in whole microseconds, at least 1 for each
// entry. Names are written as they are.
//
//	matmul gpu:0 123 µs, matmul gpu:0 77 µs, relu gpu:1 50 µs
//	    trace;gpu:0;matmul 200
//	    trace;gpu:1;relu 50
func FlamegraphCollapsed(t *op.Trace) string {
	return summarize(t).FlamegraphCollapsed()
}

// roundMicros returns ns as microseconds, rounded half up and at least 1. As an
// unsigned number the sum does not overflow, and the division by a constant is
// a multiplication.
func roundMicros(ns int64) int64 {
	return max(1, int64((uint64(max(ns, 0))+500)/1000))
}

// addSaturating returns a + b, or the end of the range that the sum lies
// beyond.
func addSaturating(a, b int64) int64 {
	sum := a + b
	if (sum > a) == (b > 0) {
		return sum
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

func microseconds(ns int64) float64 { return float64(ns) / 1000 }
