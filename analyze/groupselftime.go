package analyze

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// groupID identifies a group by its values and side.
type groupID struct{ values, side string }

// addGroupSelfTimes gives each group its self time where the structure knows
// all of the keys. What belongs to groups without a row of their own goes into
// the row of the others.
func (r *Report) addGroupSelfTimes(t *Trace) {
	if len(r.Groups) == 0 {
		return
	}
	keys := r.Groups[0].Key.Keys
	if slices.ContainsFunc(keys, func(k Key) bool { return !k.isStructural() }) {
		return
	}
	sums := t.groupSelfTimes(keys)
	var others []*Group
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Key.Other {
			others = append(others, g)
			continue
		}
		id := groupID{string(appendValues(nil, g.Key.Values)), g.Side}
		g.SelfNS = new(int64)
		if sum := sums[id]; sum != nil {
			*g.SelfNS = sum.int64()
			delete(sums, id)
		}
	}
	for _, g := range others {
		var rest wide
		for id, sum := range sums {
			if id.side == g.Side {
				rest.merge(*sum)
			}
		}
		self := rest.int64()
		g.SelfNS = &self
	}
}

// groupSelfTimes sums up the self times by the keys, which are structural.
func (t *Trace) groupSelfTimes(keys []Key) map[groupID]*wide {
	sums := make(map[groupID]*wide)
	values := make([]KeyValue, len(keys))
	var scratch []byte
	for n, self := range t.SelfTimes() {
		e := n.keyFields()
		for i, k := range keys {
			values[i] = k.value(&e)
		}
		scratch = appendValues(scratch[:0], values)
		id := groupID{string(scratch), n.Side().String()}
		if sums[id] == nil {
			sums[id] = new(wide)
		}
		sums[id].add(self)
	}
	return sums
}

// isStructural reports whether a [Node] has the key.
func (k Key) isStructural() bool {
	switch k.field {
	case byOperation, byKind, byDevice, byRank, byTrace:
		return true
	}
	return false
}

// keyFields returns what structural keys look at.
func (n Node) keyFields() op.Entry {
	device := n.Device()
	e := op.Entry{
		Operation: n.Name(), Kind: n.Kind(), DeviceID: device.DeviceID, Rank: device.Rank, TraceID: n.TraceID(),
	}
	if e.DeviceID == UnknownDevice {
		e.DeviceID = ""
	}
	return e
}

// appendValues appends the values in a form that differs for different ones.
func appendValues(dst []byte, values []KeyValue) []byte {
	for _, v := range values {
		if !v.Known {
			dst = append(dst, 0)
			continue
		}
		dst = appendCounted(append(dst, 1), v.Text)
	}
	return dst
}
