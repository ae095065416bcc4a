package analyze

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/packed"
	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/op"
)

// collectives keeps the entries of kind collective.
type collectives struct {
	names   symbols.Table[collectiveName]
	devices symbols.Table[DeviceKey]
	entries packed.Table
}

// collectiveName identifies a row.
type collectiveName struct{ name, group string }

// The columns of collectives.
const (
	collectiveNameID   = iota // into names
	collectiveDeviceID        // into devices
	collectiveNumber          // the sequence number, 0 for none
	collectiveStart
	collectiveDuration
	collectiveBytes
	collectiveFacts
	numCollectiveColumns
)

// The facts about a collective.
const (
	collectiveInferred = 1 << iota // there is no sequence number
	collectiveStarted              // the start is known
	collectiveSized                // the bytes are known
)

func newCollectives() collectives { return collectives{entries: packed.New(numCollectiveColumns)} }

func (c *collectives) facts(i int32) int64 { return c.entries.At(i, collectiveFacts) }

// collectiveOf is what an operation of kind collective states of the collective.
type collectiveOf struct {
	name     int32 // among names
	inferred bool  // there is no sequence number
	number   int64
	bytes    op.Int
}

// add adds e if it is of kind collective and not the host's view of one.
func (c *collectives) add(e *op.Entry) {
	if e.Kind == op.KindCollective && e.Side != op.SideHost {
		of := c.describe(e.Operation, e.Collective, e.DType)
		c.append(of, c.devices.ID(deviceOf(e)), e.Start, e.Duration, e.MemoryBytes)
	}
}

// describe returns what an operation states. of is nil where it describes no collective.
func (c *collectives) describe(operation string, of *op.Collective, t op.DType) collectiveOf {
	if of == nil {
		return collectiveOf{name: c.names.ID(collectiveName{name: operation}), inferred: true}
	}
	name := collectiveName{cmp.Or(of.Name, operation), of.Group}
	stated := collectiveOf{name: c.names.ID(name), inferred: !of.Sequence.Known, number: of.Sequence.V}
	if bytes, ok := messageBytes(of, t); ok {
		stated.bytes = op.Known(bytes)
	}
	return stated
}

// append adds an operation on a device, whose memory is the size where no other is stated.
func (c *collectives) append(of collectiveOf, device int32, start op.Int, duration int64, memory op.Int) {
	size := memory
	if of.bytes.Known {
		size = of.bytes
	}
	facts := int64(0)
	if of.inferred {
		facts |= collectiveInferred
	}
	if start.Known {
		facts |= collectiveStarted
	}
	if size.Known {
		facts |= collectiveSized
	}
	c.entries.Append([]int64{int64(of.name), int64(device), of.number, start.V, max(0, duration), size.V, facts})
}

// messageBytes returns the size of the larger side of a collective, the one
// that bandwidth is about; ok is false where it is not known.
func messageBytes(c *op.Collective, t op.DType) (bytes int64, ok bool) {
	n, size := max(c.InElements.V, c.OutElements.V), t.Size()
	if n <= 0 || size == 0 || n > math.MaxInt64/size {
		return 0, false
	}
	return n * size, true
}

// sortedNames returns the numbers of the names in their order.
func (c *collectives) sortedNames() []int32 {
	order := make([]int32, len(c.names.Values))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := &c.names.Values[a], &c.names.Values[b]
		return cmp.Or(strings.Compare(x.name, y.name), strings.Compare(x.group, y.group))
	})
	return order
}

// collectiveDevices are the devices of collectives, as they are told apart from others.
type collectiveDevices struct {
	keys []DeviceKey // in order
	of   []int32     // the place in keys of each device of collectives
}

func (f *Forest) collectiveDevices() *collectiveDevices {
	d := new(collectiveDevices)
	for _, k := range f.collected.devices.Values {
		d.keys = append(d.keys, f.onDevice.shared.key(k))
	}
	own := slices.Clone(d.keys)
	slices.SortFunc(d.keys, DeviceKey.Compare)
	d.keys = slices.CompactFunc(d.keys, func(a, b DeviceKey) bool { return a.Compare(b) == 0 })
	for _, k := range own {
		at, _ := slices.BinarySearchFunc(d.keys, k, DeviceKey.Compare)
		d.of = append(d.of, int32(at))
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
	*collectives
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
	grouped, _ := groupRows(int32(len(entries)), len(m.devices.keys), nil, func(i int32) int32 { return m.device(entries[i]) })
	m.keys = m.keys[:0]
	for _, i := range grouped {
		m.keys = append(m.keys, order.Key{At: m.entries.At(entries[i], collectiveNumber), Row: entries[i]})
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
		if m.facts(i)&collectiveStarted == 0 {
			others = append(others, i)
			continue
		}
		m.keys = append(m.keys, order.Key{At: m.entries.At(i, collectiveStart), Row: i})
	}
	m.sorter.Sort(m.keys)
	for i, k := range m.keys {
		entries[i] = k.Row
	}
	copy(entries[len(m.keys):], others)
}

// device returns the place of entry i's device.
func (m *collectiveMatching) device(i int32) int32 {
	return m.devices.of[m.entries.At(i, collectiveDeviceID)]
}

// part returns the entry in the row of k, whose occurrence is k's time.
func (m *collectiveMatching) part(k order.Key) collectivePart {
	facts := m.facts(k.Row)
	return collectivePart{
		entry: k.Row, device: m.device(k.Row), occurrence: int32(k.At),
		inferred: facts&collectiveInferred != 0, started: facts&collectiveStarted != 0, sized: facts&collectiveSized != 0,
		start:    m.entries.At(k.Row, collectiveStart),
		duration: m.entries.At(k.Row, collectiveDuration),
		bytes:    m.entries.At(k.Row, collectiveBytes),
	}
}
