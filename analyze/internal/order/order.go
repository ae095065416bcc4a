// Package order sorts rows that are nearly in order by the time of each, and keeps the order
// of those of the same time. Its sorters have memory of their own, which they use again.
package order

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// Key is a row and the time, or another number, by which it is sorted.
type Key struct {
	At  int64
	Row int32
}

// Runs returns the keys, which are sorted, in parts of the same time.
func Runs(keys []Key) iter.Seq[[]Key] { return RunsOf(keys, func(k *Key) int64 { return k.At }) }

// RunsOf returns a list in parts of neighbours of which the same is asked.
func RunsOf[T any, K comparable](list []T, of func(*T) K) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(list) > 0 {
			n, first := 1, of(&list[0])
			for n < len(list) && of(&list[n]) == first {
				n++
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// chunkRows is how many rows are sorted by keys at once. What is longer is merged of
// such chunks, by comparing rows: the keys of all would take 16 bytes a row.
const chunkRows = 1 << 16

// Rows sorts rows. The zero value is ready to use.
type Rows struct {
	keys   []Key
	left   []int32
	sorter Keys
}

// Sort sorts rows by the time that at returns for each. Those of the same time are
// sorted by ties, or keep their order where that is nil.
func (s *Rows) Sort(rows []int32, at func(r int32) int64, ties func(a, b int32) int) {
	for chunk := range slices.Chunk(rows, chunkRows) {
		s.sortChunk(chunk, at, ties)
	}
	s.left = mergeRuns(rows, chunkRows, s.left, func(a, b int32) bool {
		d := cmp.Compare(at(a), at(b))
		return d < 0 || d == 0 && ties != nil && ties(a, b) < 0
	})
}

func (s *Rows) sortChunk(rows []int32, at func(r int32) int64, ties func(a, b int32) int) {
	s.keys = slices.Grow(s.keys[:0], len(rows))
	for _, r := range rows {
		s.keys = append(s.keys, Key{at(r), r})
	}
	s.sorter.Sort(s.keys)
	for i, k := range s.keys {
		rows[i] = k.Row
	}
	if ties == nil {
		return
	}
	from := 0
	for run := range Runs(s.keys) {
		if len(run) > 1 {
			slices.SortFunc(rows[from:from+len(run)], ties)
		}
		from += len(run)
	}
}

// Keys sorts keys. The zero value is ready to use.
type Keys struct{ left []Key }

// Sort sorts keys by time and keeps the order of equal ones.
func (s *Keys) Sort(keys []Key) {
	const run = 16
	for part := range slices.Chunk(keys, run) {
		for i := 1; i < len(part); i++ {
			for j := i; j > 0 && part[j].At < part[j-1].At; j-- {
				part[j], part[j-1] = part[j-1], part[j]
			}
		}
	}
	s.left = mergeRuns(keys, run, s.left, func(a, b Key) bool { return a.At < b.At })
}

// mergeRuns sorts items, of which each run of the given length is sorted, and keeps the
// order of equal ones. Operations are recorded nearly in the order of their starts:
// merging takes the time of what is out of order, and of a few comparisons. It returns
// left, the memory that it uses, to be used again.
func mergeRuns[T any](items []T, run int, left []T, less func(a, b T) bool) []T {
	for ; run < len(items); run *= 2 {
		for from := 0; from+run < len(items); from += 2 * run {
			left = merge(items[from:min(from+2*run, len(items))], run, left, less)
		}
	}
	return left
}

// merge merges the items up to middle, which are sorted, with those from there on.
func merge[T any](items []T, middle int, left []T, less func(a, b T) bool) []T {
	first, last := items[middle], items[middle-1]
	if !less(first, last) {
		return left
	}
	from := sort.Search(middle, func(i int) bool { return less(first, items[i]) })
	to := middle + sort.Search(len(items)-middle, func(i int) bool { return !less(items[middle+i], last) })
	left = append(left[:0], items[from:middle]...)
	at, right := from, middle
	for _, v := range left {
		for right < to && less(items[right], v) {
			items[at] = items[right]
			at, right = at+1, right+1
		}
		items[at] = v
		at++
	}
	return left
}
