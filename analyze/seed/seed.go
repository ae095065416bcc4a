// Package seed has the analyses of the reference recorder, in its definitions and its microseconds: over a [Trace] in
// memory, and as figures that package analyze reports too.
package seed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
)

// OpSummary sums up one operation.
type OpSummary struct {
	Count            int64   `json:"count"`
	TotalDurationUS  float64 `json:"total_duration_us"`
	TotalMemoryBytes int64   `json:"total_memory_bytes"`
}

// DeviceSummary sums up one device.
type DeviceSummary struct {
	OpCount          int64   `json:"op_count"`
	TotalDurationUS  float64 `json:"total_duration_us"`
	TotalMemoryBytes int64   `json:"total_memory_bytes"`
}

// Sum is the number of entries of an operation or device and the sum of their durations in nanoseconds.
type Sum struct {
	Name   string
	Count  int64
	NS     int64
	memory int64 // bytes
}

// Bottleneck is an operation that communicates.
type Bottleneck struct {
	Operation       string  `json:"operation"`
	TotalDurationUS float64 `json:"total_duration_us"`
	RatioOfTotal    float64 `json:"ratio_of_total"`
	CallCount       int64   `json:"call_count"`
}

// Bottlenecks returns the operations with at least minRatio of the total duration, longest first. It sorts operations.
func Bottlenecks(operations []Sum, totalNS int64, minRatio float64) []Bottleneck {
	slices.SortFunc(operations, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name))
	})
	result := []Bottleneck{}
	totalUS := max(microseconds(totalNS), 1e-9) // no division by 0
	for _, o := range operations {
		us := microseconds(o.NS)
		if ratio := us / totalUS; ratio >= minRatio {
			result = append(result, Bottleneck{
				Operation: o.Name, TotalDurationUS: us, RatioOfTotal: ratio, CallCount: o.Count,
			})
		}
	}
	return result
}

// Balance compares the sums of durations of the devices.
type Balance struct {
	DeviceCount     int     `json:"device_count"`
	TotalDurationUS float64 `json:"total_duration_us"`
	// IdealDurationUS is the duration of every device in perfect balance.
	IdealDurationUS float64 `json:"ideal_duration_us"`
	MaxDurationUS   float64 `json:"max_duration_us"`
	// ImbalanceRatio is (maximum − ideal) / ideal.
	ImbalanceRatio float64 `json:"imbalance_ratio"`
	// PerDeviceDurationUS is sorted by device.
	PerDeviceDurationUS []DeviceDuration `json:"per_device_duration_us"`
}

// NewBalance returns the balance of the devices, nil for fewer than two. It sorts devices by name.
func NewBalance(devices []Sum) *Balance {
	if len(devices) < 2 {
		return nil
	}
	slices.SortFunc(devices, func(a, b Sum) int { return cmp.Compare(a.Name, b.Name) })
	b := &Balance{DeviceCount: len(devices)}
	var total, longest int64
	for _, d := range devices {
		total = wide.AddSaturating(total, d.NS)
		longest = max(longest, d.NS)
		b.PerDeviceDurationUS = append(b.PerDeviceDurationUS, DeviceDuration{d.Name, microseconds(d.NS)})
	}
	b.TotalDurationUS = microseconds(total)
	b.IdealDurationUS = b.TotalDurationUS / float64(len(devices))
	b.MaxDurationUS = microseconds(longest)
	b.ImbalanceRatio = Imbalance(b.MaxDurationUS, b.IdealDurationUS)
	return b
}

// Imbalance returns (longest − ideal) / ideal, 0 for an ideal of 0.
func Imbalance(longest, ideal float64) float64 {
	if ideal <= 0 {
		return 0
	}
	return max(0, (longest-ideal)/ideal)
}

// DeviceDuration is a device and its sum of durations. Its JSON form is a pair such as ["gpu:0",12.5].
type DeviceDuration struct {
	Device     string
	DurationUS float64
}

