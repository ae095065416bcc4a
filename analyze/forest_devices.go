package analyze

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/op"
)

// deviceRows lists the rows of each device, four bytes per row.
type deviceRows struct {
	// keys has the devices by number, lanes the number of each lane's device, and
	// streams that of its stream: a device's stream is one, whichever service uses it.
	keys    []DeviceKey
	lanes   []int32
	streams []int32
	// shared are the devices that are told apart by their services.
	shared sharedDevices
	// firstStart and lastEnd are those of all rows, where there are any.
	firstStart, lastEnd int64
	// The rows of device d are rows[first[d]:first[d+1]], by start.
	rows  []int32
	first []int32
	// seen reports whether any operation names the device, with a start or not.
	seen []bool
	// order lists the devices seen, by rank and name.
	order []int32
	// ranks reports whether there are operations of several ranks.
	ranks bool
}

// deviceStream is a stream of a device.
type deviceStream struct {
	device int32
	stream op.Int
}

// of returns the rows of device d that have a start, by start.
func (d *deviceRows) of(device int32) []int32 {
	return d.rows[d.first[device]:d.first[device+1]]
}

// buildDevices lists the operations of each device by start.
func (f *Forest) buildDevices() {
	f.nameDevices()
	d := &f.onDevice
	devices := len(d.keys)
	d.rows, d.first = order.Group(f.rowCount(), devices, d.rows, func(r int32) int32 {
		if !f.isDeviceSide(r) || !f.has(r, flagStart) {
			return noRow
		}
		return d.lanes[f.lane(r)]
	})
	var sorter order.Rows
	for i := range devices {
		sorter.Sort(d.of(int32(i)), f.start, f.compareStart)
	}
	f.orderDevices()
	d.firstStart, d.lastEnd = maxTime, -maxTime
	for _, r := range d.rows {
		d.firstStart, d.lastEnd = min(d.firstStart, f.start(r)), max(d.lastEnd, f.end(r))
	}
}

// nameDevices numbers the devices and finds out which of them are seen.
func (f *Forest) nameDevices() {
	lanes := f.dict.lanes.Values
	seen := make([]bool, len(lanes))
	for r := range f.rowCount() {
		if f.isDeviceSide(r) {
			seen[f.lane(r)] = true
		}
	}
	d := &f.onDevice
	d.shared = f.apart
	if d.shared == nil {
		d.shared = findShared(f.devicesOf(seen))
	}
	var keys symbols.Table[DeviceKey]
	var streams symbols.Table[deviceStream]
	d.lanes, d.streams = make([]int32, len(lanes)), make([]int32, len(lanes))
	for i := range lanes {
		d.lanes[i] = keys.ID(d.shared.key(lanes[i].device))
		d.streams[i] = streams.ID(deviceStream{d.lanes[i], lanes[i].stream})
	}
	d.keys, d.seen = keys.Values, make([]bool, len(keys.Values))
	for i := range lanes {
		d.seen[d.lanes[i]] = d.seen[d.lanes[i]] || seen[i]
	}
}

// devicesOf returns the devices of the lanes that are seen, with their services.
func (f *Forest) devicesOf(seen []bool) iter.Seq[DeviceKey] {
	return func(yield func(DeviceKey) bool) {
		for i, l := range f.dict.lanes.Values {
			if seen[i] && !yield(l.device) {
				return
			}
		}
	}
}

func (f *Forest) orderDevices() {
	keys := f.onDevice.keys
	d := &f.onDevice
	d.order, d.ranks = d.order[:0], false
	for i := range keys {
		if d.seen[i] {
			d.order = append(d.order, int32(i))
			d.ranks = d.ranks || keys[i].Rank != keys[d.order[0]].Rank
		}
	}
	slices.SortFunc(d.order, func(a, b int32) int { return keys[a].Compare(keys[b]) })
}

// device returns the number of the device of row r.
func (f *Forest) device(r int32) int32 { return f.onDevice.lanes[f.lane(r)] }

// deviceKey returns the device of row r.
func (f *Forest) deviceKey(r int32) DeviceKey { return f.onDevice.keys[f.device(r)] }

// deviceStreamOf returns the number of the stream of row r.
func (f *Forest) deviceStreamOf(r int32) int32 { return f.onDevice.streams[f.lane(r)] }
