package serving

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/device"
)

// Replica is one of several engines with the same operations and requests of their own, or a worker of a queue.
type Replica struct {
	device.Key
	Service  string // of its operations
	IsWorker bool   // of a queue
	// Requests is the number of its requests in each sixteenth of the arrivals at all replicas.
	Requests [16]int64
	// Slower is, for each sixteenth of its executions, the time of its operations relative to that by the laws of all
	// replicas, or to the mean time of their name on all workers, in millionths.
	Slower [16]int64
}

// Comparison compares replicas. IsWork reports whether a row is an operation of a known device in the replay.
type Comparison struct {
	*Rows
	Kinds  *Kinds
	IsWork func(r int32) bool
}

// Groups returns the groups of engines with the same operations and requests of their own.
func Groups(engines []*Engine) [][]*Engine {
	return groups(slices.DeleteFunc(slices.Clone(engines), func(e *Engine) bool { return e.Passes }))
}

// groups returns the groups of engines with the same operations. Those for prompts and those for tokens differ.
func groups(engines []*Engine) [][]*Engine {
	number := make(map[string]int) // of groups
	var all [][]*Engine
	for _, e := range engines {
		if e.Single {
			continue
		}
		key := fmt.Sprint(e.Laws.Kinds(), len(e.from) > 0, e.handsOver)
		if _, known := number[key]; !known {
			number[key] = len(all)
			all = append(all, nil)
		}
		all[number[key]] = append(all[number[key]], e)
	}
	const most = 64 // as for the change
	return slices.DeleteFunc(all, func(group []*Engine) bool { return len(group) < 2 || len(group) > most })
}

// Replicas returns the largest group of replicas, or else the workers of a queue, whose numbers of requests say nothing. It
// returns nil without any.
func (c Comparison) Replicas(engines []*Engine) []Replica {
	all := groups(engines)
	if len(all) == 0 {
		return c.workers(engines)
	}
	return c.ofGroup(slices.MaxFunc(all, func(a, b []*Engine) int { return cmp.Compare(len(a), len(b)) }))
}

// ofGroup compares the engines of a group.
func (c Comparison) ofGroup(group []*Engine) []Replica {
	all := make([]Replica, len(group))
	type arrival struct{ engine, ns int64 }
	places := make(map[int32]place) // of executions
	var arrivals []arrival
	for i, e := range group {
		for k := range e.Steps {
			places[e.Steps[k].Execution] = place{i, k, len(e.Steps)}
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
	placeOf := func(r int32) (place, bool) {
		p, known := places[c.ExecutionOf(r)]
		return p, known
	}
	c.compare(all, placeOf, func(r int32, p place) (usual float64) {
		s := &group[p.of].Steps[p.step]
		for _, o := range group {
			usual += o.Laws.Of(c.Kinds.Of(r), s).At(s.Load) / float64(len(group))
		}
		return usual
	})
	return all
}

// place is a step of the steps of an engine or worker.
type place struct{ of, step, steps int }

// compare adds the devices of operations, and their time relative to the usual one.
func (c Comparison) compare(all []Replica, placeOf func(int32) (place, bool), usualOf func(int32, place) float64) {
	f := c.Forest
	took, usual := make([][16]float64, len(all)), make([][16]float64, len(all))
	for r := range f.Rows() {
		p, known := placeOf(r)
		if !known || !c.IsWork(r) {
			continue
		}
		all[p.of].Key = f.DeviceKey(r)
		all[p.of].Service = f.Service(r)
		b := p.step * len(took[0]) / p.steps
		took[p.of][b] += float64(f.Duration(r))
		usual[p.of][b] += usualOf(r, p)
	}
	const millionths = 1e6
	for i := range all {
		allTook, allUsual := 0.0, 0.0
		for b := range took[i] {
			allTook += took[i][b]
			allUsual += usual[i][b]
		}
		for b := range took[i] {
			if usual[i][b] == 0 { // fewer steps than parts
				took[i][b], usual[i][b] = allTook, allUsual
			}
			all[i].Slower[b] = int64(millionths * took[i][b] / max(1, usual[i][b]))
		}
	}
}

// workers returns the workers of the queue with most of them, a device each.
func (c Comparison) workers(engines []*Engine) []Replica {
	f := c.Forest
	var e *Engine
	for _, of := range engines {
		if of.Places > 1 && (e == nil || of.Places > e.Places) {
			e = of
		}
	}
	if e == nil {
		return nil
	}
	places := make(map[int32]place)  // by request
	numbers := make(map[int32]int)   // by device
	times := make(map[[2]int32]mean) // by name and worker
	for i := range e.Steps {
		places[e.Steps[i].Row] = place{of: -1}
	}
	for r := range f.Rows() {
		p, known := places[c.Owner[r]]
		if !known || !c.IsWork(r) {
			continue
		}
		if p.of < 0 {
			if _, known := numbers[f.Device(r)]; !known {
				numbers[f.Device(r)] = len(numbers)
			}
			p.of = numbers[f.Device(r)]
			places[c.Owner[r]] = p
		}
		name := [2]int32{f.Name(r), int32(p.of)}
		t := times[name]
		times[name] = mean{t.sum + float64(f.Duration(r)), t.n + 1}
	}
	steps := make([]int, len(numbers))
	for i := range e.Steps {
		p := places[e.Steps[i].Row]
		if p.of < 0 { // without an operation on a known device
			delete(places, e.Steps[i].Row)
			continue
		}
		p.step = steps[p.of]
		steps[p.of]++
		places[e.Steps[i].Row] = p
	}
	all := slices.Repeat([]Replica{{IsWorker: true}}, len(numbers))
	placeOf := func(r int32) (place, bool) {
		p, known := places[c.Owner[r]]
		if known {
			p.steps = steps[p.of]
		}
		return p, known
	}
	c.compare(all, placeOf, func(r int32, _ place) float64 {
		var usual mean
		for i := range all {
			if t := times[[2]int32{f.Name(r), int32(i)}]; t.n > 0 {
				usual = mean{usual.sum + t.sum/t.n, usual.n + 1}
			}
		}
		return usual.sum / usual.n
	})
	return all
}

// mean is the sum of n values.
type mean struct{ sum, n float64 }
