package analyze

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/op"
)

// OperationSummary returns count, duration and memory per operation.
//
//	matmul 100 µs 80 B, matmul 200 µs 160 B   matmul: 2, 300 µs, 240 B
//	relu 50 µs 80 B                           relu: 1, 50 µs, 80 B
func OperationSummary(t *op.Trace) map[string]OpSummary {
	sums := sumBy(t, func(e *op.Entry) (string, bool) { return e.Operation, true })
	summary := make(map[string]OpSummary, len(sums))
	for name, s := range sums {
		summary[name] = OpSummary{Count: s.count, TotalDurationUS: microseconds(s.duration), TotalMemoryBytes: s.memory}
	}
	return summary
}

// AvgDurationByOp returns the mean duration per operation in microseconds.
func AvgDurationByOp(t *op.Trace) map[string]float64 {
	avg := make(map[string]float64)
	for name, s := range OperationSummary(t) {
		avg[name] = s.TotalDurationUS / float64(s.Count)
	}
	return avg
}

// PerDeviceSummary returns count, duration and memory per device. Entries
// without a device are left out.
func PerDeviceSummary(t *op.Trace) map[string]DeviceSummary {
	summary := make(map[string]DeviceSummary)
	for device, s := range sumByDevice(t) {
		summary[device] = DeviceSummary{
			OpCount: s.count, TotalDurationUS: microseconds(s.duration), TotalMemoryBytes: s.memory,
		}
	}
	return summary
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
	var devices []deviceSum
	for device, s := range sumByDevice(t) {
		devices = append(devices, deviceSum{device, s.duration})
	}
	return loadBalance(devices)
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
	sums := sumBy(t, func(e *op.Entry) (string, bool) { return e.Operation, op.IsCommunicationName(e.Operation) })
	found := make([]communication, 0, len(sums))
	for name, s := range sums {
		found = append(found, communication{name, s.duration, s.count})
	}
	return bottlenecks(found, t.TotalDuration, minRatio)
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
	weights := make(map[string]int64)
	for i := range t.Entries {
		e := &t.Entries[i]
		device := e.DeviceID
		if device == "" {
			device = unknownLabel
		}
		stack := "trace;" + device + ";" + e.Operation
		weights[stack] = addSaturating(weights[stack], roundMicros(e.Duration))
	}
	var b strings.Builder
	for i, stack := range slices.Sorted(maps.Keys(weights)) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(stack)
		b.WriteByte(' ')
		b.WriteString(strconv.FormatInt(weights[stack], 10))
	}
	return b.String()
}

// roundMicros returns ns as microseconds, rounded half up and at least 1.
func roundMicros(ns int64) int64 {
	us := ns / 1000
	if ns%1000 >= 500 {
		us++
	}
	return max(us, 1)
}

// seedSum is what the seed's summaries have in common.
type seedSum struct{ count, duration, memory int64 }

func sumByDevice(t *op.Trace) map[string]seedSum {
	return sumBy(t, func(e *op.Entry) (string, bool) { return e.DeviceID, e.DeviceID != "" })
}

// sumBy sums up the entries for which key reports true.
func sumBy(t *op.Trace, key func(*op.Entry) (string, bool)) map[string]seedSum {
	sums := make(map[string]seedSum)
	for i := range t.Entries {
		e := &t.Entries[i]
		k, ok := key(e)
		if !ok {
			continue
		}
		s := sums[k]
		s.count++
		s.duration = addSaturating(s.duration, e.Duration)
		s.memory = addSaturating(s.memory, e.MemoryBytes.V)
		sums[k] = s
	}
	return sums
}

// addSaturating returns a+b for b of at least 0, the largest int64 where that
// does not fit.
func addSaturating(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

func microseconds(ns int64) float64 { return float64(ns) / 1000 }
