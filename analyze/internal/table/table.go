// Package table holds rows by key, up to a limit. The remaining rows depend only on the set of keys, not on the order
// of additions and merges, so several workers get the same table as one.
package table

import (
	"iter"
	"math"
	"unsafe"

	"github.com/optrace/optrace/analyze/internal/heap"
)

// Table holds at most limit rows by key, with bounded total key length. Beyond that it keeps the keys with the smallest
// hashes and folds all other rows into one. Remaining rows are complete.
type Table[R any] struct {
	limit    int
	keyLimit int // total bytes of keys
	hash     func(key []byte) uint64
	// fold adds src to dst and does not change src.
	fold func(dst, src *R)

	rows     map[string]*Row[R]
	keyBytes int
	// largest orders the rows by hash; nil until the table was full.
	largest *heap.Heap[*Row[R]]
	// beyond is the smallest key without a row, if full is set. No larger key has a row. other is the row of
	// these keys.
	beyond     place
	full       bool
	other      Row[R]
	overflowed distinct
}

// Row is a row of a Table.
type Row[R any] struct {
	// Evicted reports whether the row has left the table.
	Evicted bool
	Value   R

	place
}

// Key returns the key of the row, "" for the row beyond the limit.
func (r *Row[R]) Key() string { return r.key }

// place is a key with its hash. The hash orders keys.
type place struct {
	key  string
	hash uint64
}

// Bounds of the total key length: per row, and at least.
const (
	keyBytesPerRow = 256
	minKeyBytes    = 1 << 20
)

// New returns an empty Table. The function fold adds src to dst.
func New[R any](limit int, fold func(dst, src *R)) *Table[R] { return NewByHash(limit, fold, Hash) }

// NewByHash is New with another key order: by hash, which must be the same in every process, and then by key. Keys with
// equal hashes are evicted one after the other, before any key with another hash.
func NewByHash[R any](limit int, fold func(dst, src *R), hash func(key []byte) uint64) *Table[R] {
	keyLimit := max(limit*keyBytesPerRow, minKeyBytes)
	return &Table[R]{limit: limit, keyLimit: keyLimit, fold: fold, hash: hash, rows: make(map[string]*Row[R])}
}

// Row returns the row of key, or the common row for a key beyond the limit. isNew reports whether this call created it.
// The row belongs to the key until it is evicted.
func (t *Table[R]) Row(key []byte) (r *Row[R], isNew bool) {
	if row, ok := t.rows[string(key)]; ok { // without allocation
		return row, false
	}
	hash := t.hash(key)
	if t.full && !t.beyond.follows(hash, key) {
		t.overflowed.add(hash)
		return &t.other, false
	}
	row := &Row[R]{place: place{string(key), hash}}
	t.rows[row.key] = row
	t.keyBytes += len(key)
	if t.largest != nil {
		t.largest.Push(row)
	}
	for len(t.rows) > t.limit || t.keyBytes > t.keyLimit {
		t.evict()
	}
	if row.Evicted {
		return &t.other, false
	}
	return row, true
}

// evict folds the row of the largest key into the common row.
func (t *Table[R]) evict() {
	if t.largest == nil {
		t.largest = &heap.Heap[*Row[R]]{Less: func(a, b *Row[R]) bool { return a.place.less(b.place) }}
		for _, row := range t.rows {
			t.largest.Push(row)
		}
	}
	last := t.largest.Pop()
	t.fold(&t.other.Value, &last.Value)
	t.overflowed.add(last.hash)
	delete(t.rows, last.key)
	t.keyBytes -= len(last.key)
	last.Evicted = true
	t.beyond = last.place
	t.full = true
}

// Whole reports whether the table has rows for all keys with the hash of key, which must have a row.
func (t *Table[R]) Whole(key string) bool { return !t.full || t.hash([]byte(key)) < t.beyond.hash }

// Bytes returns the approximate memory of the rows, their keys and their report rows, without memory that rows point
// to.
func (t *Table[R]) Bytes() int64 {
	const each = 64 + 512 // in the map and heap, and in the report
	return 2*int64(t.keyBytes) + int64(len(t.rows))*int64(unsafe.Sizeof(Row[R]{})+each)
}

