// Package recent holds values of spans and traces under way, which may never end. A [Table] knows its size in bytes
// and evicts about the least recently used value. Its users, packages traces and prune, decide when.
package recent

import "unsafe"

// A Table maps keys to values. With few keys, by far the usual case, a linear search is faster than a map and does not
// allocate. More keys are indexed. The zero Table is empty. It is not safe for concurrent use.
type Table[K comparable, V any] struct {
	items []item[K, V]
	index map[K]int // of items; nil while they are few
	bytes int
	hand  int // Evict's next item
}

type item[K comparable, V any] struct {
	key     K
	value   V
	bytes   int
	chances uint8 // the number of times that Evict passes the item: two after a use, one after Add
}

const (
	// Above maxSearched items a table has an index, until it is empty.
	maxSearched = 8
	// An empty table keeps room for maxKept items.
	maxKept = 64
)

// Len returns the number of values.
func (t *Table[K, V]) Len() int { return len(t.items) }

// Bytes returns about the memory of the table, with the sizes stated by its users.
func (t *Table[K, V]) Bytes() int { return t.bytes }

// overhead returns about the memory of an item, with its share of spare room and of the index.
func (t *Table[K, V]) overhead() int {
	const indexEntry = 2 // parts of the index per used one, at most
	return int(unsafe.Sizeof(item[K, V]{}))*3/2 + indexEntry*int(unsafe.Sizeof(*new(K))+unsafe.Sizeof(0)+1)
}

// Find returns the value of a key, valid until the next change, or nil. It marks the value as used.
func (t *Table[K, V]) Find(key K) *V {
	i := t.at(key)
	if i < 0 {
		return nil
	}
	t.items[i].chances = 2
	return &t.items[i].value
}

func (t *Table[K, V]) at(key K) int {
	if t.index != nil {
		if i, ok := t.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range t.items {
		if t.items[i].key == key {
			return i
		}
	}
	return -1
}

// Add adds the value of an absent key. bytes is the memory that the value refers to.
func (t *Table[K, V]) Add(key K, value V, bytes int) {
	bytes += t.overhead()
	t.bytes += bytes
	t.items = append(t.items, item[K, V]{key, value, bytes, 1})
	switch {
	case t.index != nil:
		t.index[key] = len(t.items) - 1
	case len(t.items) > maxSearched:
		t.index = make(map[K]int)
		for i := range t.items {
			t.index[t.items[i].key] = i
		}
	}
}

// Grow adds bytes, perhaps negative, to the size of a key's value.
func (t *Table[K, V]) Grow(key K, bytes int) {
	if i := t.at(key); i >= 0 {
		t.items[i].bytes += bytes
		t.bytes += bytes
	}
}

// Remove removes the value of a key, and reports whether it was there.
func (t *Table[K, V]) Remove(key K) bool {
	i := t.at(key)
	if i >= 0 {
		t.removeAt(i)
	}
	return i >= 0
}

func (t *Table[K, V]) removeAt(i int) {
	last := len(t.items) - 1
	t.bytes -= t.items[i].bytes
	if t.index != nil {
		t.index[t.items[last].key] = i
		delete(t.index, t.items[i].key)
	}
	t.items[i] = t.items[last]
	t.items[last] = item[K, V]{}
	t.items = t.items[:last]
	if last == 0 {
		t.index = nil
		if cap(t.items) > maxKept {
			t.items = nil
		}
	}
}

// Evict removes and returns a value other than except's: one not used since Evict last passed it. Evict passes all
// values in turn. It reports false without another value.
func (t *Table[K, V]) Evict(except K) (key K, value V, ok bool) {
	for range 3*len(t.items) + 1 {
		if t.hand >= len(t.items) {
			t.hand = 0
		}
		if len(t.items) == 0 {
			break
		}
		i := t.hand
		t.hand++
		switch it := &t.items[i]; {
		case it.key == except:
		case it.chances > 0:
			it.chances--
		default:
			key = it.key
			value = it.value
			t.removeAt(i) // the newest item takes the place, behind the hand
			return key, value, true
		}
	}
	return key, value, false
}
