// Package seed has figures of the reference recorder in its definitions and its microseconds, which package analyze reports.
package seed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
)

// Sum is the number of entries of an operation or device and the sum of their durations in nanoseconds.
type Sum struct {
	Name  string
	Count int64
	NS    int64
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

const unknownDevice = "unknown" // the frame of entries without a device

// Stacks sums up durations by device and operation, for flame graph tools. Its memory grows with the number of stacks.
// The zero value is ready to use; it is not safe for concurrent use.
type Stacks struct {
	weights map[stack]int64 // in microseconds
}

type stack struct{ device, operation string }

// Add adds the duration of e. It ignores host-side entries: their work has entries on the device.
func (s *Stacks) Add(e *op.Entry) {
	if e.Side == op.SideHost {
		return
	}
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
