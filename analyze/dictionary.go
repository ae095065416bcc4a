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

// merge adds other's values and returns the number here of each of them.
func (t *symbols[K]) merge(other *symbols[K]) []int32 {
	ids := make([]int32, len(other.values))
	for i, v := range other.values {
		ids[i] = t.id(v)
	}
	return ids
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
	operations symbols[string]
	spans      symbols[spanName]
	lanes      symbols[lane] // 0 is no lane, for non-op spans
	devices    symbols[DeviceKey]
	laneDevice []int32 // of each lane
	stamps     symbols[stamp]
}

func newDictionary() dictionary {
	var d dictionary
	d.traces.id(op.TraceID{})
	d.lane(lane{})
	d.stamps.id(stamp{})
	return d
}

// lane returns the number of l.
func (d *dictionary) lane(l lane) int32 {
	id := d.lanes.id(l)
	if int(id) == len(d.laneDevice) {
		d.laneDevice = append(d.laneDevice, d.devices.id(l.device))
	}
	return id
}

// renumbering says where the numbers of one dictionary lie in another.
type renumbering struct {
	traces, operations, spans, lanes, stamps []int32
}

// apply changes the numbers of r.
func (n *renumbering) apply(r *row) {
	r.trace, r.lane, r.stamp = n.traces[r.trace], n.lanes[r.lane], n.stamps[r.stamp]
	if r.flags&flagOp != 0 {
		r.name = n.operations[r.name]
	} else {
		r.name = n.spans[r.name]
	}
}

// merge adds what other holds.
func (d *dictionary) merge(other *dictionary) renumbering {
	n := renumbering{
		traces:     d.traces.merge(&other.traces),
		operations: d.operations.merge(&other.operations),
		spans:      d.spans.merge(&other.spans),
		lanes:      make([]int32, len(other.lanes.values)),
		stamps:     make([]int32, len(other.stamps.values)),
	}
	for i, l := range other.lanes.values {
		n.lanes[i] = d.lane(l)
	}
	for i, s := range other.stamps.values {
		if i > 0 {
			s.trace = n.traces[s.trace]
		}
		n.stamps[i] = d.stamps.id(s)
	}
	return n
}
