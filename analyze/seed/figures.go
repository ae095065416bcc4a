// Package seed has the analyses of the reference recorder, in its definitions and its microseconds: over a [Trace] in
// memory, and as figures that package analyze reports too.
package seed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
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
