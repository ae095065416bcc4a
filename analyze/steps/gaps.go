package steps

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// Time is the time of an iteration, on all devices or on one.
type Time struct {
	Service        string
	Step           int64
	StartNS, EndNS int64
}

// Gaps returns the time from the end of each iteration to the start of the next in its service, below 0 if they overlap.
// The last one gets the median of the others. Gaps are 0 in a service with several loops at a time: more than a tenth
// of the steps then follow a later one.
func Gaps(times []Time) []int64 {
	gaps := make([]int64, len(times))
	byStart := order.Numbers(len(times), func(a, b int32) int {
		x, y := &times[a], &times[b]
		return cmp.Or(cmp.Compare(x.Service, y.Service), cmp.Compare(x.StartNS, y.StartNS), cmp.Compare(a, b))
	})
	for loop := range order.RunsOf(byStart, func(i *int32) string { return times[*i].Service }) {
		var known []int64
		for k, i := range loop[1:] {
			if before := &times[loop[k]]; before.Step < times[i].Step {
				known = append(known, times[i].StartNS-before.EndNS)
			}
		}
		if len(known) == 0 || 10*len(known) < 9*(len(loop)-1) {
			continue
		}
		slices.Sort(known)
		for k, i := range loop {
			gaps[i] = known[len(known)/2]
			if k+1 < len(loop) && times[i].Step < times[loop[k+1]].Step {
				gaps[i] = times[loop[k+1]].StartNS - times[i].EndNS
			}
		}
	}
	return gaps
}
