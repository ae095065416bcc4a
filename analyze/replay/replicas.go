package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/trace"
)

// EvenRequests selects the requests of replicas, for [Balance].
const EvenRequests = "requests"

// Replica is one of several engines with the same operations, which have requests of their own.
type Replica struct {
	device.Key
	Service string // of its operations
	// Requests is the number of its requests among each sixteenth of those of all replicas, by arrival.
	Requests [16]int64
	// Slower is, for each sixteenth of its executions, the time of its operations relative to that by the laws of all
	// replicas, in millionths.
	Slower [16]int64
}

// replicas returns the groups of engines with the same operations and requests of their own.
func (g *Graph) replicas() [][]*engine {
	byNames := make(map[string][]*engine)
	for _, e := range g.engines() {
		if e.passes || e.single {
			continue
		}
		names := slices.Collect(maps.Keys(e.laws))
		slices.SortFunc(names, func(a, b lawKey) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.class, b.class)) })
		key := ""
		for _, k := range slices.CompactFunc(names, func(a, b lawKey) bool { return a.name == b.name }) {
			key += string(rune(k.name))
		}
		byNames[key] = append(byNames[key], e)
	}
	var all [][]*engine
	for _, group := range byNames {
		if len(group) > 1 {
			all = append(all, group)
		}
	}
	return all
}

// Replicas returns the largest group of replicas, nil without any.
func (g *Graph) Replicas() (all []Replica) {
	groups := g.replicas()
	if len(groups) == 0 {
		return nil
	}
	group := slices.MaxFunc(groups, func(a, b []*engine) int { return cmp.Compare(len(a), len(b)) })
	f := g.forest
	type place struct{ engine, step int }
	places := make(map[int32]place) // of executions
	var arrivals []place            // the engine, and the time in place of a step
	for i, e := range group {
		all = append(all, Replica{})
		for k := range e.Steps {
			places[e.Steps[k].Execution] = place{i, k}
		}
		for _, q := range e.Served {
			arrivals = append(arrivals, place{i, int(q.Arrival)})
		}
	}
	slices.SortFunc(arrivals, func(a, b place) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.engine, b.engine)) })
	for k, a := range arrivals {
		all[a.engine].Requests[k*len(all[a.engine].Requests)/len(arrivals)]++
	}
	took, usual := make([][16]float64, len(group)), make([][16]float64, len(group))
	for r := range f.Rows() {
		p, known := places[g.executionOf(r)]
		if !known || !f.Has(r, trace.FlagOp) || g.begin[r] == none || !g.isOnDevice(r) {
			continue
		}
		e := group[p.engine]
		s := &e.Steps[p.step]
		all[p.engine].Key, all[p.engine].Service = f.DeviceKey(r), f.Service(r)
		b := p.step * len(took[0]) / len(e.Steps)
		took[p.engine][b] += float64(f.Duration(r))
		for _, o := range group {
			usual[p.engine][b] += o.laws[lawKey{f.Name(r), s.Class()}].At(s.Load) / float64(len(group))
		}
	}
	const millionths = 1e6
	for i := range all {
		for b := range took[i] {
			all[i].Slower[b] = int64(millionths * took[i][b] / max(1, usual[i][b]))
		}
	}
	return all
}

// evenly returns the durations of the requests of replicas that get them in turn, by root, and the last end.
func (g *Graph) evenly(recorded, v *variant, without map[int32]bool) (ns map[int32]float64, end float64) {
	ns = make(map[int32]float64)
	for _, group := range g.replicas() {
		var served []batching.Request
		tails := make(map[int32]float64)
		plans := make([]batching.Plan, len(group))
		for k, e := range group {
			plans[k] = g.plan(e, recorded, v)
			for i, q := range e.Served {
				tails[q.Root] = plans[k].Tails[i]
			}
			served = append(served, e.Served...)
		}
		slices.SortStableFunc(served, func(a, b batching.Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
		for k, e := range group {
			of := e.Engine
			of.Served, of.Next = served, nil
			others := maps.Clone(without)
			plans[k].Tails = nil
			for i, q := range served {
				plans[k].Tails = append(plans[k].Tails, tails[q.Root])
				if i%len(group) != k {
					others[q.Root] = true
				}
			}
			formed := of.Form(plans[k], others)
			end = max(end, formed.End)
			for i, q := range served {
				if formed.Durations[i] >= 0 {
					ns[q.Root] = formed.Durations[i]
				}
			}
		}
	}
	return ns, end
}
