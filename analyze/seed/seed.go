// Package seed holds the analyses of the recorder that this project started
// from, with its definitions and its microseconds: functions over an [seed.Trace],
// and the same over [Columns], which hold what they look at column by column. What a
// report says beyond them is in package analyze.
package seed

import (
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// OperationSummary returns count, duration and memory per operation.
//
//	matmul 100 µs 80 B, matmul 200 µs 160 B   matmul: 2, 300 µs, 240 B
//	relu 50 µs 80 B                           relu: 1, 50 µs, 80 B
func OperationSummary(t *seed.Trace) map[string]OpSummary { return summarize(t).OperationSummary() }

// AvgDurationByOp returns the mean duration per operation in microseconds.
func AvgDurationByOp(t *seed.Trace) map[string]float64 { return summarize(t).AvgDurationByOp() }

// PerDeviceSummary returns count, duration and memory per device, without the
// entries that have no device.
func PerDeviceSummary(t *seed.Trace) map[string]DeviceSummary { return summarize(t).PerDeviceSummary() }

// MemoryHotspots returns the entries with more than threshold bytes of memory,
// in order. They belong to t.
func MemoryHotspots(t *seed.Trace, threshold int64) []*op.Entry {
	hotspots := []*op.Entry{}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.MemoryBytes.V > threshold {
			hotspots = append(hotspots, e)
		}
	}
	return hotspots
}

// LoadBalance compares the sums of durations of the devices. It returns nil for
// fewer than two devices.
//
//	gpu:0 300 µs, gpu:1 100 µs   ideal 200 µs, max 300 µs, imbalance 0.5
func LoadBalance(t *seed.Trace) *Balance { return summarize(t).LoadBalance() }

// CommunicationBottlenecks returns the operations that have a name of
// communication ([op.IsCommunicationName]) and take at least minRatio of the
// trace's total duration, the longest first, by name where durations are equal.
// It ignores the kind of an entry.
//
//	allreduce 600 µs, matmul 200 µs, broadcast 300 µs; 0.2
//	    allreduce 0.545, broadcast 0.273
func CommunicationBottlenecks(t *seed.Trace, minRatio float64) []Bottleneck {
	return summarize(t).CommunicationBottlenecks(minRatio)
}

// FlamegraphCollapsed returns a line per device and operation, sorted, for
// flame graph tools. The weight is in whole microseconds, at least 1 for each
// entry. In names a semicolon becomes a colon, and control characters become
// spaces. The last line has no line break.
//
//	matmul gpu:0 123 µs, matmul gpu:0 77 µs, relu gpu:1 50 µs
//	    trace;gpu:0;matmul 200
//	    trace;gpu:1;relu 50
func FlamegraphCollapsed(t *seed.Trace) string { return summarize(t).FlamegraphCollapsed() }

func summarize(t *seed.Trace) *Summary { return NewColumns(t).Summary() }
