package analyze

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/op"
)

// SeedSummary holds the sums that the seed's analyses are made of. Its methods
// return what the functions of the same name return for an [op.Trace], in a time
// that depends on the number of operations and devices alone.
//
// A SeedSummary does not change when its trace does, and may be used from
// several goroutines.
type SeedSummary struct {
	operations, devices []string
	pairs               []pair
	// byOperation and byDevice are by the numbers of those, weights, in
	// microseconds, by that of the pair.
	byOperation, byDevice []seedSum
	weights               []int64
	total                 int64 // ns
}

// seedSum is what the seed's summaries have in common.
type seedSum struct{ count, duration, memory int64 }

func (s *seedSum) add(duration, memory int64) {
	s.count++
	s.duration = addSaturating(s.duration, duration)
	s.memory = addSaturating(s.memory, memory)
}

// newSeedSummary returns a summary without entries of what x numbers.
func newSeedSummary(x *pairIndex, total int64) *SeedSummary {
	return &SeedSummary{
		operations: x.operations.values, devices: x.devices.values, pairs: x.pairs.values,
		byOperation: make([]seedSum, len(x.operations.values)),
		byDevice:    make([]seedSum, len(x.devices.values)),
		weights:     make([]int64, len(x.pairs.values)),
		total:       total,
	}
}

// add adds an entry.
func (s *SeedSummary) add(number int32, duration, memory int64) {
	p := s.pairs[number]
	s.byOperation[p.operation].add(duration, memory)
	s.byDevice[p.device].add(duration, memory)
	s.weights[number] = addSaturating(s.weights[number], roundMicros(duration))
}

// Summary adds up the entries in one pass, which takes 2.5 ns an entry for all
// analyses together. It keeps nothing: a second call takes as long.
func (t *ColumnTrace) Summary() *SeedSummary {
	s := newSeedSummary(&t.pairs, t.TotalDuration)
	if t.duration.fitsInt64() && t.memory.fitsInt64() {
		s.addPairs(t.sumPairs())
		return s
	}
	for k, b := range t.blocks {
		for i := range t.blockLen(k) {
			s.add(b.pair[i], b.duration[i], b.memory[i])
		}
	}
	return s
}

// pairSum is the sum over the entries of a pair: 32 bytes, so that those of
// hundreds of pairs stay in the processor's first cache.
type pairSum struct{ count, duration, memory, weight int64 }

func (s *pairSum) add(duration, memory int64) {
	s.count++
	s.duration += duration
	s.memory += memory
	s.weight += roundMicros(duration)
}

// sumPairs returns the sums by number of the pair. It is for sums that fit 64
// bits: without a check at every addition the pass takes 2.5 ns an entry, and
// with it 6.5.
func (t *ColumnTrace) sumPairs() []pairSum {
	sums := make([]pairSum, len(t.pairs.pairs.values))
	for k, b := range t.blocks {
		n := t.blockLen(k)
		durations, memories := b.duration[:n], b.memory[:n]
		for i, p := range b.pair[:n] {
			sums[p].add(durations[i], memories[i])
		}
	}
	return sums
}

// addPairs adds sums by number of the pair, which fit 64 bits all together.
func (s *SeedSummary) addPairs(sums []pairSum) {
	for number, sum := range sums {
		p := s.pairs[number]
		for _, by := range []*seedSum{&s.byOperation[p.operation], &s.byDevice[p.device]} {
			by.count += sum.count
			by.duration += sum.duration
			by.memory += sum.memory
		}
		s.weights[number] = sum.weight
	}
}

// summarize returns the summary of t.
func summarize(t *op.Trace) *SeedSummary {
	var x pairIndex
	var sums []pairSum
	var durations, memories magnitude
	for i := range t.Entries {
		e := &t.Entries[i]
		number := int(x.number(e.Operation, e.DeviceID))
		if number == len(sums) {
			sums = append(sums, pairSum{})
		}
		sums[number].add(e.Duration, e.MemoryBytes.V)
		durations.add(e.Duration)
		memories.add(e.MemoryBytes.V)
	}
	s := newSeedSummary(&x, t.TotalDuration)
	if durations.fitsInt64() && memories.fitsInt64() {
		s.addPairs(sums)
		return s
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		s.add(x.number(e.Operation, e.DeviceID), e.Duration, e.MemoryBytes.V)
	}
	return s
}

// OperationSummary is [OperationSummary].
func (s *SeedSummary) OperationSummary() map[string]OpSummary {
	summary := make(map[string]OpSummary, len(s.operations))
	for i, name := range s.operations {
		sum := &s.byOperation[i]
		summary[name] = OpSummary{
			Count: sum.count, TotalDurationUS: microseconds(sum.duration), TotalMemoryBytes: sum.memory,
		}
	}
	return summary
}

// AvgDurationByOp is [AvgDurationByOp].
func (s *SeedSummary) AvgDurationByOp() map[string]float64 {
	avg := make(map[string]float64, len(s.operations))
	for i, name := range s.operations {
		avg[name] = microseconds(s.byOperation[i].duration) / float64(s.byOperation[i].count)
	}
	return avg
}

// PerDeviceSummary is [PerDeviceSummary].
func (s *SeedSummary) PerDeviceSummary() map[string]DeviceSummary {
	summary := make(map[string]DeviceSummary, len(s.devices))
	for i, device := range s.devices {
		if sum := &s.byDevice[i]; device != "" {
			summary[device] = DeviceSummary{
				OpCount: sum.count, TotalDurationUS: microseconds(sum.duration), TotalMemoryBytes: sum.memory,
			}
		}
	}
	return summary
}

// LoadBalance is [LoadBalance].
func (s *SeedSummary) LoadBalance() *LoadBalanceMetrics {
	var devices []deviceSum
	for i, device := range s.devices {
		if device != "" {
			devices = append(devices, deviceSum{device, s.byDevice[i].duration})
		}
	}
	return loadBalance(devices)
}

// CommunicationBottlenecks is [CommunicationBottlenecks].
func (s *SeedSummary) CommunicationBottlenecks(minRatio float64) []CommunicationBottleneck {
	var found []communication
	for i, name := range s.operations {
		if op.IsCommunicationName(name) {
			found = append(found, communication{name, s.byOperation[i].duration, s.byOperation[i].count})
		}
	}
	return bottlenecks(found, s.total, minRatio)
}

// FlamegraphCollapsed is [FlamegraphCollapsed].
func (s *SeedSummary) FlamegraphCollapsed() string {
	type stack struct {
		text   string
		weight int64
	}
	stacks := make([]stack, len(s.pairs))
	for i, p := range s.pairs {
		device := cmp.Or(s.devices[p.device], unknownLabel)
		stacks[i] = stack{"trace;" + device + ";" + s.operations[p.operation], s.weights[i]}
	}
	slices.SortFunc(stacks, func(a, b stack) int { return strings.Compare(a.text, b.text) })
	var text []byte
	for len(stacks) > 0 {
		first, weight := stacks[0].text, int64(0)
		for len(stacks) > 0 && stacks[0].text == first { // a device may be called "unknown"
			weight = addSaturating(weight, stacks[0].weight)
			stacks = stacks[1:]
		}
		if len(text) > 0 {
			text = append(text, '\n')
		}
		text = strconv.AppendInt(append(append(text, first...), ' '), weight, 10)
	}
	return string(text)
}
