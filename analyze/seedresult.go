package analyze

import (
	"encoding/json"
	"errors"
	"fmt"
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

// CommunicationBottleneck is an operation that communicates.
type CommunicationBottleneck struct {
	Operation       string  `json:"operation"`
	TotalDurationUS float64 `json:"total_duration_us"`
	RatioOfTotal    float64 `json:"ratio_of_total"`
	CallCount       int64   `json:"call_count"`
}

// LoadBalanceMetrics compares the devices' sums of durations.
type LoadBalanceMetrics struct {
	DeviceCount     int     `json:"device_count"`
	TotalDurationUS float64 `json:"total_duration_us"`
	// IdealDurationUS is what every device would take if all took the same.
	IdealDurationUS float64 `json:"ideal_duration_us"`
	MaxDurationUS   float64 `json:"max_duration_us"`
	// ImbalanceRatio is how far the maximum lies above the ideal, as a share of
	// the ideal.
	ImbalanceRatio float64 `json:"imbalance_ratio"`
	// PerDeviceDurationUS is sorted by device.
	PerDeviceDurationUS []DeviceDuration `json:"per_device_duration_us"`
}

// DeviceDuration is a device and its sum of durations: the JSON pair
// ["gpu:0",12.5].
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