// MarshalJSON returns the pair.
func (d DeviceDuration) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]any{d.Device, d.DurationUS})
}

// UnmarshalJSON reads the pair.
func (d *DeviceDuration) UnmarshalJSON(text []byte) error {
	var pair []json.RawMessage
	err := json.Unmarshal(text, &pair)
	if err == nil && len(pair) != 2 {
		err = fmt.Errorf("%d elements, not 2", len(pair))
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(pair[0], &d.Device), json.Unmarshal(pair[1], &d.DurationUS))
	}
	if err != nil {
		return fmt.Errorf("reading device duration: %w", err)
	}
	return nil
}

func microseconds(ns int64) float64 { return float64(ns) / 1000 }

// Trace is a small trace in memory with the reference analyses. All methods but AddEntry may be called concurrently.
type Trace struct {
	Entries []op.Entry
	// TotalDuration is the sum of the device entries' durations in nanoseconds, or a stated total set by the caller.
	TotalDuration int64
}

// AddEntry appends a copy of e. It adds the duration to the total unless e is host-side.
func (t *Trace) AddEntry(e *op.Entry) {
	if e.Side != op.SideHost {
		t.TotalDuration = wide.AddSaturating(t.TotalDuration, e.Duration)
	}
	t.Entries = append(t.Entries, *e.Clone())
}

// TotalMemoryBytes returns the sum of the entries' memory.
func (t *Trace) TotalMemoryBytes() int64 {
	sum := int64(0)
	for i := range t.Entries {
		sum = wide.AddSaturating(sum, t.Entries[i].MemoryBytes.V)
	}
	return sum
}

// PeakMemoryBytes returns the largest memory of a single entry, 0 for an empty trace.
func (t *Trace) PeakMemoryBytes() int64 {
	peak := int64(0)
	for i := range t.Entries {
		peak = max(peak, t.Entries[i].MemoryBytes.V)
	}
	return peak
}

// SlowestOps returns the n longest entries, longest first. Entries of equal duration keep their order.
func (t *Trace) SlowestOps(n int) []*op.Entry {
	all := make([]*op.Entry, len(t.Entries))
	for i := range t.Entries {
		all[i] = &t.Entries[i]
	}
	slices.SortStableFunc(all, func(a, b *op.Entry) int { return cmp.Compare(b.Duration, a.Duration) })
	return all[:max(0, min(n, len(all)))]
}

// MemoryHotspots returns the entries with more than threshold bytes of memory, in order. They belong to t.
func (t *Trace) MemoryHotspots(threshold int64) []*op.Entry {
	hotspots := []*op.Entry{}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.MemoryBytes.V > threshold {
			hotspots = append(hotspots, e)
		}
	}
	return hotspots
}

// sums adds up the entries by name, in the order of appearance. It skips entries without a name.
func (t *Trace) sums(name func(e *op.Entry) (string, bool)) []Sum {
	var sums []Sum
	index := make(map[string]int)
	for i := range t.Entries {
		e := &t.Entries[i]
		key, ok := name(e)
		if !ok {
			continue
		}
		n, ok := index[key]
		if !ok {
			n = len(sums)
			index[key] = n
			sums = append(sums, Sum{Name: key})
		}
		s := &sums[n]
		s.Count++
		s.NS = wide.AddSaturating(s.NS, e.Duration)
		s.memory = wide.AddSaturating(s.memory, e.MemoryBytes.V)
	}
	return sums
}

func operation(e *op.Entry) (string, bool) { return e.Operation, true }

func device(e *op.Entry) (string, bool) { return e.DeviceID, e.HasDevice() }

// OperationSummary returns count, duration and memory per operation.
func (t *Trace) OperationSummary() map[string]OpSummary {
	summary := make(map[string]OpSummary)
	for _, s := range t.sums(operation) {
		summary[s.Name] = OpSummary{s.Count, microseconds(s.NS), s.memory}
	}
	return summary
}

