package analyze

import "github.com/optrace/optrace/op"

// symbols numbers distinct values in the order in which they first appear, so
// that a row holds four bytes instead of a string or an id.
type symbols[K comparable] struct {
	ids    map[K]int32
	values []K
	last   int32
}

// id returns the number of v. Neighbouring rows often agree, which a
// comparison tells more cheaply than a look-up.
func (t *symbols[K]) id(v K) int32 {
	if len(t.values) > 0 && t.values[t.last] == v {
		return t.last
	}
	id, ok := t.ids[v]
	if !ok {
		if t.ids == nil {
			t.ids = make(map[K]int32)
		}
		id = int32(len(t.values))
		t.ids[v] = id
		t.values = append(t.values, v)
	}
	t.last = id
	return id
}

// spanName is what is kept of the description of a non-op span.
type spanName struct {
	name, service string
}

// lane is a queue of a device.
type lane struct {
	device DeviceKey
	stream op.Int
}

// stamp is the local root that an entry names, known whether or not the root's
// own span was read. Number 0 is no stamp.
type stamp struct {
	trace int32
	span  uint64
	name  string
}

// dictionary holds the values that rows refer to by number.
type dictionary struct {
	traces     symbols[op.TraceID] // 0 is the unknown trace
	operations nameIndex
	spans      symbols[spanName]
	lanes      symbols[lane] // 0 is no lane, for non-op spans
	devices    symbols[DeviceKey]
	laneDevice []int32 // of each lane
	stamps     symbols[stamp]

	recentLanes [recentLanes]recentLane
}

// recentLanes is a power of two, for some tens of lanes.
const (
	recentLaneBits = 7
	recentLanes    = 1 << recentLaneBits
)

// recentLane is what entries say of a lane.
type recentLane struct {
	device       string
	rank, stream op.Int
	id           int32 // 1 more than the lane's; 0 while the slot is free
}

func newDictionary() dictionary {
	var d dictionary
	d.traces.id(op.TraceID{})
	d.lane(lane{})
	d.stamps.id(stamp{})
	return d
}

// laneOf returns the number of e's lane. As with names, its address tells where
// a device was put the last time. With this and nameIndex adding an entry to a
// Trace takes 65 ns, and 130 without.
func (d *dictionary) laneOf(e *op.Entry) int32 {
	hash := addressHash(e.DeviceID) ^ uint64(e.Rank.V)<<60 ^ uint64(e.Stream.V)<<57
	r := &d.recentLanes[hash>>(64-recentLaneBits)]
	if r.id == 0 || r.rank != e.Rank || r.stream != e.Stream || !sameString(r.device, e.DeviceID) {
		id := d.lane(lane{device: DeviceOf(e), stream: e.Stream})
		*r = recentLane{device: e.DeviceID, rank: e.Rank, stream: e.Stream, id: id + 1}
	}
	return r.id - 1
}

// lane returns the number of l.
func (d *dictionary) lane(l lane) int32 {
	id := d.lanes.id(l)
	if int(id) == len(d.laneDevice) {
		d.laneDevice = append(d.laneDevice, d.devices.id(l.device))
	}
	return id
}

// numbering says which numbers the values of one table of symbols have in
// another. It adds them there one by one, when they are first asked for.
type numbering[K comparable] struct {
	values []K
	add    func(K) int32
	ids    []int32 // 1 more than the number; 0 where it was not asked for
}

func newNumbering[K comparable](values []K, add func(K) int32) numbering[K] {
	return numbering[K]{values: values, add: add, ids: make([]int32, len(values))}
}

// number returns the new number of the old one.
func (n *numbering[K]) number(old int32) int32 {
	if id := n.ids[old]; id != 0 {
		return id - 1
	}
	return n.addNumber(old)
}

func (n *numbering[K]) addNumber(old int32) int32 {
	id := n.add(n.values[old])
	n.ids[old] = id + 1
	return id
}

// renumbering says where the numbers of one dictionary lie in another.
type renumbering struct {
	traces     numbering[op.TraceID]
	operations numbering[string]
	spans      numbering[spanName]
	lanes      numbering[lane]
	stamps     numbering[stamp]
}

// numberingOf returns where other's numbers lie in d.
func (d *dictionary) numberingOf(other *dictionary) *renumbering {
	n := &renumbering{
		traces:     newNumbering(other.traces.values, d.traces.id),
		operations: newNumbering(other.operations.values, d.operations.id),
		spans:      newNumbering(other.spans.values, d.spans.id),
		lanes:      newNumbering(other.lanes.values, d.lane),
	}
	n.stamps = newNumbering(other.stamps.values, func(s stamp) int32 {
		s.trace = n.traces.number(s.trace)
		return d.stamps.id(s)
	})
	return n
}

// release gives up what is needed to add to d, not to look numbers up.
func (d *dictionary) release() {
	d.traces.ids, d.stamps.ids = nil, nil
}
