// Package order sorts and groups rows.
package order

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/optrace/optrace/op"
)

// Key is a row with its sort key, usually a time.
type Key struct {
	At  int64
	Row int32
}

// RunsOf splits list into runs of adjacent elements with equal of.
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

// Rows sorts rows by at, and rows with equal at by ties.
func Rows(rows []int32, at func(r int32) int64, ties func(a, b int32) int) {
	if sortTies(rows, at, ties) {
		return
	}
	ends := divide(rows, at)
	longest := int32(0)
	from := int32(0)
	for _, end := range ends {
		longest = max(longest, end-from)
		from = end
	}
	keys := make([]Key, 0, longest)
	var buffer []Key
	from = 0
	for _, end := range ends {
		part := rows[from:end]
		from = end
		keys = keys[:0]
		for _, r := range part {
			keys = append(keys, Key{at(r), r})
		}
		buffer = sortKeys(keys, buffer)
		for tied := range RunsOf(keys, func(k *Key) int64 { return k.At }) {
			for i, k := range tied {
				part[i] = k.Row
			}
			if len(tied) > 1 {
				slices.SortFunc(part[:len(tied)], ties)
			}
			part = part[len(tied):]
		}
	}
}

// partRows is about the number of rows that are sorted at a time. Tests sort fewer.
var partRows = 1 << 20

// divide moves rows with smaller at into earlier parts, and returns the ends of the parts. A sample divides the range
// of at. Keys of all rows would take four times the memory of the rows.
func divide(rows []int32, at func(r int32) int64) (ends []int32) {
	const perPart = 64
	parts := (len(rows) + partRows - 1) / partRows
	if parts < 2 {
		return []int32{int32(len(rows))}
	}
	sample := make([]int64, parts*perPart)
	for i := range sample {
		sample[i] = at(rows[i*len(rows)/len(sample)])
	}
	slices.Sort(sample)
	grouped, first := GroupRows(rows, parts, nil, func(i int32) int32 {
		now := at(rows[i])
		return int32(sort.Search(parts-1, func(p int) bool { return now < sample[(p+1)*perPart] }))
	})
	copy(rows, grouped)
	return first[1:]
}

// sortTies sorts the runs of rows with equal at by ties. It returns false at the first row that is not in order of at.
func sortTies(rows []int32, at func(r int32) int64, ties func(a, b int32) int) bool {
	from := 0
	before := int64(math.MinInt64)
	for i, r := range rows {
		now := at(r)
		switch {
		case now < before:
			return false
		case now > before:
			if i > from+1 {
				slices.SortFunc(rows[from:i], ties)
			}
			from = i
			before = now
		}
	}
	if len(rows) > from+1 {
		slices.SortFunc(rows[from:], ties)
	}
	return true
}

// Keys sorts keys by At, keeping the order of equal keys. Operations are recorded almost in order of their starts, or
// device by device. Merging sorted runs then only costs a few comparisons and the time for unsorted parts.
func Keys(keys []Key) { sortKeys(keys, nil) }

// sortKeys is Keys with a buffer. It returns the buffer for reuse.
func sortKeys(keys, buffer []Key) []Key {
	const least = 16
	ends := []int32{0} // of runs
	for from := 0; from < len(keys); {
		end := from + 1
		for end < len(keys) && keys[end-1].At <= keys[end].At {
			end++
		}
		for ; end < len(keys) && end < from+least; end++ {
			for j := end; j > from && keys[j].At < keys[j-1].At; j-- {
				keys[j], keys[j-1] = keys[j-1], keys[j]
			}
		}
		ends = append(ends, int32(end))
		from = end
	}
	for len(ends) > 2 {
		merged := ends[:1]
		for i := 1; i < len(ends); i += 2 {
			last := min(i+1, len(ends)-1)
			if last > i {
				buffer = merge(keys[ends[i-1]:ends[last]], int(ends[i]-ends[i-1]), buffer)
			}
			merged = append(merged, ends[last])
		}
		ends = merged
	}
	return buffer
}

// merge merges the sorted keys before middle with the sorted keys from middle on. It returns left, its buffer, for
// reuse.
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

// Flags orders false before true.
func Flags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Ints orders integers, an unknown one first.
func Ints(a, b op.Int) int { return cmp.Or(Flags(a.Known, b.Known), cmp.Compare(a.V, b.V)) }

// Group sorts the rows 0 to n-1 by group, keeping their order within a group. Group g is rows[first[g]:first[g+1]].
// Rows with group -1 are omitted. It uses the memory of buffer if large enough.
func Group(n int32, groups int, buffer []int32, group func(r int32) int32) (rows, first []int32) {
	first = make([]int32, groups+1)
	for r := range n {
		if g := group(r); g >= 0 {
			first[g+1]++
		}
	}
	for g := range groups {
		first[g+1] += first[g]
	}
	if n := int(first[groups]); cap(buffer) < n {
		buffer = make([]int32, n)
	}
	rows = buffer[:first[groups]]
	for r := range n {
		if g := group(r); g >= 0 {
			rows[first[g]] = r
			first[g]++
		}
	}
	copy(first[1:], first) // each first[g] has moved to the start of g+1
	first[0] = 0
	return rows, first
}

// GroupRows is Group for the given rows. group maps an index of rows to its group.
func GroupRows(rows []int32, groups int, buffer []int32, group func(i int32) int32) (grouped, first []int32) {
	grouped, first = Group(int32(len(rows)), groups, buffer, group)
	for i, at := range grouped {
		grouped[i] = rows[at]
	}
	return grouped, first
}

// Numbers returns the numbers from 0 to n-1 sorted by compare.
func Numbers(n int, compare func(a, b int32) int) []int32 {
	numbers := make([]int32, n)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	slices.SortFunc(numbers, compare)
	return numbers
}

// At returns m[key], after adding a new value if there is none.
func At[K comparable, V any](m map[K]*V, key K) *V {
	v := m[key]
	if v == nil {
		v = new(V)
		m[key] = v
	}
	return v
}
