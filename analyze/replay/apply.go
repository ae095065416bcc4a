package replay

import (
	"math"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// apply changes lags. It returns the number of operations and calls that the change selects.
func (g *Graph) apply(c Change, v *variant) (int64, error) {
	switch c.Kind {
	case Host:
		return g.scaleHost(c, v)
	case Pauses:
		return g.shortenPauses(v), nil
	case Warm:
		return g.warm(v), nil
	case Fuse:
		return g.fuse(c.Select, v)
	case Without:
		return g.without(c.Select, v)
	}
	s, err := g.find(c.Select)
	if err != nil {
		return 0, err
	}
	switch c.Kind {
	case Scale:
		g.limit(s, v, func(_ int32, ns int64) int64 { return int64(math.Round(float64(ns) * c.Factor)) })
	case Remove:
		g.remove(s, v)
	case Typical:
		medians, known := g.medians.Load(c.Select)
		if !known {
			medians, _ = g.medians.LoadOrStore(c.Select, g.typical(s))
		}
		typical := medians.(map[like]int64)
		g.limit(s, v, func(r int32, ns int64) int64 { return min(ns, typical[g.likeness(r)]) })
	case Roofline:
		g.limit(s, v, func(r int32, ns int64) int64 {
			const perNS = 1000 // ps
			if bound := g.forest.Work(r).Bound; bound != 0 {
				return min(ns, max(bound, -bound)/perNS)
			}
			return ns
		})
	case Rate:
		g.limit(s, v, func(r int32, ns int64) int64 {
			if !g.forest.Has(r, trace.FlagMemory) {
				return ns
			}
			return min(ns, int64(float64(g.forest.Memory(r))/c.Factor*1e9))
		})
	case Overlap:
		g.overlap(s, v)
	case NoWait:
		g.noWait(s, v)
	case Balance:
		g.balance(s, v)
	}
	return s.count, nil
}

// isOnDevice reports whether row r is an operation of a device.
func (g *Graph) isOnDevice(r int32) bool {
	return g.forest.IsDeviceSide(r) && g.devices[g.forest.Device(r)]
}

func isRow(owner int32) bool { return owner >= 0 }

// isTimeOf reports whether e is time of its owner: of an operation, or of a row of a host outside those within it.
func (g *Graph) isTimeOf(e edge) bool {
	return e.owner >= 0 && (e.kind == own || e.kind == onThread && !g.isOnDevice(e.owner))
}

// limit changes the own time of selected operations, and of selected events of hosts. The launching call of a copy
// from pageable memory changes with it.
func (g *Graph) limit(s *selection, v *variant, change func(r int32, ns int64) int64) {
	for e := range g.g.owned(s.hasRow) {
		lag := v.Lag(e.index)
		switch {
		case lag == dropped:
		case g.isTimeOf(e):
			v.Set(e.index, change(e.owner, lag))
		case e.kind == afterWait && e.from == g.begin[e.owner]:
			took := max(1, g.forest.Duration(e.owner))
			v.Set(e.index, int64(float64(lag)*float64(change(e.owner, took))/float64(took)))
		}
	}
}

// scaleHost changes all time of hosts, or that of a rank.
func (g *Graph) scaleHost(c Change, v *variant) (n int64, err error) {
	ofRank := make(map[int32]bool) // processes
	if c.Select != "" {
		byLane := g.forest.Processes()
		for i, l := range g.forest.Names.Lanes.Values {
			if "rank="+known(l.Device.Rank) == c.Select {
				ofRank[byLane[i]] = true
			}
		}
		if len(ofRank) == 0 {
			return 0, &UnknownError{Select: c.Select}
		}
	}
	for e := range g.g.all() {
		lag := v.Lag(e.index)
		isHost := e.kind == onThread || e.kind == ofRequest || e.kind == ofExecution || e.kind == whileHeld ||
			e.kind == afterWait && g.isUnrecorded(e) && g.executionOf(e.owner) == trace.NoExecution ||
			(e.kind == onStream || e.kind == afterLaunch) && !g.forest.Has(e.owner, trace.FlagLaunch)
		if c.Select != "" && g.hosts != nil {
			of := none
			if node := e.to >> 1; node < g.g.Owned() && isHost {
				of = g.process[e.owner]
			} else if int(node) < len(g.hosts) {
				of = g.hosts[node]
			}
			isHost = isHost && ofRank[of]
		}
		if isHost && lag != dropped {
			v.Set(e.index, int64(math.Round(float64(lag)*c.Factor)))
			n++
		}
	}
	return n, nil
}

// shortenPauses shortens the pauses of hosts to their usual time between two events.
func (g *Graph) shortenPauses(v *variant) int64 {
	const long = 100 * microsecond
	usual := make(times, long+1)
	usual[usualHost]++
	var pauses []int32
	for e := range g.g.all() {
		switch ns := v.Lag(e.index); {
		case ns <= 0 || !g.isUnrecorded(e):
		case ns < int64(len(usual)):
			usual[ns]++
		default:
			pauses = append(pauses, e.index)
		}
	}
	median := usual.median(1, usualHost)
	for _, e := range pauses {
		v.Set(e, median)
	}
	return int64(len(pauses))
}

// isUnrecorded reports whether an edge is time of a host without an operation or a call of it. A range with others in
// it is no operation.
func (g *Graph) isUnrecorded(e edge) bool {
	switch {
	case e.kind == ofExecution || e.kind == whileHeld:
		return true
	case e.owner < 0:
		return e.kind == onThread && e.owner == noOwner
	case e.kind != onThread && e.kind != afterWait: // the end of a range after what is in it
		return false
	}
	return !g.forest.Has(e.owner, trace.FlagOp) && len(g.forest.Tree.Children(e.owner)) > 0
}

// noWait lets the host go on in selected calls, and in the launching calls of selected copies.
func (g *Graph) noWait(s *selection, v *variant) {
	for e := range g.g.owned(s.has) {
		if e.kind == afterWait {
			v.Set(e.index, dropped)
		}
	}
}

// balance gives each device the mean of the devices' work on an operation in a step.
func (g *Graph) balance(s *selection, v *variant) {
	f := g.forest
	type share struct {
		name   int32
		step   int64
		device int32
	}
	work := make(map[share]int64)
	total := make(map[share]int64) // device none
	counts := make(map[share]int64)
	of := func(r int32) (share, bool) {
		k := share{f.Name(r), f.Step(r), f.Device(r)}
		return k, s.rows[r] && g.isOnDevice(r) && f.Kind(r) != op.KindCollective
	}
	for r := range f.Rows() {
		k, ok := of(r)
		if !ok {
			continue
		}
		if work[k] == 0 {
			counts[share{k.name, k.step, none}]++
		}
		work[k] += f.Duration(r)
		total[share{k.name, k.step, none}] += f.Duration(r)
	}
	g.limit(s, v, func(r int32, ns int64) int64 {
		k, ok := of(r)
		all := share{k.name, k.step, none}
		if !ok || work[k] == 0 {
			return ns
		}
		mean := float64(total[all]) / float64(counts[all])
		return int64(float64(ns) * mean / float64(work[k]))
	})
}