// AvgDurationByOp returns the mean duration per operation in microseconds.
func (t *Trace) AvgDurationByOp() map[string]float64 {
	avg := make(map[string]float64)
	for _, s := range t.sums(operation) {
		avg[s.Name] = microseconds(s.NS) / float64(s.Count)
	}
	return avg
}

// PerDeviceSummary returns count, duration and memory per device. It skips entries without a device.
func (t *Trace) PerDeviceSummary() map[string]DeviceSummary {
	summary := make(map[string]DeviceSummary)
	for _, s := range t.sums(device) {
		summary[s.Name] = DeviceSummary{s.Count, microseconds(s.NS), s.memory}
	}
	return summary
}

// LoadBalance compares the sums of durations of the devices. It returns nil for fewer than two devices.
//
//	gpu:0 300 µs, gpu:1 100 µs   ideal 200 µs, max 300 µs, imbalance 0.5
func (t *Trace) LoadBalance() *Balance { return NewBalance(t.sums(device)) }

// CommunicationBottlenecks returns the communication operations, by name ([op.IsCommunicationName]), that take at least
// minRatio of the total duration. They are in the order of [Bottlenecks].
//
//	allreduce 600 µs, matmul 200 µs, broadcast 300 µs; 0.2
//	    allreduce 0.545, broadcast 0.273
func (t *Trace) CommunicationBottlenecks(minRatio float64) []Bottleneck {
	other := func(s Sum) bool { return !op.IsCommunicationName(s.Name) }
	return Bottlenecks(slices.DeleteFunc(t.sums(operation), other), t.TotalDuration, minRatio)
}

// FlamegraphCollapsed returns the lines of [Stacks.Write] for all entries, host-side ones too. The last line has no line
// break.
//
//	matmul gpu:0 123 µs, matmul gpu:0 77 µs, relu gpu:1 50 µs
//	    trace;gpu:0;matmul 200
//	    trace;gpu:1;relu 50
func (t *Trace) FlamegraphCollapsed() string {
	var s Stacks
	for i := range t.Entries {
		s.add(&t.Entries[i])
	}
	var b strings.Builder
	_ = s.Write(&b) // a Builder does not fail
	return strings.TrimSuffix(b.String(), "\n")
}

// unknownDevice is the frame of entries without a device.
const unknownDevice = "unknown"

// Stacks sums up durations by device and operation, for flame graph tools. Its memory grows with the number of stacks.
// The zero value is ready to use; it is not safe for concurrent use.
type Stacks struct {
	weights map[stack]int64 // in microseconds
}

type stack struct{ device, operation string }

// Add adds the duration of e. It ignores host-side entries: their work has entries on the device.
func (s *Stacks) Add(e *op.Entry) {
	if e.Side != op.SideHost {
		s.add(e)
	}
}

func (s *Stacks) add(e *op.Entry) {
	key := stack{device: unknownDevice, operation: e.Operation}
	if e.HasDevice() {
		key.device = e.DeviceID
	}
	if s.weights == nil {
		s.weights = make(map[stack]int64)
	}
	s.weights[key] = wide.AddSaturating(s.weights[key], roundMicros(e.Duration))
}

// Write writes a line "trace;<device>;<operation> <weight>" per stack, sorted. The weight is the sum of the durations,
// each in microseconds, rounded half up and at least 1. In names a semicolon becomes a colon and control characters
// become spaces.
func (s *Stacks) Write(w io.Writer) error {
	byText := make(map[string]int64, len(s.weights))
	for key, weight := range s.weights {
		text := stacks.Collapse("trace", key.device, key.operation)
		byText[text] = wide.AddSaturating(byText[text], weight)
	}
	return stacks.WriteCollapsed(w, byText)
}

// roundMicros returns ns as microseconds, rounded half up and at least 1. The unsigned sum does not overflow.
func roundMicros(ns int64) int64 {
	return max(1, int64((uint64(max(ns, 0))+500)/1000))
}
