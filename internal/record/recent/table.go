// Package recent holds what is under way and may never end: a [Table] knows how many bytes it takes, and which of its values
// has not been used for about the longest time.
//
// It evicts nothing by itself: its users, packages traces and prune, say how much is too much, and what it means to lose a
// value. It knows nothing of spans.
package recent

import "unsafe"

// A Table maps keys to values. Nearly always it has few, and a linear search is then faster than a map and does not allocate;
// many are indexed. The zero Table is empty. It is used by one goroutine at a time.
type Table[K comparable, V any] struct {
	items []item[K, V]
	index map[K]int // of items; nil while these are few
	bytes int
	hand  int // where Evict looks next
}

type item[K comparable, V any] struct {
	key   K
	value V
	bytes int
	// chances is how many times Evict passes the item: once more where it has been
	// used than where it has only been added.
	chances uint8
}

const (
	// Items are indexed when there are more than maxSearched, until there are none.
	maxSearched = 8
	// An empty table keeps room for maxKept items.
	maxKept = 64
)

// Len returns the number of values.
func (t *Table[K, V]) Len() int { return len(t.items) }

// Bytes returns about how much memory the table takes, with what its users said that its values take.
func (t *Table[K, V]) Bytes() int { return t.bytes }

// overhead returns about how much memory an item takes, with its share of spare room and of the index.
func (t *Table[K, V]) overhead() int {
	const indexEntry = 2 // parts of the index for each that is used, at most
	return int(unsafe.Sizeof(item[K, V]{}))*3/2 + indexEntry*int(unsafe.Sizeof(*new(K))+unsafe.Sizeof(0)+1)
}

// Find returns the value of a key, or nil. It counts as used, and is valid until the next Add, Remove or Evict.
func (t *Table[K, V]) Find(key K) *V {
	i := t.at(key)
	if i < 0 {
		return nil
	}
	t.items[i].chances = 2
	return &t.items[i].value
}

// at returns the place of a key, negative if it is not there.
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

// Add adds the value of a key that is not there, which refers to so many bytes.
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

// Grow says that the value of a key refers to so many more bytes, or fewer.
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

// Evict removes a value, but not that of the key except, and returns it: one that has not been used since Evict passed it last,
// which happens to all values in turn. It reports false where there is no other value.
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
			t.removeAt(i) // the newest takes the place, behind the hand
			return key, value, true
		}
	}
	return key, value, false
}
