package trace

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/symbols"
	"github.com/optrace/optrace/op"
)

type deviceStream struct {
	device int32
	stream op.Int
}

// buildDevices lists the operations of each device by start.
func (f *Forest) buildDevices() {
	f.nameDevices()
	d := &f.Devices
	d.ByStart = slices.Grow(d.ByStart[:0], f.Len())
	for r := range f.Rows() {
		if f.IsDeviceSide(r) && f.Has(r, FlagStart) {
			d.ByStart = append(d.ByStart, r)
		}
	}
	order.Rows(d.ByStart, f.Start, f.CompareStart)
	d.Rows, d.first = order.GroupRows(d.ByStart, len(d.Keys), d.Rows, func(i int32) int32 { return d.Lanes[f.Lane(d.ByStart[i])] })
	f.orderDevices()
	d.FirstStart, d.LastEnd = MaxTime, -MaxTime
	for _, r := range d.Rows {
		d.FirstStart, d.LastEnd = min(d.FirstStart, f.Start(r)), max(d.LastEnd, f.End(r))
	}
}

// nameDevices numbers the devices and finds out which of them are seen.
func (f *Forest) nameDevices() {
	lanes := f.Names.Lanes.Values
	seen := make([]bool, len(lanes))
	for r := range f.Rows() {
		if f.IsDeviceSide(r) {
			seen[f.Lane(r)] = true
		}
	}
	d := &f.Devices
	d.Shared = f.apart
	if d.Shared == nil {
		d.Shared = device.FindShared(f.devicesOf(seen))
	}
	var keys symbols.Table[device.Key]
	var streams symbols.Table[deviceStream]
	other := device.Key{DeviceID: key.Other}
	d.Lanes, d.Streams = make([]int32, len(lanes)), make([]int32, len(lanes))
	for i := range lanes {
		d.Lanes[i] = keys.Within(f.MaxDevices, d.Shared.Key(lanes[i].Device), other)
		d.Streams[i] = streams.ID(deviceStream{d.Lanes[i], lanes[i].Stream})
	}
	d.Keys, d.seen = keys.Values, make([]bool, len(keys.Values))
	for i := range lanes {
		d.seen[d.Lanes[i]] = d.seen[d.Lanes[i]] || seen[i]
	}
}

func (f *Forest) devicesOf(seen []bool) iter.Seq[device.Key] {
	return func(yield func(device.Key) bool) {
		for i, l := range f.Names.Lanes.Values {
			if seen[i] && !yield(l.Device) {
				return
			}
		}
	}
}

func (f *Forest) orderDevices() {
	keys := f.Devices.Keys
	d := &f.Devices
	d.Order, d.Ranks = d.Order[:0], false
	for i := range keys {
		if d.seen[i] {
			d.Order = append(d.Order, int32(i))
			d.Ranks = d.Ranks || keys[i].Rank != keys[d.Order[0]].Rank
		}
	}
	slices.SortFunc(d.Order, func(a, b int32) int { return keys[a].Compare(keys[b]) })
}
