package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// naivePart is operations of one step that belong together, by start.
type naivePart struct {
	ops              []spec
	lanes            []DeviceKey
	first, last      int64
	trace, lastTrace byte
}

func newNaivePart(ops []spec) naivePart {
	p := naivePart{
		ops: ops, lanes: []DeviceKey{ops[0].deviceKey()}, first: ops[0].start, last: math.MinInt64,
		trace: ops[0].trace, lastTrace: ops[len(ops)-1].trace,
	}
	for _, s := range ops {
		p.last = max(p.last, s.end)
	}
	return p
}

func (p naivePart) with(o naivePart) naivePart {
	p.ops, p.lanes = slices.Concat(p.ops, o.ops), slices.Concat(p.lanes, o.lanes)
	if o.last > p.last {
		p.last, p.lastTrace = o.last, o.lastTrace
	}
	return p
}

func (p naivePart) sharesLane(o naivePart) bool {
	return slices.ContainsFunc(p.lanes, func(lane DeviceKey) bool { return slices.Contains(o.lanes, lane) })
}

// naiveSteps divides operations of the steps 0 to 3 of two services. The parent
// of an operation is its request.
func naiveSteps(specs []spec) []Step {
	var rows []Step
	for _, service := range []string{"", "api"} {
		for step := range int64(4) {
			for i, ops := range naiveIterations(specs, service, step) {
				rows = append(rows, naiveStep(service, step, int64(i+1), ops))
			}
		}
	}
	if !slices.ContainsFunc(rows, func(s Step) bool { return s.Count > 1 }) {
		return nil
	}
	return rows
}

// naiveIterations returns the iterations of one step.
func naiveIterations(specs []spec, service string, step int64) [][]spec {
	var ofRequests, others []naivePart
	for request := range uint64(3) {
		var parts []naivePart
		for _, rank := range []op.Int{{}, op.Known(0), op.Known(1), op.Known(2)} {
			for _, device := range []string{"cuda:0", "cuda:1"} {
				loop := slices.DeleteFunc(slices.Clone(specs), func(s spec) bool {
					return !s.isOp || s.timeless || s.service != service || s.rank != rank || s.device != device || s.parent != request
				})
				parts = append(parts, naiveOccurrencesOf(loop, step)...)
			}
		}
		if request == 0 {
			others = parts
		} else {
			ofRequests = append(ofRequests, naiveJoin(parts)...)
		}
	}
	var iterations [][]spec
	for _, p := range naiveJoin(append(ofRequests, others...)) {
		iterations = append(iterations, p.ops)
	}
	for _, s := range specs {
		if !s.isOp || !s.timeless || s.service != service || s.step.V != step {
			continue
		}
		i := slices.IndexFunc(iterations, func(ops []spec) bool {
			return slices.ContainsFunc(ops, func(o spec) bool { return o.parent == s.parent })
		})
		if i < 0 {
			iterations = append(iterations, []spec{s})
		} else {
			iterations[i] = append(iterations[i], s)
		}
	}
	return iterations
}

// naiveOccurrencesOf returns the occurrences of a step in a loop.
func naiveOccurrencesOf(loop []spec, step int64) []naivePart {
	slices.SortStableFunc(loop, func(a, b spec) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.step.V, b.step.V), cmp.Compare(a.end, b.end))
	})
	var parts []naivePart
	var run []spec
	end := func() {
		mine := slices.DeleteFunc(run, func(s spec) bool { return s.step.V != step })
		if len(mine) > 0 {
			parts = append(parts, newNaivePart(mine))
		}
		run = nil
	}
	for _, s := range loop {
		var before []spec // of the same step
		later := s.step.V
		for _, o := range run {
			if o.step == s.step {
				before, later = append(before, o), s.step.V
			}
			later = max(later, o.step.V)
		}
		if before != nil {
			p := newNaivePart(before)
			pause := s.start - p.last
			again := pause > 0 && (later > s.step.V+1 || later == s.step.V+1 && pause >= p.last-p.first)
			if again || s.parent == 0 && p.lastTrace != s.trace && s.start-p.last > second {
				end()
			}
		}
		run = append(run, s)
	}
	end()
	return parts
}

// naiveJoin joins parts of different devices.
func naiveJoin(parts []naivePart) []naivePart {
	slices.SortStableFunc(parts, func(a, b naivePart) int { return cmp.Compare(a.first, b.first) })
	var met []naivePart
	for i, p := range parts {
		best, nearest := -1, int64(math.MaxInt64)
		for m, it := range met {
			distance := max(0, p.first-it.last)
			switch {
			case it.sharesLane(p):
				best, nearest = -1, math.MaxInt64 // only those behind it
			case distance < nearest && (distance <= second || it.lastTrace == p.trace):
				best, nearest = m, distance
			}
		}
		if best >= 0 && !slices.ContainsFunc(parts[i+1:], func(next naivePart) bool {
			return met[best].sharesLane(next) && max(0, next.first-p.last) < nearest
		}) {
			met[best] = met[best].with(p)
		} else {
			met = append(met, p)
		}
	}
	return met
}

func naiveStep(service string, step, run int64, ops []spec) Step {
	row := Step{Step: step, Service: service, Run: run, Count: int64(len(ops))}
	for _, s := range ops {
		row.SumNS += s.end - s.start
	}
	started := slices.DeleteFunc(slices.Clone(ops), func(s spec) bool { return s.timeless })
	if len(started) == 0 {
		return row
	}
	slices.SortFunc(started, func(a, b spec) int { return cmp.Compare(a.start, b.start) })
	first, last, busy := started[0].start, started[0].start, int64(0)
	for _, s := range started {
		busy += max(0, s.end-max(last, s.start))
		last = max(last, s.end)
	}
	row.WallNS, row.BusyNS = op.Known(last-first), op.Known(busy)
	return row
}
