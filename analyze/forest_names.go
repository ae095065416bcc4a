package analyze

import (
	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/op"
)

// spanName describes a span that is no operation.
type spanName struct {
	name, service string
}

// lane is a queue of a device.
type lane struct {
	device  DeviceKey // with its service where that may tell it from others
	stream  op.Int
	service string
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
	traces      symbols.Table[op.TraceID] // 0 is the unknown trace
	operations  symbols.Names
	spans       symbols.Table[spanName]
	lanes       symbols.Table[lane] // 0 is no lane, for non-op spans
	stamps      symbols.Table[stamp]
	shapes      symbols.Table[string] // 0 is no shape
	groups      symbols.Texts         // the keys of groups; 0 is no group
	varieties   symbols.Texts         // 0 is an entry that tells nothing
	collectives symbols.Table[collectiveName]

	recentLanes symbols.Cache[laneTag, int32]

	counted countedTexts
}

// laneTag and the name of the device identify a lane.
type laneTag struct {
	rank, stream op.Int
	service      string
	host         string
}

func newDictionary() dictionary {
	var d dictionary
	d.traces.ID(op.TraceID{})
	d.lanes.ID(lane{})
	d.stamps.ID(stamp{})
	d.shapes.ID("")
	d.groups.ID(nil)
	d.varieties.ID(nil)
	return d
}

// laneOf returns the number of e's lane.
func (d *dictionary) laneOf(e *op.Entry) int32 {
	if e.EmptyDevice { // in the cache, "" is no device
		return d.lanes.ID(lane{device: deviceOf(e), stream: e.Stream, service: e.Service})
	}
	tag := laneTag{e.Rank, e.Stream, e.Service, e.Host}
	slot := d.recentLanes.Slot(e.DeviceID, e.Rank.V<<8^e.Stream.V)
	if !slot.Holds(e.DeviceID, tag) {
		slot.Set(e.DeviceID, tag, d.lanes.ID(lane{device: deviceOf(e), stream: e.Stream, service: e.Service}))
	}
	return slot.Value
}

// stampOf returns the number of the local root that an operation of a trace names.
func (d *dictionary) stampOf(trace int32, name string, span op.SpanID) int32 {
	if name == "" && span.IsZero() {
		return 0
	}
	return d.stamps.ID(stamp{trace: trace, span: spanNumber(span), name: name})
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

// all replaces old numbers by the new ones.
func (n *numbering[K]) all(numbers []int32) {
	for i, old := range numbers {
		numbers[i] = n.number(old)
	}
}

func (n *numbering[K]) addNumber(old int32) int32 {
	id := n.add(n.values[old])
	n.ids[old] = id + 1
	return id
}

// renumbering says where the numbers of one dictionary lie in another.
type renumbering struct {
	traces      numbering[op.TraceID]
	operations  numbering[string]
	spans       numbering[spanName]
	lanes       numbering[lane]
	stamps      numbering[stamp]
	shapes      numbering[string]
	groups      numbering[string]
	varieties   numbering[string]
	collectives numbering[collectiveName]
}

// numberingOf returns where other's numbers lie in d.
func (d *dictionary) numberingOf(other *dictionary) *renumbering {
	n := &renumbering{
		traces:      newNumbering(other.traces.Values, d.traces.ID),
		operations:  newNumbering(other.operations.Values, d.operations.ID),
		spans:       newNumbering(other.spans.Values, d.spans.ID),
		lanes:       newNumbering(other.lanes.Values, d.lanes.ID),
		shapes:      newNumbering(other.shapes.Values, d.shapes.ID),
		groups:      newNumbering(other.groups.Values, d.groups.Add),
		varieties:   newNumbering(other.varieties.Values, d.varieties.Add),
		collectives: newNumbering(other.collectives.Values, d.collectives.ID),
	}
	n.stamps = newNumbering(other.stamps.Values, func(s stamp) int32 {
		s.trace = n.traces.number(s.trace)
		return d.stamps.ID(s)
	})
	return n
}

// release frees the memory that is needed to add to d, not to look numbers up.
func (d *dictionary) release() {
	d.traces.Release()
	d.stamps.Release()
	d.groups.Release()
	d.varieties.Release()
}
