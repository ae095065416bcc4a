// Package uneven finds the device with the most work among equal devices.
package uneven

import (
	"math"
	"strings"

	"github.com/optrace/optrace/analyze/internal/chance"
	"github.com/optrace/optrace/analyze/timeline"
)

// Ratio is the least ratio of a device's work to the mean of the others for the device to stand out.
const Ratio = 1.1

// Device is the device with the most work among equal devices.
type Device struct {
	*timeline.DeviceWork
	// Time is the device's operation time relative to the mean of the others, Work its amount of work, counted in Of.
	Time, Work float64
	Of         string
	// NS is the operation time above the mean, P the probability of such an excess by chance.
	NS int64
	P  float64
	// Graded is set if other devices differ as well, Counted if only the number of operations tells its work.
	Graded, Counted bool
}

// Most returns the device with at least Ratio times the others' work, nil without one or if kinds differ.
func Most(devices []timeline.DeviceWork) *Device {
	if len(devices) < 2 {
		return nil
	}
	kind, _, _ := strings.Cut(devices[0].DeviceID, ":")
	blocks := make([][]int64, timeline.Blocks)
	sums := make([]int64, len(devices))
	var all int64
	for i := range devices {
		d := &devices[i]
		if of, _, _ := strings.Cut(d.DeviceID, ":"); of != kind || d.IsNone() {
			return nil
		}
		for b, ns := range d.BlockNS {
			blocks[b] = append(blocks[b], ns)
			sums[i] += ns
			all += ns
		}
	}
	at, p := chance.Largest(blocks)
	n := int64(len(devices))
	u := &Device{DeviceWork: &devices[at], P: p, NS: sums[at] - all/n}
	u.Time = Times(sums[at], all, n)
	if u.Time < Ratio {
		return nil
	}
	for i, sum := range sums {
		mean := all / n
		u.Graded = u.Graded || i != at && 3*(sum-mean) > u.NS && u.NS > 0
	}
	for _, m := range []struct {
		of    string
		count func(*timeline.DeviceWork) int64
	}{
		{"FLOPs", func(d *timeline.DeviceWork) int64 { return d.FLOPs }},
		{"elements", func(d *timeline.DeviceWork) int64 { return d.Elements }},
		{"operations", func(d *timeline.DeviceWork) int64 { return d.Count }},
	} {
		sum := int64(0)
		known := true
		for i := range devices {
			v := m.count(&devices[i])
			sum += v
			known = known && v > 0
		}
		if ratio := Times(m.count(u.DeviceWork), sum, n); known && ratio > u.Work {
			u.Counted = u.Work == 0 && m.of == "operations"
			u.Work, u.Of = ratio, m.of
		}
	}
	return u
}

// HasMore reports whether the device has more work, and does not just take longer for the same work.
func (u *Device) HasMore() bool { return u.Work-1 >= (u.Time-1)/2 }

// Times returns the ratio of own to the mean of the other n-1 devices.
func Times(own, all, n int64) float64 {
	if all == own {
		return math.Inf(1)
	}
	return float64(own) * float64(n-1) / float64(all-own)
}
