package engines

import (
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// First is the first execution of a request on a device, where no other request comes with it.
type First struct {
	Execution, Request int32
	Device             int32
	NS                 int64 // of operations that compute
}

// Firsts returns the first executions of requests if their links have no weights, in the order of start. It leaves out the
// first on each device, which may warm up, and those with half of their time in one call. Without weights, the time of
// such an execution tells that of the prompt that it reads.
func Firsts(f *trace.Forest) (all []First) {
	list := f.Executions.List
	if len(list) == 0 || slices.ContainsFunc(list, func(x trace.Execution) bool { return x.Weights != nil }) {
		return nil
	}
	type work struct {
		ns, longest int64
		device      int32
	}
	done := make([]work, len(list))
	for _, r := range f.Devices.ByStart {
		x := f.Executions.Of[r]
		if x == trace.NoExecution || !f.CountsInSums(r) || !f.IsDeviceSide(r) || f.Kind(r) == op.KindCollective {
			continue
		}
		w := &done[x]
		if w.ns == 0 {
			w.device = f.Device(r)
		}
		w.ns += f.Duration(r)
		w.longest = max(w.longest, f.Duration(r))
	}
	var byStart []int32
	for i := range list {
		if done[i].ns > 0 {
			byStart = append(byStart, int32(i))
		}
	}
	slices.SortFunc(byStart, func(a, b int32) int { return f.CompareStart(list[a].Row, list[b].Row) })
	type place struct{ device, request int32 }
	came := make(map[place]bool)
	for _, i := range byStart {
		w := &done[i]
		var fresh []int32
		for _, q := range list[i].Requests {
			if at := (place{w.device, q}); !came[at] {
				came[at] = true
				fresh = append(fresh, q)
			}
		}
		isWarm := came[place{w.device, trace.NoRow}]
		came[place{w.device, trace.NoRow}] = true
		if len(fresh) == 1 && isWarm && 2*w.longest <= w.ns {
			all = append(all, First{i, fresh[0], w.device, w.ns})
		}
	}
	return all
}

// ByTime returns weights of requests by execution, like Tokens, from the times of their first executions: 1, and more for
// requests whose first execution takes many times the median of its device. It returns nil without such requests.
func ByTime(f *trace.Forest) [][]int64 {
	const (
		least = 8    // first executions on a device
		times = 4    // the median
		unit  = 1000 // the weight of a prompt of the median, so that it exceeds that of a step
	)
	firsts := Firsts(f)
	byDevice := make(map[int32][]int64)
	for _, first := range firsts {
		byDevice[first.Device] = append(byDevice[first.Device], first.NS)
	}
	for _, ns := range byDevice {
		slices.Sort(ns)
	}
	var weights [][]int64
	for i := range firsts {
		of := &firsts[i]
		all := byDevice[of.Device]
		usual := all[len(all)/2]
		if len(all) < least || of.NS < times*usual {
			continue
		}
		if weights == nil {
			weights = make([][]int64, len(f.Executions.List))
			for x := range weights {
				weights[x] = slices.Repeat([]int64{1}, len(f.Executions.List[x].Requests))
			}
		}
		k := slices.Index(f.Executions.List[of.Execution].Requests, of.Request)
		weights[of.Execution][k] = unit * of.NS / usual
	}
	return weights
}
