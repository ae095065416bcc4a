package seed

import (
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// Summary holds the sums of the seed's analyses. Its methods return the results
// of the functions of the same name for an [seed.Trace], in a time that depends on
// the number of operations and devices alone.
//
// A Summary does not change when its trace does, and its methods may be called
// from several goroutines.
type Summary struct {
	names pairNames
	// byOperation and byDevice are sums by number of the operation and device,
	// weights are in microseconds by number of the pair.
	byOperation, byDevice []totals
	weights               []int64
	total                 int64 // ns
}

// totals are the sums over some entries.
type totals struct{ count, duration, memory int64 }

func (s *totals) add(duration, memory int64) {
	s.count++
	s.duration = wide.AddSaturating(s.duration, duration)
	s.memory = wide.AddSaturating(s.memory, memory)
}

// newSummary returns a summary without entries.
func newSummary(names pairNames, total int64) *Summary {
	return &Summary{
		names:       names,
		byOperation: make([]totals, len(names.operations)),
		byDevice:    make([]totals, len(names.devices)),
		weights:     make([]int64, len(names.pairs)),
		total:       total,
	}
}

// add adds an entry.
func (s *Summary) add(number int32, duration, memory int64) {
	p := s.names.pairs[number]
	s.byOperation[p.operation].add(duration, memory)
	s.byDevice[p.device].add(duration, memory)
	s.weights[number] = wide.AddSaturating(s.weights[number], roundMicros(duration))
}

// Summary adds up the entries in one pass for all analyses together. It keeps
// nothing: a second call takes as long.
func (t *Columns) Summary() *Summary {
	s := newSummary(t.pairs.names(), t.TotalDuration)
	if t.durations.fitsInt64() && t.memories.fitsInt64() {
		s.addPairs(t.sumPairs())
		return s
	}
	for i, number := range t.pair {
		s.add(number, t.duration[i], t.memory[i])
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

// addPairs adds sums by number of the pair, which together fit 64 bits.
func (s *Summary) addPairs(sums []pairSum) {
	for number, sum := range sums {
		p := s.names.pairs[number]
		for _, by := range []*totals{&s.byOperation[p.operation], &s.byDevice[p.device]} {
			by.count += sum.count
			by.duration += sum.duration
			by.memory += sum.memory
		}
		s.weights[number] = sum.weight
	}
}

// OperationSummary is [OperationSummary].
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

// AvgDurationByOp is [AvgDurationByOp].
func (s *Summary) AvgDurationByOp() map[string]float64 {
	avg := make(map[string]float64, len(s.byOperation))
	for i, name := range s.names.operations {
		avg[name] = microseconds(s.byOperation[i].duration) / float64(s.byOperation[i].count)
	}
	return avg
}

// PerDeviceSummary is [PerDeviceSummary].
func (s *Summary) PerDeviceSummary() map[string]DeviceSummary {
	summary := make(map[string]DeviceSummary, len(s.byDevice))
	for i, device := range s.names.devices {
		if sum := &s.byDevice[i]; i != noDevice {
			summary[device] = DeviceSummary{
				OpCount: sum.count, TotalDurationUS: microseconds(sum.duration), TotalMemoryBytes: sum.memory,
			}
		}
	}
	return summary
}

// LoadBalance is [LoadBalance].
func (s *Summary) LoadBalance() *Balance {
	var devices []Sum
	for i, device := range s.names.devices {
		if i != noDevice {
			devices = append(devices, Sum{device, s.byDevice[i].count, s.byDevice[i].duration})
		}
	}
	return NewBalance(devices)
}

// CommunicationBottlenecks is [CommunicationBottlenecks].
func (s *Summary) CommunicationBottlenecks(minRatio float64) []Bottleneck {
	var found []Sum
	for i, name := range s.names.operations {
		if op.IsCommunicationName(name) {
			found = append(found, Sum{name, s.byOperation[i].count, s.byOperation[i].duration})
		}
	}
	return Bottlenecks(found, s.total, minRatio)
}

// FlamegraphCollapsed is [FlamegraphCollapsed].
func (s *Summary) FlamegraphCollapsed() string {
	var b strings.Builder
	_ = s.names.writeStacks(&b, s.weights) // a Builder does not fail
	return strings.TrimSuffix(b.String(), "\n")
}
