// Package symbols numbers strings and other values: a row then holds four bytes instead of a string or an id. It also
// caches values by the address of a string. It never removes a value.
package symbols

import "unsafe"

// Table numbers distinct values in the order of their first appearance. The zero value is ready to use.
type Table[K comparable] struct {
	Values []K // holds the values by number

	ids     map[K]int32
	last    int32 // the last number returned: neighbours share many values
	counted int   // the number of Values counted in points
	points  int64 // the bytes that values refer to
}

// ID returns the number of v.
func (t *Table[K]) ID(v K) int32 {
	if int(t.last) < len(t.Values) && t.Values[t.last] == v {
		return t.last
	}
	id, ok := t.ids[v]
	if !ok {
		if t.ids == nil {
			t.ids = make(map[K]int32)
		}
		id = int32(len(t.Values))
		t.ids[v] = id
		t.Values = append(t.Values, v)
	}
	t.last = id
	return id
}

// Within returns the number of v, or of other for a new v beyond the first most values. 0 is no limit.
func (t *Table[K]) Within(most int, v, other K) int32 {
	if _, ok := t.ids[v]; !ok && most > 0 && len(t.Values) >= most {
		return t.ID(other)
	}
	return t.ID(v)
}

// Bytes returns about the memory of the values. points, perhaps nil, returns the bytes that a value refers to.
func (t *Table[K]) Bytes(points func(K) int) int64 {
	if points != nil {
		for _, v := range t.Values[t.counted:] {
			t.points += int64(points(v))
		}
		t.counted = len(t.Values)
	}
	var v K
	const entry = 96 // of the map, which doubles as it grows, beside the value
	return t.points + int64(len(t.Values))*int64(2*unsafe.Sizeof(v)+entry)
}

// Names is a Table of strings with a fast lookup by address.
type Names struct {
	Table[string]
	recent Cache[struct{}, int32]
}

// ID returns the number of a name.
func (n *Names) ID(name string) int32 {
	slot := n.recent.Slot(name, 0)
	if !slot.Holds(name, struct{}{}) {
		slot.Set(name, struct{}{}, n.Table.ID(name))
	}
	return slot.Value
}

// Texts is a Table of texts composed in a buffer. The zero value is ready to use.
type Texts struct{ Table[string] }

// ID returns the number of a text. It allocates only for a new one.
func (t *Texts) ID(text []byte) int32 {
	if id, ok := t.ids[string(text)]; ok {
		return id
	}
	return t.Table.ID(string(text))
}
