// Package queue finds launches that wait for room in the queue of a device.
package queue

import (
	"cmp"
	"slices"
	"sort"
)

// Launch is a launching call with the end of its operation, in ns.
type Launch struct{ Start, End, Done int64 }

// Wait is the wait of a launch for the end of an operation, by their places in the order of launches.
type Wait struct{ Launch, For int }

// Figures of a full queue: the operations in it at least, and the launches that must have waited.
const (
	full        = 900
	nearlyFull  = 30
	heldAtLeast = 10
	long        = 100_000 // ns, of a launch
	slow        = 20_000  // ns, of one that ends as an operation does
	soon        = 10_000  // ns
)

// queue is a list of launches, in their order, and by the end of their operations.
type queue struct {
	launches []Launch
	byDone   []int
}

// Full returns the waits for old operations, where about a thousand are launched and not ended. A launch waits for the
// end of the operation that far before, or else for as many to end.
func Full(launches []Launch) []Wait {
	if len(launches) < full {
		return nil
	}
	q := queue{launches: launches}
	for i := range launches {
		q.byDone = append(q.byDone, i)
	}
	slices.SortStableFunc(q.byDone, func(i, k int) int { return cmp.Compare(launches[i].Done, launches[k].Done) })
	depth := make([]int, len(launches))
	for i, l := range launches {
		depth[i] = i - q.doneBy(l.Start)
	}
	most := slices.Max(depth)
	if all := q.inOrder(); all != nil {
		return all
	}
	if most < full {
		return nil
	}
	return q.byNumber(func(i int) bool { return depth[i] > most-nearlyFull })
}

// doneBy returns how many operations have ended by a time.
func (q *queue) doneBy(at int64) int {
	return sort.Search(len(q.byDone), func(i int) bool { return q.launches[q.byDone[i]].Done > at })
}

// inOrder returns the waits for the operation launched equally far before, nil if slow launches end as others do.
func (q *queue) inOrder() (all []Wait) {
	const near, most = 2, 0.5
	var back []int
	slowLaunches := 0
	for i, l := range q.launches {
		if i < full || l.End-l.Start <= slow {
			continue
		}
		slowLaunches++
		if n := q.doneBy(l.End); n > 0 && l.End-q.launches[q.byDone[n-1]].Done < soon {
			back = append(back, i-q.byDone[n-1])
		}
	}
	slices.Sort(back)
	if len(back) < heldAtLeast {
		return nil
	}
	behind := back[len(back)/2]
	from, _ := slices.BinarySearch(back, behind-near)
	to, _ := slices.BinarySearch(back, behind+near+1)
	if behind < full || to-from < heldAtLeast || float64(to-from) < most*float64(slowLaunches) {
		return nil
	}
	for i := behind; i < len(q.launches); i++ {
		if q.launches[i-behind].Done <= q.launches[i].End {
			all = append(all, Wait{i, i - behind})
		}
	}
	return all
}

// byNumber returns the waits for as many operations to end as usual where the queue is full and launches are long.
func (q *queue) byNumber(isFull func(i int) bool) (all []Wait) {
	held := make([]bool, len(q.launches))
	var back []int
	for i, l := range q.launches {
		if isFull(i) && l.End-l.Start > long {
			held[i] = true
			back = append(back, i-q.doneBy(l.End))
		}
	}
	if len(back) < heldAtLeast {
		return nil
	}
	slices.Sort(back)
	behind := back[len(back)/2]
	for i, l := range q.launches {
		k := i - behind - 1
		if held[i] {
			k = q.doneBy(l.End) - 1
		}
		if k >= 0 && q.launches[q.byDone[k]].Done <= l.End {
			all = append(all, Wait{i, q.byDone[k]})
		}
	}
	return all
}
