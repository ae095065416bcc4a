package replay

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/trace"
)

// Replica is one of several engines with the same operations and requests of their own.
type Replica struct {
	device.Key
	Service string // of its operations
	// Requests is the number of its requests in each sixteenth of the arrivals at all replicas.
	Requests [16]int64
	// Slower is, for each sixteenth of its executions, the time of its operations relative to that by the laws of all
	// replicas, in millionths.
	Slower [16]int64
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
	type arrival struct{ engine, ns int64 }
	places := make(map[int32]place) // of executions
	var arrivals []arrival
	for i, e := range group {
		all = append(all, Replica{})
		for k := range e.Steps {
			places[e.Steps[k].Execution] = place{i, k}
		}
		for _, q := range e.Served {
			arrivals = append(arrivals, arrival{int64(i), q.Arrival})
		}
	}
	slices.SortFunc(arrivals, func(a, b arrival) int {
		return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.engine, b.engine))
	})
	for k, a := range arrivals {
		all[a.engine].Requests[k*len(all[a.engine].Requests)/len(arrivals)]++
	}
	took, usual := make([][16]float64, len(group)), make([][16]float64, len(group))
	for r := range f.Rows() {
		p, known := places[g.rows.ExecutionOf(r)]
		if !known || !f.Has(r, trace.FlagOp) || g.begin[r] == none || !g.isOnDevice(r) {
			continue
		}
		e := group[p.engine]
		s := &e.Steps[p.step]
		all[p.engine].Key = f.DeviceKey(r)
		all[p.engine].Service = f.Service(r)
		b := p.step * len(took[0]) / len(e.Steps)
		took[p.engine][b] += float64(f.Duration(r))
		for _, o := range group {
			usual[p.engine][b] += o.Laws.Of(f.Name(r), s).At(s.Load) / float64(len(group))
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
