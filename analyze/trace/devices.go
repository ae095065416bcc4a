package trace

import (
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

type deviceStream struct {
	device int32
	stream op.Int
}

// buildDevices sorts the operations of each device by start.
func (f *Forest) buildDevices() {
	f.nameDevices()
	d := &f.Devices
	d.Rows, d.first = order.Group(f.Rows(), len(d.Keys), d.Rows, func(r int32) int32 {
		if !f.IsDeviceSide(r) || !f.Has(r, FlagStart) {
			return NoRow
		}
		return d.Lanes[f.Lane(r)]
	})
	d.FirstStart = MaxTime
	d.LastEnd = -MaxTime
	for device := range d.Keys {
		rows := d.Of(int32(device))
		order.Rows(rows, f.Start, f.CompareStart)
		for _, r := range rows {
			d.FirstStart, d.LastEnd = min(d.FirstStart, f.Start(r)), max(d.LastEnd, f.End(r))
		}
	}
	d.ByStart = append(slices.Grow(d.ByStart[:0], len(d.Rows)), d.Rows...)
	order.Rows(d.ByStart, f.Start, f.CompareStart)
}

// decideSides makes operations without a stated side the host's if they are on its processor or on no device, their process
// has an accelerator, and a host launches work of accelerators. Input without a device is the host's beside any accelerator.
// This is the one decision for all figures of a structure.
func (f *Forest) decideSides() {
	lanes := f.Names.Lanes.Values
	const (
		onAccelerator = 1
		onHost        = 2
		onNone        = 3
	)
	at := make([]uint8, len(lanes))
	for i := range lanes {
		switch id, empty := lanes[i].Device.Recorded(); {
		case empty: // a device with this name
		case id == "":
			at[i] = onNone
		case device.IsHost(id):
			at[i] = onHost
		case device.IsAccelerator(id):
			at[i] = onAccelerator
		}
	}
	if !slices.Contains(at, onAccelerator) || !slices.Contains(at, onHost) && !slices.Contains(at, onNone) {
		return
	}
	isDevice := func(r int32) bool { return f.Flags(r)&(FlagOp|FlagHost) == FlagOp }
	works := make([]bool, len(lanes)) // has operations of a device
	launches := false
	for r := range f.Rows() {
		if l := f.Lane(r); isDevice(r) {
			works[l] = true
			launches = launches || device.Launches(lanes[l].Device.DeviceID, f.RowName(r), f.Has(r, FlagLaunch))
		}
	}
	var beside device.Sources
	for i := range lanes {
		if works[i] && at[i] == onAccelerator {
			beside.Add(lanes[i].Device.Service, lanes[i].Host)
		}
	}
	for i := range lanes {
		l := &lanes[i]
		service := l.Device.Service
		if at[i] == onNone && !l.Device.Rank.Known {
			service = l.Service
		}
		if !beside.Has(service, l.Host) {
			at[i] = 0
		}
	}
	for r := range f.Rows() {
		on := at[f.Lane(r)]
		kind := f.Kind(r)
		isLaunched := launches && (on == onHost || on == onNone && kind != op.KindCollective)
		if isDevice(r) && (isLaunched || on == onNone && kind == op.KindIO) {
			f.setFlags(r, FlagHost)
		}
	}
	f.Collectives = slices.DeleteFunc(f.Collectives, func(c Collective) bool { return f.Has(c.Row, FlagHost) })
}

// nameDevices numbers the devices and lists the devices with an operation, with or without a start.
func (f *Forest) nameDevices() {
	lanes := f.Names.Lanes.Values
	seen := make([]bool, len(lanes))
	for r := range f.Rows() {
		if f.IsDeviceSide(r) {
			seen[f.Lane(r)] = true
		}
	}
	d := &f.Devices
	if d.Shared = f.apart; d.Shared == nil {
		var named []device.Key
		for i, l := range lanes {
			if seen[i] {
				named = append(named, l.Device)
			}
		}
		d.Shared = device.FindShared(slices.Values(named))
	}
	var keys symbols.Table[device.Key]
	var streams symbols.Table[deviceStream]
	other := device.Key{DeviceID: key.Other}
	d.Lanes = make([]int32, len(lanes))
	d.Streams = make([]int32, len(lanes))
	for i := range lanes {
		d.Lanes[i] = keys.Within(f.MaxDevices, d.Shared.Key(lanes[i].Device), other)
		d.Streams[i] = streams.ID(deviceStream{d.Lanes[i], lanes[i].Stream})
	}
	d.Keys = keys.Values
	d.Order = d.Order[:0]
	listed := make([]bool, len(d.Keys))
	for i, device := range d.Lanes {
		if seen[i] && !listed[device] {
			listed[device] = true
			d.Order = append(d.Order, device)
		}
	}
	slices.SortFunc(d.Order, func(a, b int32) int { return d.Keys[a].Compare(d.Keys[b]) })
	d.Ranks = len(d.Order) > 0 && d.Keys[d.Order[0]].Rank != d.Keys[d.Order[len(d.Order)-1]].Rank
}
