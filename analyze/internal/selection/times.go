package selection

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Typical returns the median duration of like calls.
func (g *Recording) Typical(s *Set) map[trace.Likeness]int64 {
	times := make(map[trace.Likeness]*[]int64)
	for r := range g.Forest.Rows() {
		if s.Rows[r] {
			list := order.At(times, g.Forest.Likeness(r))
			*list = append(*list, g.Forest.Duration(r))
		}
	}
	medians := make(map[trace.Likeness]int64, len(times))
	for k, list := range times {
		slices.Sort(*list)
		medians[k] = (*list)[len(*list)/2]
	}
	return medians
}

// Balanced returns the time of a row if each device has the mean of the devices' work on an operation of an operator in a
// step: on each call of it, where all of them make as many. Collectives and unselected rows keep their times.
func (g *Recording) Balanced(s *Set) (time func(r int32, ns int64) int64) {
	f := g.Forest
	type share struct {
		name, device int32
		operator     string
		step         int64
		call         int32
	}
	ofAll := func(k share) share {
		k.device, k.call = trace.NoRow, 0
		return k
	}
	shares := make(map[int32]share)
	calls := make(map[share]int32)
	for _, r := range f.Devices.ByStart {
		if s.Rows[r] && g.OnDevice(r) && f.Kind(r) != op.KindCollective {
			k := share{f.Name(r), f.Device(r), f.LauncherName(r), f.Step(r), 0}
			calls[k]++
			k.call = calls[k]
			shares[r] = k
		}
	}
	number, differs := make(map[share]int32), make(map[share]bool) // of the calls of a device
	for k, n := range calls {
		other, known := number[ofAll(k)]
		differs[ofAll(k)] = differs[ofAll(k)] || known && other != n
		number[ofAll(k)] = n
	}
	work := make(map[share]int64)
	total := make(map[share]int64) // of all devices
	counts := make(map[share]int64)
	for r, k := range shares {
		if differs[ofAll(k)] {
			k.call = 0
			shares[r] = k
		}
		all := ofAll(k)
		all.call = k.call
		if work[k] == 0 {
			counts[all]++
		}
		work[k] += f.Duration(r)
		total[all] += f.Duration(r)
	}
	return func(r int32, ns int64) int64 {
		k := shares[r]
		all := ofAll(k)
		all.call = k.call
		if work[k] == 0 {
			return ns
		}
		mean := float64(total[all]) / float64(counts[all])
		return int64(float64(ns) * mean / float64(work[k]))
	}
}

// FirstSteps selects the operations of the first step of each process, of those that isOfStep reports for. It returns
// their times if each takes at most the median of its like in other steps. Without like operations there it keeps its time.
func (g *Recording) FirstSteps(isOfStep func(r int32) bool) (s *Set, time func(r int32, ns int64) int64) {
	type same struct {
		process int32
		trace.Likeness
	}
	f := g.Forest
	first := make(map[int32]int64)
	for r := range f.Rows() {
		step, known := first[g.Process[r]]
		if f.Has(r, trace.FlagOp|trace.FlagStep) && (!known || f.Step(r) < step) {
			first[g.Process[r]] = f.Step(r)
		}
	}
	times := make(map[same][]int64)
	s = &Set{Rows: make([]bool, f.Len())}
	for r := range f.Rows() {
		switch {
		case !f.Has(r, trace.FlagOp|trace.FlagStep) || !g.Has(r) || !isOfStep(r):
		case f.Step(r) == first[g.Process[r]]:
			s.Add(r, true)
		default:
			k := same{g.Process[r], f.Likeness(r)}
			times[k] = append(times[k], f.Duration(r))
		}
	}
	medians := make(map[same]int64, len(times))
	for k, list := range times {
		slices.Sort(list)
		medians[k] = list[len(list)/2]
	}
	return s, func(r int32, ns int64) int64 {
		if median, known := medians[same{g.Process[r], f.Likeness(r)}]; known {
			return min(ns, median)
		}
		return ns
	}
}
