package uneven_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/findings/internal/uneven"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/testing/check"
)

// A device stands out by a tenth of time. It has more work if its FLOPs, elements or operations explain half of that.
func TestTheDeviceWithTheMostWork(t *testing.T) {
	for _, test := range []struct {
		name  string
		times []int64 // of each device, in each block
		flops []int64
		want  string
	}{
		{"equal", []int64{100, 100, 100}, []int64{1, 1, 1}, "none"},
		{"a bit more", []int64{105, 100, 100}, []int64{1, 1, 1}, "none"},
		{"more work", []int64{100, 150, 100}, []int64{10, 15, 10}, "gpu:1 1.50 of the time, 1.50 of the FLOPs, more"},
		{"slower", []int64{100, 100, 200}, []int64{10, 10, 10}, "gpu:2 2.00 of the time, 1.00 of the FLOPs"},
		{"without FLOPs", []int64{180, 100}, []int64{0, 0}, "gpu:0 1.80 of the time, 1.00 of the operations, counted"},
		{"graded", []int64{200, 180, 100}, []int64{1, 1, 1}, "gpu:0 1.43 of the time, 1.00 of the FLOPs, graded"},
		{"one device", []int64{100}, []int64{1}, "none"},
	} {
		var devices []timeline.DeviceWork
		for i, ns := range test.times {
			d := timeline.DeviceWork{Key: device.Key{DeviceID: fmt.Sprint("gpu:", i)}, FLOPs: test.flops[i], Count: 10}
			for b := range d.BlockNS {
				d.BlockNS[b] = ns
			}
			devices = append(devices, d)
		}
		got := "none"
		if u := uneven.Most(devices); u != nil {
			got = fmt.Sprintf("%s %.2f of the time, %.2f of the %s", u.DeviceID, u.Time, u.Work, u.Of)
			for _, is := range []struct {
				is   bool
				what string
			}{{u.HasMore(), "more"}, {u.Graded, "graded"}, {u.Counted, "counted"}} {
				if is.is {
					got += ", " + is.what
				}
			}
		}
		check.Equal(t, test.name, test.want, got)
	}
}
