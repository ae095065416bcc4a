package analyze

// table holds a row per key, at most limit of them. Beyond that it keeps the
// keys with the smallest hashes and folds all other rows into one. This choice
// depends on the set of keys alone: it is the same in whatever order entries
// come and tables are merged, and a row that stays is complete.
type table[R any] struct {
	limit int
	// fold adds src to dst and leaves src as it is.
	fold func(dst, src *R)

	rows map[string]*tableRow[R]
	// largest has the rows by hash, once there are limit of them.
	largest *heap[*tableRow[R]]
	// other is the row of the keys beyond the limit, nil while there are none.
	other      *tableRow[R]
	overflowed distinct
}

type tableRow[R any] struct {
	key  string
	hash uint64
	// evicted tells that the row is no longer in the table.
	evicted bool
	value   R
}

func newTable[R any](limit int, fold func(dst, src *R)) *table[R] {
	return &table[R]{limit: limit, fold: fold, rows: make(map[string]*tableRow[R])}
}

// row returns the row of the key, which is the row of the others for a key
// beyond the limit. isNew tells that the row was made by this call. The row is
// the key's until it is evicted.
func (t *table[R]) row(key []byte) (r *tableRow[R], isNew bool) {
	if row, ok := t.rows[string(key)]; ok { // does not allocate
		return row, false
	}
	hash := hashKey(key)
	if len(t.rows) < t.limit {
		row := &tableRow[R]{key: string(key), hash: hash}
		t.rows[row.key] = row
		return row, true
	}
	if t.other == nil {
		t.other = new(tableRow[R])
	}
	if t.limit <= 0 {
		t.overflowed.add(hash)
		return t.other, false
	}
	if t.largest == nil {
		t.largest = &heap[*tableRow[R]]{less: (*tableRow[R]).less}
		for _, row := range t.rows {
			t.largest.push(row)
		}
	}
	last := t.largest.top()
	if hash > last.hash || hash == last.hash && string(key) > last.key {
		t.overflowed.add(hash)
		return t.other, false
	}
	row := &tableRow[R]{key: string(key), hash: hash}
	t.overflowed.add(last.hash)
	t.fold(&t.other.value, &last.value)
	delete(t.rows, last.key)
	last.evicted = true
	t.rows[row.key] = row
	t.largest.replaceTop(row)
	return row, true
}

// merge adds the rows of o, which stays as it is. init is called with a new
// row and the one of o that it comes from, before the two are folded.
func (t *table[R]) merge(o *table[R], init func(dst, src *R)) {
	for _, src := range o.rows {
		dst, isNew := t.row([]byte(src.key))
		if isNew {
			init(&dst.value, &src.value)
		}
		t.fold(&dst.value, &src.value)
	}
	if o.other != nil {
		if t.other == nil {
			t.other = new(tableRow[R])
		}
		t.fold(&t.other.value, &o.other.value)
	}
	t.overflowed.merge(&o.overflowed)
}

func (r *tableRow[R]) less(o *tableRow[R]) bool {
	if r.hash != o.hash {
		return r.hash < o.hash
	}
	return r.key < o.key
}

// hashKey is FNV-1a with a finishing step that spreads short keys over all
// bits. It is the same in every process, so that partial results of several
// machines agree on which keys stay.
func hashKey(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range key {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
