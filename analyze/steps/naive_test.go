package steps

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/op"
)

// naivePart is operations of one step that belong together, by start.
type naivePart struct {
	ops              []tracetest.Spec
	lanes            []device.Key
	first, last      int64
	trace, lastTrace byte
}

func newNaivePart(ops []tracetest.Spec) naivePart {
	p := naivePart{
		ops: ops, lanes: []device.Key{ops[0].DeviceKey()}, first: ops[0].Start, last: math.MinInt64,
		trace: ops[0].Trace, lastTrace: ops[len(ops)-1].Trace,
	}
	for _, s := range ops {
		p.last = max(p.last, s.End)
	}
	return p
}

func (p naivePart) with(o naivePart) naivePart {
	p.ops = slices.Concat(p.ops, o.ops)
	p.lanes = slices.Concat(p.lanes, o.lanes)
	if o.last > p.last {
		p.last = o.last
		p.lastTrace = o.lastTrace
	}
	return p
}

func (p naivePart) sharesLane(o naivePart) bool {
	return slices.ContainsFunc(p.lanes, func(lane device.Key) bool { return slices.Contains(o.lanes, lane) })
}

// naiveSteps divides operations of the steps 0 to 3 of two services. The parent of an operation is its request.
func naiveSteps(specs []tracetest.Spec) []Row {
	var rows []Row
	for _, service := range []string{"", "api"} {
		for step := range int64(4) {
			iterations := naiveIterations(specs, service, step)
			for i, ops := range iterations {
				row := naiveStep(service, step, int64(i+1), ops)
				if len(iterations) == 1 && row.StartNS.Known {
					row.LeadNS = naiveLead(specs, service, step, row.StartNS.V)
				}
				rows = append(rows, row)
			}
		}
	}
	if !slices.ContainsFunc(rows, func(s Row) bool { return s.Count > 1 }) {
		return nil
	}
	return rows
}

// naiveLead returns the time before start since the first event of a step on a host, or the first launch.
func naiveLead(specs []tracetest.Spec, service string, step, start int64) (lead int64) {
	for _, s := range specs {
		if s.Step != op.Known(step) || s.Service != service || s.Timeless {
			continue
		}
		if !s.DeviceSide() {
			lead = max(lead, start-s.Start)
		}
		if s.Launch.Known {
			lead = max(lead, start-s.Launch.V)
		}
	}
	return lead
}

func hasStep(s tracetest.Spec) bool { return s.DeviceSide() && s.Step.Known }

func naiveIterations(specs []tracetest.Spec, service string, step int64) [][]tracetest.Spec {
	var ofRequests, others []naivePart
	for request := range uint64(3) {
		var parts []naivePart
		for _, rank := range []op.Int{{}, op.Known(0), op.Known(1), op.Known(2)} {
			for _, device := range []string{"cuda:0", "cuda:1"} {
				loop := slices.DeleteFunc(slices.Clone(specs), func(s tracetest.Spec) bool {
					return !hasStep(s) || s.Timeless || s.Service != service || s.Rank != rank || s.Device != device ||
						s.Parent != request
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
	joined := naiveJoin(append(ofRequests, others...))
	slices.SortStableFunc(joined, func(a, b naivePart) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	var iterations [][]tracetest.Spec
	for _, p := range joined {
		iterations = append(iterations, p.ops)
	}
	timeless := slices.DeleteFunc(slices.Clone(specs), func(s tracetest.Spec) bool {
		return !hasStep(s) || !s.Timeless || s.Service != service || s.Step.V != step
	})
	slices.SortFunc(timeless, func(a, b tracetest.Spec) int {
		return cmp.Or(cmp.Compare(a.End-a.Start, b.End-b.Start), cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range timeless {
		i := slices.IndexFunc(iterations, func(ops []tracetest.Spec) bool {
			return slices.ContainsFunc(ops, func(o tracetest.Spec) bool { return o.Parent == s.Parent })
		})
		if i < 0 {
			iterations = append(iterations, []tracetest.Spec{s})
		} else {
			iterations[i] = append(iterations[i], s)
		}
	}
	return iterations
}

func naiveOccurrencesOf(loop []tracetest.Spec, step int64) []naivePart {
	slices.SortStableFunc(loop, func(a, b tracetest.Spec) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Step.V, b.Step.V), cmp.Compare(a.End, b.End))
	})
	var parts []naivePart
	var run []tracetest.Spec
	end := func() {
		mine := slices.DeleteFunc(run, func(s tracetest.Spec) bool { return s.Step.V != step })
		if len(mine) > 0 {
			parts = append(parts, newNaivePart(mine))
		}
		run = nil
	}
	for _, s := range loop {
		var before []tracetest.Spec // of the same step
		later := s.Step.V
		for _, o := range run {
			if o.Step == s.Step {
				before = append(before, o)
				later = s.Step.V
			}
			later = max(later, o.Step.V)
		}
		if before != nil {
			p := newNaivePart(before)
			pause := s.Start - p.last
			again := pause > 0 && (later > s.Step.V+1 || later == s.Step.V+1 && pause >= p.last-p.first)
			if again || s.Parent == 0 && p.lastTrace != s.Trace && s.Start-p.last > second {
				end()
			}
		}
		run = append(run, s)
	}
	end()
	return parts
}

func naiveJoin(parts []naivePart) []naivePart {
	slices.SortStableFunc(parts, func(a, b naivePart) int { return cmp.Compare(a.first, b.first) })
	var met []naivePart
	for i, p := range parts {
		best, nearest := -1, int64(math.MaxInt64)
		for m, it := range met {
			distance := max(0, p.first-it.last)
			switch {
			case it.sharesLane(p):
				best = -1 // only parts behind it
				nearest = math.MaxInt64
			case distance < nearest && (distance <= second || it.lastTrace == p.trace):
				best = m
				nearest = distance
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

func naiveStep(service string, step, run int64, ops []tracetest.Spec) Row {
	row := Row{Step: step, Service: service, Run: run, Count: int64(len(ops)), Source: SourceAttribute}
	for _, s := range ops {
		row.SumNS += s.End - s.Start
	}
	started := slices.DeleteFunc(slices.Clone(ops), func(s tracetest.Spec) bool { return s.Timeless })
	if len(started) == 0 {
		return row
	}
	slices.SortFunc(started, func(a, b tracetest.Spec) int { return cmp.Compare(a.Start, b.Start) })
	first, last, busy := started[0].Start, started[0].Start, int64(0)
	for _, s := range started {
		busy += max(0, s.End-max(last, s.Start))
		last = max(last, s.End)
	}
	row.WallNS = op.Known(last - first)
	row.BusyNS = op.Known(busy)
	row.StartNS = op.Known(first)
	return row
}
