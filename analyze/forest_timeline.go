package analyze

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/op"
)

// deviceParts divides the time of a device, in nanoseconds. Every length is that
// of a union of intervals, so that parallel work counts once.
//
// Compute, ExposedCommunication, ExposedMemory, Other and Idle add up to Span
// exactly: time that several kinds fill belongs to the first of them in that
// order. Communication, Memory and Overlap count such time for each.
//
//	compute        [0,50)
//	communication      [30,80)
//	memory                    [90,100)
//
//	Span 100 = Compute 50 + ExposedCommunication 30 + ExposedMemory 10 + Other 0 + Idle 10
//	Communication 50, Overlap 20, OverlapRatio 0.4
type deviceParts struct {
	// Span is the last end minus the first start, Busy the part of it in which
	// anything ran, Idle the rest.
	Span, Busy, Idle int64
	// Compute is the time in which compute ran.
	Compute int64
	// ExposedCommunication is the time of communication without compute.
	ExposedCommunication int64
	// ExposedMemory is the time of copies without compute and communication.
	ExposedMemory int64
	// Other is the time in which operations of other kinds ran alone.
	Other int64
	// Communication and Memory are the time in which each of them ran, and
	// Overlap that in which communication and compute did.
	Communication, Memory, Overlap int64
}

// overlapRatio returns the part of the communication that compute hides; ok is
// false when there was no communication.
func (p *deviceParts) overlapRatio() (ratio float64, ok bool) {
	if p.Communication == 0 {
		return 0, false
	}
	return float64(p.Overlap) / float64(p.Communication), true
}

// add adds the stretch s.
func (p *deviceParts) add(s *stretch) {
	compute, communication, memory := s.active[classCompute], s.active[classCommunication], s.active[classMemory]
	p.Span += s.to - s.from
	p.Busy += s.busy
	p.Idle += s.to - s.from - s.busy
	p.Compute += compute
	p.Communication += communication
	p.Memory += memory
	p.Overlap += min(compute, communication)

	// All run from the beginning of the stretch: a class is exposed for the time
	// that it lasts longer than the classes before it.
	settled := compute
	p.ExposedCommunication += max(0, communication-settled)
	settled = max(settled, communication)
	p.ExposedMemory += max(0, memory-settled)
	settled = max(settled, memory)
	p.Other += s.busy - settled
}

// Timeline is the timeline of one device.
type timeline struct {
	DeviceKey
	// Parts is nil when no operation of the device has a start.
	Parts *deviceParts
}

// timelines returns the timeline of each device, by rank and name. It counts
// operations without a side and those of the device side, with a start.
func (f *Forest) timelines() []timeline {
	f.build()
	timelines := make([]timeline, 0, len(f.onDevice.order))
	for _, device := range f.onDevice.order {
		line := timeline{DeviceKey: f.onDevice.keys[device]}
		if rows := f.onDevice.of(device); len(rows) > 0 {
			line.Parts = new(deviceParts)
			for s := range f.sweep(rows) {
				line.Parts.add(s)
			}
		}
		timelines = append(timelines, line)
	}
	return timelines
}

// class is the kind of an operation in the timeline, in the order in
// which classes claim time that several of them fill.
type class uint8

const (
	classCompute class = iota
	classCommunication
	classMemory
	classOther

	numClasses
)

func classOf(k op.Kind) class {
	switch k {
	case op.KindCompute:
		return classCompute
	case op.KindCollective:
		return classCommunication
	case op.KindMemory:
		return classMemory
	}
	return classOther
}

// stretch is the time from one start on a device to the next. Whatever runs in
// it runs from its beginning on, so that one length per class describes it.
type stretch struct {
	from, to int64
	// active is for how long something of each class runs.
	active [numClasses]int64
	// busy is for how long anything runs: the longest of active.
	busy int64
	// last is the row that runs longest, and next the one that starts at to;
	// noRow after the last start.
	last, next int32
}

// sweep goes over rows, which are sorted by start, from the first start to the
// last end. Stretches without length are left out.
func (c *columns) sweep(rows []int32) iter.Seq[*stretch] {
	return func(yield func(*stretch) bool) {
		if len(rows) == 0 {
			return
		}
		var until [numClasses]int64 // the latest end of each class
		for k := range until {
			until[k] = -maxTime
		}
		s := stretch{last: noRow}
		latest := int64(-maxTime)
		finish := func(to int64, next int32) bool { // the stretch that began with the row before
			s.to, s.next = to, next
			if s.from == s.to {
				return true
			}
			for k, end := range until {
				s.active[k] = max(0, min(end, s.to)-s.from)
			}
			s.busy = max(0, min(latest, s.to)-s.from)
			return yield(&s)
		}
		for b := range c.batches(rows, colKind) {
			for i, r := range b.rows {
				start := b.starts[i]
				if s.last != noRow && !finish(start, r) {
					return
				}
				k, end := classOf(op.Kind(b.values[i])), start+b.durations[i]
				until[k] = max(until[k], end)
				if s.last == noRow || end > latest {
					latest, s.last = end, r
				}
				s.from = start
			}
		}
		finish(latest, noRow)
	}
}

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
	devices, lanes := len(d.keys), f.inOrder(colLane)
	d.rows, d.first = groupRows(f.n, devices, d.rows, func(r int32) int32 {
		if !f.isDeviceSide(r) || !f.has(r, flagStart) {
			return noRow
		}
		return d.lanes[lanes.int32(r)]
	})
	var sorter order.Rows
	for i := range devices {
		sorter.Sort(d.of(int32(i)), f.start, f.compareStart)
	}
	f.orderDevices()
	d.firstStart, d.lastEnd = maxTime, -maxTime
	for b := range f.batches(d.rows, colStart) {
		for i, start := range b.starts {
			d.firstStart, d.lastEnd = min(d.firstStart, start), max(d.lastEnd, start+b.durations[i])
		}
	}
}

// nameDevices numbers the devices and finds out which of them are seen.
func (f *Forest) nameDevices() {
	lanes := f.dict.lanes.Values
	seen := make([]bool, len(lanes))
	laneOf := f.inOrder(colLane)
	for r := range f.n {
		if f.isDeviceSide(r) {
			seen[laneOf.int32(r)] = true
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
