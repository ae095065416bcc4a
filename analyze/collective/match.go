package collective

import (
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Devices are the devices of collectives, as they are told apart from others.
type Devices struct {
	Keys []device.Key // in order
	of   []int32      // the place in keys of each device, trace.NoRow for one without collectives
}

// DevicesOf returns the devices of f with collectives.
func DevicesOf(f *trace.Forest) *Devices {
	d := &Devices{of: slices.Repeat([]int32{trace.NoRow}, len(f.Devices.Keys))}
	for i := range f.Collectives {
		if n := f.Device(f.Collectives[i].Row); d.of[n] == trace.NoRow {
			d.of[n] = 0
			d.Keys = append(d.Keys, f.Devices.Keys[n])
		}
	}
	slices.SortFunc(d.Keys, device.Key.Compare)
	for n, key := range f.Devices.Keys {
		if d.of[n] != trace.NoRow {
			at, _ := slices.BinarySearchFunc(d.Keys, key, device.Key.Compare)
			d.of[n] = int32(at)
		}
	}
	return d
}

// Part is the part that one device had in a collective.
type Part struct {
	entry      int32 // its place among the entries of collectives
	Device     int32 // its place in the order
	Inferred   bool
	Started    bool
	sized      bool
	Occurrence int32 // how many others of the number there are on the device in front of it
	ranks      int32 // of the group, 0 where it is not stated
	Start      int64
	Duration   int64
	bytes      int64
}

// collectiveMatching finds the parts of each collective.
type collectiveMatching struct {
	forest  *trace.Forest
	devices *Devices
	keys    []order.Key
	parts   []Part
}

// each calls f with the parts of each collective among entries, which are of one name
// and either all have a number or none has: by number and then by occurrence, the
// devices of each in order. The entries are sorted by start, put together by device and
// then sorted by number, each time without changing the order of equal ones.
func (m *collectiveMatching) each(entries []int32, f func(parts []Part)) {
	if len(entries) == 0 {
		return
	}
	m.sortByStart(entries)
	grouped, _ := order.Group(int32(len(entries)), len(m.devices.Keys), nil, func(i int32) int32 { return m.device(entries[i]) })
	m.keys = m.keys[:0]
	for _, i := range grouped {
		m.keys = append(m.keys, order.Key{At: m.forest.Collectives[entries[i]].Number, Row: entries[i]})
	}
	order.Keys(m.keys)
	for run := range order.Runs(m.keys) {
		for i, k := range run {
			run[i].At = 0
			if i > 0 && m.device(k.Row) == m.device(run[i-1].Row) {
				run[i].At = run[i-1].At + 1
			}
		}
		order.Keys(run)
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
	f := m.forest
	started := 0
	for i, e := range entries {
		if f.Collectives[e].Facts&trace.CollectiveStarted != 0 {
			entries[i], entries[started] = entries[started], e
			started++
		}
	}
	ties := func(a, b int32) int { return f.CompareStart(f.Collectives[a].Row, f.Collectives[b].Row) }
	order.Rows(entries[:started], func(e int32) int64 { return f.Collectives[e].Start }, ties)
	slices.SortFunc(entries[started:], ties)
}

// device returns the place of entry i's device.
func (m *collectiveMatching) device(i int32) int32 {
	return m.devices.of[m.forest.Device(m.forest.Collectives[i].Row)]
}

// part returns the entry in the row of k, whose occurrence is k's time.
func (m *collectiveMatching) part(k order.Key) Part {
	c := &m.forest.Collectives[k.Row]
	return Part{
		entry: k.Row, Device: m.device(k.Row), Occurrence: int32(k.At),
		Inferred: c.Facts&trace.CollectiveInferred != 0, Started: c.Facts&trace.CollectiveStarted != 0, sized: c.Facts&trace.CollectiveSized != 0,
		Start: c.Start, Duration: m.forest.Duration(c.Row), bytes: c.Bytes, ranks: c.Ranks,
	}
}
