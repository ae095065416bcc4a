package analyze

import (
	"iter"
	"slices"
	"sort"
)

// timed is a row and the time, or another number, by which it is sorted.
type timed struct {
	at  int64
	row int32
}

// equalRuns returns the keys, which are sorted, in parts of the same time.
func equalRuns(keys []timed) iter.Seq[[]timed] {
	return func(yield func([]timed) bool) {
		for len(keys) > 0 {
			n := 1
			for n < len(keys) && keys[n].at == keys[0].at {
				n++
			}
			if !yield(keys[:n]) {
				return
			}
			keys = keys[n:]
		}
	}
}

// rowSorter sorts rows; its memory is used again for each sort.
type rowSorter struct {
	keys   []timed
	sorter keySorter
}

// sort sorts rows by the time that at returns for each. Those of the same time are
// sorted by ties, or keep their order where that is nil.
func (s *rowSorter) sort(rows []int32, at func(r int32) int64, ties func(a, b int32) int) {
	s.keys = slices.Grow(s.keys[:0], len(rows))
	for _, r := range rows {
		s.keys = append(s.keys, timed{at(r), r})
	}
	s.sorter.sort(s.keys)
	for i, k := range s.keys {
		rows[i] = k.row
	}
	if ties == nil {
		return
	}
	from := 0
	for run := range equalRuns(s.keys) {
		if len(run) > 1 {
			slices.SortFunc(rows[from:from+len(run)], ties)
		}
		from += len(run)
	}
}

// keySorter sorts keys; its memory is used again for each sort.
type keySorter struct{ left []timed }

// sort sorts keys by time and keeps the order of equal ones. Operations are
// recorded nearly in the order of their starts: merging takes the time of what is out of
// order, and of a few comparisons.
func (s *keySorter) sort(keys []timed) {
	const run = 16
	for part := range slices.Chunk(keys, run) {
		for i := 1; i < len(part); i++ {
			for j := i; j > 0 && part[j].at < part[j-1].at; j-- {
				part[j], part[j-1] = part[j-1], part[j]
			}
		}
	}
	for size := run; size < len(keys); size *= 2 {
		for from := 0; from+size < len(keys); from += 2 * size {
			s.merge(keys[from:min(from+2*size, len(keys))], size)
		}
	}
}

// merge merges keys up to middle, which are sorted, with those from there on.
func (s *keySorter) merge(keys []timed, middle int) {
	if keys[middle-1].at <= keys[middle].at {
		return
	}
	from := sort.Search(middle, func(i int) bool { return keys[i].at > keys[middle].at })
	last := keys[middle-1].at
	to := middle + sort.Search(len(keys)-middle, func(i int) bool { return keys[middle+i].at >= last })
	s.left = append(s.left[:0], keys[from:middle]...)
	at, right := from, middle
	for _, k := range s.left {
		for right < to && keys[right].at < k.at {
			keys[at] = keys[right]
			at, right = at+1, right+1
		}
		keys[at] = k
		at++
	}
}
