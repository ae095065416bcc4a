package analyze

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// collectiveDevices are the devices of collectives, as they are told apart from others.
type collectiveDevices struct {
	keys []DeviceKey // in order
	of   []int32     // the place in keys of each device, noRow for one without collectives
}

func (f *Forest) collectiveDevices() *collectiveDevices {
	d := &collectiveDevices{of: slices.Repeat([]int32{noRow}, len(f.onDevice.keys))}
	for i := range f.collected {
		if device := f.device(f.collected[i].row); d.of[device] == noRow {
			d.of[device] = 0
			d.keys = append(d.keys, f.onDevice.keys[device])
		}
	}
	slices.SortFunc(d.keys, DeviceKey.Compare)
	for device, key := range f.onDevice.keys {
		if d.of[device] != noRow {
			at, _ := slices.BinarySearchFunc(d.keys, key, DeviceKey.Compare)
			d.of[device] = int32(at)
		}
	}
	return d
}

// collectivePart is the part that one device had in a collective.
type collectivePart struct {
	entry      int32 // its place among the entries of collectives
	device     int32 // its place in the order
	inferred   bool
	started    bool
	sized      bool
	occurrence int32 // how many others of the number there are on the device in front of it
	start      int64
	duration   int64
	bytes      int64
}

// collectiveMatching finds the parts of each collective.
type collectiveMatching struct {
	forest  *Forest
	devices *collectiveDevices
	sorter  order.Keys
	keys    []order.Key
	parts   []collectivePart
}

// each calls f with the parts of each collective among entries, which are of one name
// and either all have a number or none has: by number and then by occurrence, the
// devices of each in order. The entries are sorted by start, put together by device and
// then sorted by number, each time without changing the order of equal ones.
func (m *collectiveMatching) each(entries []int32, f func(parts []collectivePart)) {
	if len(entries) == 0 {
		return
	}
	m.sortByStart(entries)
	grouped, _ := order.Group(int32(len(entries)), len(m.devices.keys), nil, func(i int32) int32 { return m.device(entries[i]) })
	m.keys = m.keys[:0]
	for _, i := range grouped {
		m.keys = append(m.keys, order.Key{At: m.forest.collected[entries[i]].number, Row: entries[i]})
	}
	m.sorter.Sort(m.keys)
	for run := range order.Runs(m.keys) {
		for i, k := range run {
			run[i].At = 0
			if i > 0 && m.device(k.Row) == m.device(run[i-1].Row) {
				run[i].At = run[i-1].At + 1
			}
		}
		m.sorter.Sort(run)
		for parts := range order.Runs(run) {
			m.parts = m.parts[:0]
			for _, k := range parts {
				m.parts = append(m.parts, m.part(k))
			}
			f(m.parts)
		}
	}
}

// sortByStart sorts entries by start, those without one last.
func (m *collectiveMatching) sortByStart(entries []int32) {
	m.keys = m.keys[:0]
	var others []int32
	for _, i := range entries {
		c := &m.forest.collected[i]
		if c.facts&collectiveStarted == 0 {
			others = append(others, i)
			continue
		}
		m.keys = append(m.keys, order.Key{At: c.start, Row: i})
	}
	m.sorter.Sort(m.keys)
	for i, k := range m.keys {
		entries[i] = k.Row
	}
	copy(entries[len(m.keys):], others)
}

// device returns the place of entry i's device.
func (m *collectiveMatching) device(i int32) int32 {
	return m.devices.of[m.forest.device(m.forest.collected[i].row)]
}

// part returns the entry in the row of k, whose occurrence is k's time.
func (m *collectiveMatching) part(k order.Key) collectivePart {
	c := &m.forest.collected[k.Row]
	return collectivePart{
		entry: k.Row, device: m.device(k.Row), occurrence: int32(k.At),
		inferred: c.facts&collectiveInferred != 0, started: c.facts&collectiveStarted != 0, sized: c.facts&collectiveSized != 0,
		start: c.start, duration: m.forest.duration(c.row), bytes: c.bytes,
	}
}
