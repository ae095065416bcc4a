package seed

import (
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// Summary holds the sums of the seed's analyses. It does not change when its trace does, and its methods may be called
// from several goroutines.
type Summary struct {
	names pairNames
	// byOperation and byDevice are sums by number of the operation and device, 0 for none,
	// weights are in microseconds by number of the pair.
	byOperation, byDevice []totals
	weights               []int64
	total                 int64 // ns
}

type totals struct{ count, duration, memory int64 }

// add adds the sums over some entries of a pair.
func (s *Summary) add(number int, sum pairSum) {
	p := s.names.pairs[number]
	for _, by := range []*totals{&s.byOperation[p.operation], &s.byDevice[p.device]} {
		by.count += sum.count
		by.duration = wide.AddSaturating(by.duration, sum.duration)
		by.memory = wide.AddSaturating(by.memory, sum.memory)
	}
	s.weights[number] = wide.AddSaturating(s.weights[number], sum.weight)
}

// Summary adds up the entries in one pass for all analyses together. It keeps
// nothing: a second call takes as long.
func (t *Columns) Summary() *Summary {
	names := t.pairs.names()
	s := &Summary{
		names:       names,
		byOperation: make([]totals, len(names.operations)),
		byDevice:    make([]totals, 1+len(names.devices)),
		weights:     make([]int64, len(names.pairs)),
		total:       t.TotalDuration,
	}
	if t.durations.fitsInt64() && t.memories.fitsInt64() {
		for number, sum := range t.sumPairs() {
			s.add(number, sum)
		}
		return s
	}
	for i, number := range t.pair {
		s.add(int(number), pairSum{1, t.duration[i], t.memory[i], roundMicros(t.duration[i])})
	}
	return s
}

// pairSum is the sum over the entries of a pair. At 32 bytes the sums of hundreds
// of pairs fit into the processor's first cache.
type pairSum struct{ count, duration, memory, weight int64 }

// sumPairs returns the sums by number of the pair. It checks no addition: the
// caller has checked that the sums fit 64 bits.
func (t *Columns) sumPairs() []pairSum {
	sums := make([]pairSum, len(t.pairs.all.Values))
	durations, memories := t.duration[:len(t.pair)], t.memory[:len(t.pair)]
	for i, p := range t.pair {
		sum := &sums[p]
		sum.count++
		sum.duration += durations[i]
		sum.memory += memories[i]
		sum.weight += roundMicros(durations[i])
	}
	return sums
}

// OperationSummary returns count, duration and memory per operation.
//
//	matmul 100 µs 80 B, matmul 200 µs 160 B   matmul: 2, 300 µs, 240 B
//	relu 50 µs 80 B                           relu: 1, 50 µs, 80 B
func (s *Summary) OperationSummary() map[string]OpSummary {
	summary := make(map[string]OpSummary, len(s.byOperation))
	for i, name := range s.names.operations {
		sum := &s.byOperation[i]
		summary[name] = OpSummary{
			Count: sum.count, TotalDurationUS: microseconds(sum.duration), TotalMemoryBytes: sum.memory,
		}
	}
	return summary
}

// AvgDurationByOp returns the mean duration per operation in microseconds.
func (s *Summary) AvgDurationByOp() map[string]float64 {
	avg := make(map[string]float64, len(s.byOperation))
	for i, name := range s.names.operations {
		avg[name] = microseconds(s.byOperation[i].duration) / float64(s.byOperation[i].count)
	}
	return avg
}

// PerDeviceSummary returns count, duration and memory per device, without the
// entries that have no device.
func (s *Summary) PerDeviceSummary() map[string]DeviceSummary {
	summary := make(map[string]DeviceSummary, len(s.byDevice))
	for i, device := range s.names.devices {
		sum := &s.byDevice[i+1]
		summary[device] = DeviceSummary{
			OpCount: sum.count, TotalDurationUS: microseconds(sum.duration), TotalMemoryBytes: sum.memory,
		}
	}
	return summary
}

// LoadBalance compares the sums of durations of the devices. It returns nil for
// fewer than two devices.
//
//	gpu:0 300 µs, gpu:1 100 µs   ideal 200 µs, max 300 µs, imbalance 0.5
func (s *Summary) LoadBalance() *Balance {
	var devices []Sum
	for i, device := range s.names.devices {
		devices = append(devices, Sum{device, s.byDevice[i+1].count, s.byDevice[i+1].duration})
	}
	return NewBalance(devices)
}

// CommunicationBottlenecks returns the operations that have a name of
// communication ([op.IsCommunicationName]) and take at least minRatio of the
// trace's total duration, the longest first, by name where durations are equal.
// It ignores the kind of an entry.
//
//	allreduce 600 µs, matmul 200 µs, broadcast 300 µs; 0.2
//	    allreduce 0.545, broadcast 0.273
func (s *Summary) CommunicationBottlenecks(minRatio float64) []Bottleneck {
	var found []Sum
	for i, name := range s.names.operations {
		if op.IsCommunicationName(name) {
			found = append(found, Sum{name, s.byOperation[i].count, s.byOperation[i].duration})
		}
	}
	return Bottlenecks(found, s.total, minRatio)
}

// FlamegraphCollapsed returns a line per device and operation, sorted, for
// flame graph tools. The weight is in whole microseconds, at least 1 for each
// entry. In names a semicolon becomes a colon, and control characters become
// spaces. The last line has no line break.
//
//	matmul gpu:0 123 µs, matmul gpu:0 77 µs, relu gpu:1 50 µs
//	    trace;gpu:0;matmul 200
//	    trace;gpu:1;relu 50
func (s *Summary) FlamegraphCollapsed() string {
	var b strings.Builder
	_ = s.names.writeStacks(&b, s.weights) // a Builder does not fail
	return strings.TrimSuffix(b.String(), "\n")
}
