// Package order sorts rows by the time of each, and puts what is the same together.
package order

import (
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
			n := 1
			first := of(&list[0])
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

// Rows sorts rows by the time that at returns for each, and those of the same time by ties.
func Rows(rows []int32, at func(r int32) int64, ties func(a, b int32) int) {
	keys := make([]Key, len(rows))
	for i, r := range rows {
		keys[i] = Key{at(r), r}
	}
	Keys(keys)
	for i, k := range keys {
		rows[i] = k.Row
	}
	for run := range Runs(keys) {
		if len(run) > 1 {
			slices.SortFunc(rows[:len(run)], ties)
		}
		rows = rows[len(run):]
	}
}

// Keys sorts keys by time and keeps the order of equal ones. Operations are recorded nearly in the
// order of their starts: merging takes the time of what is out of order, and of a few comparisons.
func Keys(keys []Key) {
	run := 16
	for part := range slices.Chunk(keys, run) {
		for i := 1; i < len(part); i++ {
			for j := i; j > 0 && part[j].At < part[j-1].At; j-- {
				part[j], part[j-1] = part[j-1], part[j]
			}
		}
	}
	var left []Key
	for ; run < len(keys); run *= 2 {
		for from := 0; from+run < len(keys); from += 2 * run {
			left = merge(keys[from:min(from+2*run, len(keys))], run, left)
		}
	}
}

// merge merges the keys up to middle, which are sorted, with those from there on. It returns left, the memory
// that it uses, to be used again.
func merge(keys []Key, middle int, left []Key) []Key {
	first, last := keys[middle], keys[middle-1]
	if first.At >= last.At {
		return left
	}
	from := sort.Search(middle, func(i int) bool { return first.At < keys[i].At })
	to := middle + sort.Search(len(keys)-middle, func(i int) bool { return keys[middle+i].At >= last.At })
	left = append(left[:0], keys[from:middle]...)
	at := from
	right := middle
	for _, k := range left {
		for right < to && keys[right].At < k.At {
			keys[at] = keys[right]
			at++
			right++
		}
		keys[at] = k
		at++
	}
	return left
}