// Merge adds the rows of o and leaves o unchanged. It calls init with each new row and its row in o before folding
// them.
func (t *Table[R]) Merge(o *Table[R], init func(dst, src *R)) {
	for o.full && len(t.rows) > 0 && t.reaches(o.beyond) {
		t.evict()
	}
	if o.full {
		if !t.full || o.beyond.less(t.beyond) {
			t.beyond = o.beyond
			t.full = true
		}
		t.fold(&t.other.Value, &o.other.Value)
	}
	for _, src := range o.rows {
		dst, isNew := t.Row([]byte(src.key))
		if isNew {
			init(&dst.Value, &src.Value)
		}
		t.fold(&dst.Value, &src.Value)
	}
	t.overflowed.merge(&o.overflowed)
}

// reaches reports whether t has a row at or after key.
func (t *Table[R]) reaches(key place) bool {
	if t.largest != nil {
		return !t.largest.Top().place.less(key)
	}
	for _, row := range t.rows {
		if !row.place.less(key) {
			return true
		}
	}
	return false
}

// Match calls f with each row of t that o also has, including the common row, and with the row of o.
func (t *Table[R]) Match(o *Table[R], f func(mine, its *R)) {
	for key, row := range t.rows {
		if its, ok := o.rows[key]; ok {
			f(&row.Value, &its.Value)
		}
	}
	if t.full && o.full {
		f(&t.other.Value, &o.other.Value)
	}
}

// All yields the rows in random order. other is true for the row beyond the limit.
func (t *Table[R]) All() iter.Seq2[*R, bool] {
	return func(yield func(row *R, other bool) bool) {
		for _, row := range t.rows {
			if !yield(&row.Value, false) {
				return
			}
		}
		if t.full {
			yield(&t.other.Value, true)
		}
	}
}

// Overflowed returns the number of distinct hashes of keys beyond the limit; above 65,536 it is an estimate.
func (t *Table[R]) Overflowed() int64 { return t.overflowed.count() }

func (p place) less(o place) bool {
	if p.hash != o.hash {
		return p.hash < o.hash
	}
	return p.key < o.key
}

func (p place) follows(hash uint64, key []byte) bool {
	return p.hash > hash || p.hash == hash && p.key > string(key)
}

// Hash is FNV-1a with a finishing step that spreads short keys over all bits. It is the same in every process, so
// partial results of several machines keep the same keys.
func Hash(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

const maxDistinct = 1 << 16 // the largest exact count of distinct hashes

// distinct counts distinct hashes. It keeps the smallest maxDistinct and then estimates the count from their density.
// The result does not depend on the order. The zero value is ready to use.
type distinct struct {
	kept     map[uint64]struct{}
	largest  heap.Heap[uint64]
	overflow bool
}

// add adds a hash, which may be unevenly distributed.
func (d *distinct) add(h uint64) { d.addSpread(spread(h)) }

func (d *distinct) addSpread(h uint64) {
	if d.overflow && h > d.largest.Top() {
		return
	}
	if _, ok := d.kept[h]; ok {
		return
	}
	if d.kept == nil {
		d.kept = make(map[uint64]struct{})
		d.largest.Less = func(a, b uint64) bool { return a < b }
	}
	if len(d.kept) < maxDistinct {
		d.kept[h] = struct{}{}
		d.largest.Push(h)
		return
	}
	d.overflow = true
	if top := d.largest.Top(); h < top {
		delete(d.kept, top)
		d.kept[h] = struct{}{}
		d.largest.ReplaceTop(h)
	}
}

func (d *distinct) merge(o *distinct) {
	for _, h := range o.largest.Items {
		d.addSpread(h)
	}
	d.overflow = d.overflow || o.overflow
}

func (d *distinct) count() int64 {
	if !d.overflow {
		return int64(len(d.kept))
	}
	return int64((maxDistinct - 1) / (float64(d.largest.Top()) / math.MaxUint64))
}

// spread maps numbers one to one to evenly distributed numbers, by the last steps of SplitMix64.
func spread(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
