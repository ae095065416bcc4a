package arrowtable

import (
	"bytes"
	"encoding/binary"

	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/op"
)

// isNull is the index of a value that is null.
const isNull = -1

// dictionary is the values of a column, each of which it holds once.
type dictionary struct {
	values *array
	// Values are found by what they are: numbers in ints, ids in ids, others in
	// indexes by the text itself or an encoding. The first indexed values are there;
	// those that a vocabulary has added join them when a value is looked for.
	indexes map[string]int16
	keys    []string // by index, of others
	ints    map[int64]int16
	ids     idSet
	indexed int
	// searched tells that there may be values that no vocabulary has added.
	searched bool
	// recent holds an index that a key with such an end had, which it probably has
	// still.
	recent [recentKeys]int16
	at     int16 // of the last number
	key    []byte
	bytes  *int // what values and keys take, roughly, joins that
}

const recentKeys = 32

func newDictionary(f *arrowipc.Field, dims *dimensions, bytes *int) *dictionary {
	return &dictionary{values: newArray(f, dims), bytes: bytes}
}

func (d *dictionary) reset() {
	d.values.reset()
	clear(d.indexes)
	d.ids.reset()
	clear(d.ints)
	clear(d.keys) // they may be long
	d.keys, d.at, d.indexed, d.searched = d.keys[:0], 0, 0, false
}

// slot returns where the index of a key of n bytes may be among the recent ones.
func slot(n int, last byte) int { return (n*5 + int(last)) % recentKeys }

// findText returns the index of a text, which is not empty.
func (d *dictionary) findText(key string) (i int16, ok bool) {
	at := slot(len(key), key[len(key)-1])
	if i = d.recent[at]; int(i) < len(d.keys) && d.keys[i] == key {
		return i, true
	}
	d.index()
	if i, ok = d.indexes[key]; ok {
		d.recent[at] = i
	}
	return i, ok
}

// index makes all values such that they are found by what they are.
func (d *dictionary) index() {
	d.searched = true
	for ; d.indexed < len(d.keys); d.indexed++ {
		if d.indexes == nil {
			d.indexes = make(map[string]int16)
		}
		d.indexes[d.keys[d.indexed]] = int16(d.indexed)
	}
}

// find returns the index of a key, which is not empty.
func (d *dictionary) find(key []byte) (i int16, ok bool) {
	at := slot(len(key), key[len(key)-1])
	if i = d.recent[at]; int(i) < len(d.keys) && d.keys[i] == string(key) {
		return i, true
	}
	d.index()
	if i, ok = d.indexes[string(key)]; ok { // does not allocate
		d.recent[at] = i
	}
	return i, ok
}

// remember returns the index of the value of a new key, which the caller adds.
func (d *dictionary) remember(key string) int16 {
	i := int16(d.values.n)
	d.keys = append(d.keys, key)
	d.recent[slot(len(key), key[len(key)-1])] = i
	*d.bytes += valueOverhead + 2*len(key)
	return i
}

// valueOverhead is about what a value takes beside its content.
const valueOverhead = 48

// text returns the index of a text, isNull for an empty one.
func (d *dictionary) text(s string) int16 {
	if s == "" {
		return isNull
	}
	i, ok := d.findText(s)
	if !ok {
		i = d.remember(s)
		d.values.addText(s)
	}
	return i
}

// number returns the index of an integer, or of the bits of a number.
func (d *dictionary) number(v int64) int16 {
	if d.values.n > 0 && d.values.numbers[d.at] == v {
		return d.at
	}
	d.searched = true
	if d.ints == nil {
		d.ints = make(map[int64]int16)
	}
	for ; d.indexed < d.values.n; d.indexed++ {
		d.ints[d.values.numbers[d.indexed]] = int16(d.indexed)
	}
	i, ok := d.ints[v]
	if !ok {
		i = d.addNumberValue(v)
	}
	d.at = i
	return i
}

func (d *dictionary) addNumberValue(v int64) int16 {
	d.values.addNumber(v)
	*d.bytes += valueOverhead
	return int16(d.values.n - 1)
}

// int returns the index of an integer, isNull where it is not known.
func (d *dictionary) int(n op.Int) int16 {
	if !n.Known {
		return isNull
	}
	return d.number(n.V)
}

// traceID returns the index of an id, isNull for zero.
func (d *dictionary) traceID(id op.TraceID) int16 {
	if id.IsZero() {
		return isNull
	}
	i, isNew := d.ids.number(newID(id[:]))
	if isNew {
		d.values.addHex(id[:])
		*d.bytes += valueOverhead
	}
	return i
}

// spanID is traceID for a span.
func (d *dictionary) spanID(id op.SpanID) int16 {
	if id.IsZero() {
		return isNull
	}
	i, isNew := d.ids.number(newID(id[:]))
	if isNew {
		d.values.addNumber(spanNumber(id[:]))
		*d.bytes += valueOverhead
	}
	return i
}

// spanNumber returns the number that the digits of a span's id are.
func spanNumber(id []byte) int64 { return int64(binary.BigEndian.Uint64(id)) }

// isZero reports whether there is nothing but zeros.
func isZero(b []byte) bool {
	return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1])
}

// encoded returns the index of the value that key encodes, and whether it has to
// be added to the values.
func (d *dictionary) encoded() (i int16, isNew bool) {
	i, ok := d.find(d.key)
	if !ok {
		i = d.remember(string(d.key))
	}
	return i, !ok
}

// take returns the index of the value that a vocabulary's dictionary of the column
// has at an index, and that has not been taken before.
func (d *dictionary) take(from *dictionary, at int16) int16 {
	if len(from.keys) == 0 {
		v := from.values.numbers[at]
		if d.searched {
			return d.number(v)
		}
		return d.addNumberValue(v)
	}
	key := from.keys[at]
	if d.searched {
		if i, ok := d.findText(key); ok {
			return i
		}
	}
	d.keys = append(d.keys, key)
	d.values.addFrom(from.values, int(at))
	*d.bytes += valueOverhead + 2*len(key)
	return int16(d.values.n - 1)
}

// The values of other types are encoded so that different ones differ: counts
// stand in front of texts and lists.

func (d *dictionary) begin() { d.key = d.key[:0] }

func (d *dictionary) addNumber(v int64) { d.key = binary.LittleEndian.AppendUint64(d.key, uint64(v)) }

func (d *dictionary) addCount(n int) { d.key = binary.AppendUvarint(d.key, uint64(n)) }

func (d *dictionary) addText(s string) {
	d.addCount(len(s))
	d.key = append(d.key, s...)
}

func (d *dictionary) addInt(n op.Int) {
	if !n.Known {
		d.key = append(d.key, 0)
		return
	}
	d.key = append(d.key, 1)
	d.addNumber(n.V)
}

// addShape encodes a shape: 0 for one that is not known, else its rank and 1 more.
func (d *dictionary) addShape(s op.Shape) {
	if s == nil {
		d.addCount(0)
		return
	}
	d.addCount(1 + len(s))
	for _, dim := range s {
		d.addNumber(dim)
	}
}
