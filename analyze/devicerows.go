package analyze

import "slices"

// deviceRows lists what ran on each device, four bytes per row.
type deviceRows struct {
	// The rows of device d are rows[first[d]:first[d+1]], by start.
	rows  []int32
	first []int32
	// seen tells whether any operation names the device, with a start or not.
	seen []bool
	// order lists the devices seen, by rank and name.
	order []int32
	// ranks tells that entries of more than one rank were read.
	ranks bool
}

// of returns the rows of device d that have a start, by start.
func (d *deviceRows) of(device int32) []int32 {
	return d.rows[d.first[device]:d.first[device+1]]
}

// buildDevices lists the operations of each device by start.
func (t *Trace) buildDevices() {
	devices := len(t.dict.devices.values)
	d := &t.onDevice
	d.seen = make([]bool, devices)
	for r := range t.n {
		if t.isDeviceSide(r) {
			d.seen[t.device(r)] = true
		}
	}
	d.rows, d.first = groupRows(t.n, devices, func(r int32) int32 {
		if !t.isDeviceSide(r) || !t.has(r, flagStart) {
			return noRow
		}
		return t.device(r)
	})
	for i := range devices {
		slices.SortFunc(d.of(int32(i)), t.compareStart)
	}
	t.orderDevices()
}

func (t *Trace) orderDevices() {
	keys := t.dict.devices.values
	d := &t.onDevice
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
func (t *Trace) device(r int32) int32 { return t.dict.laneDevice[t.lane(r)] }

// deviceKey returns the device of row r.
func (t *Trace) deviceKey(r int32) DeviceKey { return t.dict.devices.values[t.device(r)] }

// HasSeveralRanks reports whether operations of more than one rank were added,
// so that devices need their rank to be told apart.
func (t *Trace) HasSeveralRanks() bool {
	t.Build()
	return t.onDevice.ranks
}
