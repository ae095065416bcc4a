package selection

import (
	"cmp"
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Typical returns the median durations of like calls, by row: of five or more in the layer, otherwise of all.
func (g *Recording) Typical(s *Set) func(r int32) int64 {
	const few = 5
	type inLayer struct {
		trace.Likeness
		path int32
	}
	f := g.Forest
	times := make(map[inLayer]*[]int64)
	for r := range f.Rows() {
		if !s.Rows[r] {
			continue
		}
		in := inLayer{f.Likeness(r), f.Path(r)}
		list := order.At(times, in)
		*list = append(*list, f.Duration(r))
		if in.path != 0 {
			in.path = 0
			list = order.At(times, in)
			*list = append(*list, f.Duration(r))
		}
	}
	medians := make(map[inLayer]int64, len(times))
	for k, list := range times {
		if slices.Sort(*list); k.path == 0 || len(*list) >= few {
			medians[k] = (*list)[len(*list)/2]
		}
	}
	return func(r int32) int64 {
		like := f.Likeness(r)
		if median, known := medians[inLayer{like, f.Path(r)}]; known {
			return median
		}
		return medians[inLayer{Likeness: like}]
	}
}

// Balanced returns the time of a row if each device has the mean of the devices' work on an operation of an operator in a
// step: of each call, where the devices make as many calls. Collectives and unselected rows keep their times.
func (g *Recording) Balanced(s *Set) (time func(r int32, ns int64) int64) {
	f := g.Forest
	factors := make([]float64, f.Len()) // 0 for rows with their own times
	of := func(r int32) bool { return s.Rows[r] && g.OnDevice(r) && f.Kind(r) != op.KindCollective }
	for devices := range shared(f, of) {
		work := make([]float64, len(devices))
		mean := 0.0
		for i, rows := range devices {
			for _, r := range rows {
				work[i] += float64(f.Duration(r))
			}
			mean += work[i] / float64(len(devices))
		}
		for i, rows := range devices {
			for _, r := range rows {
				factors[r] = mean / max(1, work[i])
			}
		}
	}
	return func(r int32, ns int64) int64 {
		if factors[r] > 0 {
			return int64(float64(ns) * factors[r])
		}
		return ns
	}
}

// shared yields the work of devices on an operation of an operator in a step, as the rows of each device by start. Where
// the devices make as many calls, it yields the work of each call.
func shared(f *trace.Forest, selected func(r int32) bool) iter.Seq[[][]int32] {
	type work struct {
		name     int32
		operator string
		step     int64
	}
	var rows, numbers []int32
	known := make(map[work]int32)
	for _, r := range f.Devices.ByStart {
		if !selected(r) {
			continue
		}
		k := work{f.Name(r), f.LauncherName(r), f.Step(r)}
		n, ok := known[k]
		if !ok {
			n = int32(len(known))
			known[k] = n
		}
		rows = append(rows, r)
		numbers = append(numbers, n)
	}
	rows, first := order.GroupRows(rows, len(known), nil, func(i int32) int32 { return numbers[i] })
	return func(yield func([][]int32) bool) {
		for i := range len(known) {
			of := rows[first[i]:first[i+1]]
			slices.SortStableFunc(of, func(a, b int32) int { return cmp.Compare(f.Device(a), f.Device(b)) })
			devices := slices.Collect(order.RunsOf(of, func(r *int32) int32 { return f.Device(*r) }))
			calls := len(devices[0])
			if slices.ContainsFunc(devices, func(of []int32) bool { return len(of) != calls }) {
				calls = 1
			}
			for k := range calls {
				call := devices
				if calls > 1 {
					call = make([][]int32, len(devices))
					for d, of := range devices {
						call[d] = of[k : k+1]
					}
				}
				if !yield(call) {
					return
				}
			}
		}
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

// FirstOnDevices selects the operations of the first request on each device, of those with an owner that isOf reports for. It
// returns their times if each takes at most the median of its like in later requests.
func (g *Recording) FirstOnDevices(owner []int32, isOf func(request int32) bool) (*Set, func(r int32, ns int64) int64) {
	f := g.Forest
	first := make(map[int32]int32)
	others := make(map[trace.Likeness]*[]int64)
	s := &Set{Rows: make([]bool, f.Len())}
	for _, r := range f.Devices.ByStart {
		if !g.Has(r) || !g.OnDevice(r) || !isOf(owner[r]) {
			continue
		}
		of, known := first[f.Device(r)]
		if !known {
			of = owner[r]
			first[f.Device(r)] = of
		}
		if of == owner[r] {
			s.Add(r, true)
			continue
		}
		list := order.At(others, f.Likeness(r))
		*list = append(*list, f.Duration(r))
	}
	medians := make(map[trace.Likeness]int64, len(others))
	for k, list := range others {
		medians[k] = sketch.Median(*list)
	}
	return s, func(r int32, ns int64) int64 {
		if median, known := medians[f.Likeness(r)]; known {
			return min(ns, median)
		}
		return ns
	}
}
