package order

import "slices"

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
	rows = slices.Grow(buffer[:0], int(first[groups]))[:first[groups]]
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
