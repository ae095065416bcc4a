package arrowtable

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

// MaxRows is how many rows a batch has at most: no dictionary then has more
// values than an index of 16 bits can tell apart.
const MaxRows = 1 << 14

// isNull is the index of a row that is null.
const isNull = -1

// dictionary is a column of indexes into values, each of which it holds once.
type dictionary struct {
	values *array
	index  []int16 // of the rows as far as the last that is not null
	nulls  int     // among index
	// ids finds values by what they are: the text itself, the bytes of an id, or
	// the encoding of something else.
	ids  map[string]int16
	keys []string // by index
	at   int16    // of the last value
	ints map[int64]int16
	key  []byte
}

func (d *dictionary) reset() {
	d.values.reset()
	d.index, d.nulls = d.index[:0], 0
	clear(d.ids)
	clear(d.ints)
	clear(d.keys) // they may be long
	d.keys, d.at = d.keys[:0], 0
}

// set makes a row that has not been set an index.
func (d *dictionary) set(row int, i int16) {
	for len(d.index) < row {
		d.index = append(d.index, isNull)
		d.nulls++
	}
	d.index = append(d.index, i)
}

// newIndex returns the index of the value that will be added.
func (d *dictionary) newIndex() int16 { return int16(d.values.n) }

// find returns the index of the value of a key. Neighbours are often equal.
func (d *dictionary) find(key string) (i int16, ok bool) {
	if len(d.keys) > 0 && d.keys[d.at] == key {
		return d.at, true
	}
	if i, ok = d.ids[key]; ok {
		d.at = i
	}
	return i, ok
}

// remember returns the index of the value of a new key.
func (d *dictionary) remember(key string) int16 {
	if d.ids == nil {
		d.ids = make(map[string]int16)
	}
	d.at = d.newIndex()
	d.ids[key] = d.at
	d.keys = append(d.keys, key)
	return d.at
}

// setText sets a row to a text, unless that is empty.
func (d *dictionary) setText(row int, s string) {
	if s == "" {
		return
	}
	i, ok := d.find(s)
	if !ok {
		i = d.remember(s)
		d.values.addText(s)
	}
	d.set(row, i)
}

// setInt sets a row to an integer, or the bits of a number.
func (d *dictionary) setInt(row int, v int64) {
	if d.values.n > 0 && d.values.numbers[d.at] == v {
		d.set(row, d.at)
		return
	}
	i, ok := d.ints[v]
	if !ok {
		if d.ints == nil {
			d.ints = make(map[int64]int16)
		}
		i = d.newIndex()
		d.ints[v] = i
		d.values.addNumber(v)
	}
	d.at = i
	d.set(row, i)
}

// setID sets a row to an id in hexadecimal, unless that is zero.
func (d *dictionary) setID(row int, id []byte) {
	if isZero(id) {
		return
	}
	d.key = append(d.key[:0], id...)
	if d.isNew(row) {
		d.values.addHex(id)
	}
}

func isZero(id []byte) bool {
	for _, octet := range id {
		if octet != 0 {
			return false
		}
	}
	return true
}

// isNew sets a row to the value that key encodes, and reports whether it has to be
// added to the values.
func (d *dictionary) isNew(row int) bool {
	i, ok := d.at, len(d.keys) > 0 && d.keys[d.at] == string(d.key)
	if !ok {
		i, ok = d.ids[string(d.key)] // does not allocate
	}
	if ok {
		d.at = i
	} else {
		i = d.remember(string(d.key))
	}
	d.set(row, i)
	return !ok
}

// The values of the other types are encoded so that different ones differ: counts
// stand in front of texts and lists.

func (d *dictionary) begin() { d.key = d.key[:0] }

func (d *dictionary) number(v int64) { d.key = binary.LittleEndian.AppendUint64(d.key, uint64(v)) }

func (d *dictionary) count(n int) { d.key = binary.AppendUvarint(d.key, uint64(n)) }

func (d *dictionary) text(s string) {
	d.count(len(s))
	d.key = append(d.key, s...)
}

func (d *dictionary) int(n op.Int) {
	if !n.Known {
		d.key = append(d.key, 0)
		return
	}
	d.key = append(d.key, 1)
	d.number(n.V)
}

// shape encodes a shape: 0 for one that is not known, else its rank and 1 more.
func (d *dictionary) shape(s op.Shape) {
	if s == nil {
		d.count(0)
		return
	}
	d.count(1 + len(s))
	for _, dim := range s {
		d.number(dim)
	}
}
