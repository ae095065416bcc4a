package analyze

import (
	"slices"
	"sort"
)

// timed is a row and the time by which it is sorted.
type timed struct {
	at  int64
	row int32
}

// startOrder sorts rows by their starts; its memory is used again for each sort.
type startOrder struct {
	keys, left []timed
}

// sort sorts rows, which have a start, by start. Those that start at once are sorted
// by ties, or keep their order where that is nil.
func (o *startOrder) sort(c *columns, rows []int32, ties func(a, b int32) int) {
	o.keys = slices.Grow(o.keys[:0], len(rows))
	for _, r := range rows {
		o.keys = append(o.keys, timed{c.start(r), r})
	}
	o.sortKeys()
	for i, k := range o.keys {
		rows[i] = k.row
	}
	if ties == nil {
		return
	}
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && o.keys[to].at == o.keys[from].at {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(rows[from:to], ties)
		}
		from = to
	}
}

// sortKeys sorts the keys by time and keeps the order of equal ones. Operations are
// recorded nearly in the order of their starts: merging takes the time of what is out of
// order, and of a few comparisons.
func (o *startOrder) sortKeys() {
	const run = 16
	keys := o.keys
	for part := range slices.Chunk(keys, run) {
		for i := 1; i < len(part); i++ {
			for j := i; j > 0 && part[j].at < part[j-1].at; j-- {
				part[j], part[j-1] = part[j-1], part[j]
			}
		}
	}
	for size := run; size < len(keys); size *= 2 {
		for from := 0; from+size < len(keys); from += 2 * size {
			o.merge(keys[from:min(from+2*size, len(keys))], size)
		}
	}
}

// merge merges keys up to middle, which are sorted, with those from there on.
func (o *startOrder) merge(keys []timed, middle int) {
	if keys[middle-1].at <= keys[middle].at {
		return
	}
	from := sort.Search(middle, func(i int) bool { return keys[i].at > keys[middle].at })
	last := keys[middle-1].at
	to := middle + sort.Search(len(keys)-middle, func(i int) bool { return keys[middle+i].at >= last })
	o.left = append(o.left[:0], keys[from:middle]...)
	at, right := from, middle
	for _, k := range o.left {
		for right < to && keys[right].at < k.at {
			keys[at] = keys[right]
			at, right = at+1, right+1
		}
		keys[at] = k
		at++
	}
}
