// Package table holds rows by key, up to a limit. The rows that remain beyond
// the limit depend on the set of keys alone, not on the order of additions and
// merges, so that several workers arrive at the same table as one.
package table

import (
	"iter"

	"github.com/optrace/optrace/analyze/internal/heap"
)

// Table holds a row per key, at most limit of them. Beyond the limit it keeps
// the keys with the smallest hashes and folds all other rows into one. A row
// that remains is complete.
type Table[R any] struct {
	limit int
	// fold adds src to dst and does not change src.
	fold func(dst, src *R)

	rows map[string]*Row[R]
	// largest holds the rows by hash, once there are limit of them.
	largest *heap.Heap[*Row[R]]
	// other is the row of the keys beyond the limit, nil while there are none.
	other      *Row[R]
	overflowed distinct
}

// Row is a row of a Table.
type Row[R any] struct {
	Value R
	// Evicted reports whether the row is no longer in the table.
	Evicted bool

	key  string
	hash uint64
}

// New returns an empty Table. The function fold adds src to dst.
func New[R any](limit int, fold func(dst, src *R)) *Table[R] {
	return &Table[R]{limit: limit, fold: fold, rows: make(map[string]*Row[R])}
}

// Row returns the row of the key, which is the common row of the others for a
// key beyond the limit. isNew reports whether this call created the row. The
// row belongs to the key until it is evicted.
func (t *Table[R]) Row(key []byte) (r *Row[R], isNew bool) {
	if row, ok := t.rows[string(key)]; ok { // does not allocate
		return row, false
	}
	hash := hashKey(key)
	if len(t.rows) < t.limit {
		row := &Row[R]{key: string(key), hash: hash}
		t.rows[row.key] = row
		return row, true
	}
	if t.other == nil {
		t.other = new(Row[R])
	}
	if t.limit <= 0 {
		t.overflowed.add(hash)
		return t.other, false
	}
	if t.largest == nil {
		t.largest = &heap.Heap[*Row[R]]{Less: (*Row[R]).less}
		for _, row := range t.rows {
			t.largest.Push(row)
		}
	}
	last := t.largest.Top()
	if hash > last.hash || hash == last.hash && string(key) > last.key {
		t.overflowed.add(hash)
		return t.other, false
	}
	row := &Row[R]{key: string(key), hash: hash}
	t.overflowed.add(last.hash)
	t.fold(&t.other.Value, &last.Value)
	delete(t.rows, last.key)
	last.Evicted = true
	t.rows[row.key] = row
	t.largest.ReplaceTop(row)
	return row, true
}

// Merge adds the rows of o, which does not change. It calls init with each new
// row and the row of o that it comes from, before it folds the two.
func (t *Table[R]) Merge(o *Table[R], init func(dst, src *R)) {
	for _, src := range o.rows {
		dst, isNew := t.Row([]byte(src.key))
		if isNew {
			init(&dst.Value, &src.Value)
		}
		t.fold(&dst.Value, &src.Value)
	}
	if o.other != nil {
		if t.other == nil {
			t.other = new(Row[R])
		}
		t.fold(&t.other.Value, &o.other.Value)
	}
	t.overflowed.merge(&o.overflowed)
}

// Match calls f with each row of t that o has too, that of the others included,
// and the row of o.
func (t *Table[R]) Match(o *Table[R], f func(mine, its *R)) {
	for key, row := range t.rows {
		if its, ok := o.rows[key]; ok {
			f(&row.Value, &its.Value)
		}
	}
	if t.other != nil && o.other != nil {
		f(&t.other.Value, &o.other.Value)
	}
}

// All yields the rows in no particular order; other is true for the row of the
// keys beyond the limit.
func (t *Table[R]) All() iter.Seq2[*R, bool] {
	return func(yield func(row *R, other bool) bool) {
		for _, row := range t.rows {
			if !yield(&row.Value, false) {
				return
			}
		}
		if t.other != nil {
			yield(&t.other.Value, true)
		}
	}
}

// Overflowed returns the number of keys beyond the limit: exactly up to 65,536,
// an estimate above that.
func (t *Table[R]) Overflowed() int64 { return t.overflowed.count() }

func (r *Row[R]) less(o *Row[R]) bool {
	if r.hash != o.hash {
		return r.hash < o.hash
	}
	return r.key < o.key
}

// hashKey is FNV-1a with a finishing step that spreads short keys over all
// bits. It is the same in every process, so that the partial results of several
// machines keep the same keys.
func hashKey(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
