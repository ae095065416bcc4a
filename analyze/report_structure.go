package analyze

import (
	"cmp"
	"slices"
	"sync"

	"github.com/optrace/optrace/analyze/internal/parallel"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// timeBuckets is into how many parts a report divides the time of a run.
const timeBuckets = 60

// warnTimeOutOfRange counts, among the warnings of the envelope, the entries
// and spans whose times the structure cannot hold.
const warnTimeOutOfRange = "time_out_of_range"

// addStructure fills in the figures that need the structure of the run, and returns
// the suspects. top bounds the idle gaps that are listed.
func (r *Report) addStructure(forest *Forest, top int) *suspects {
	var found *suspects
	joins := sync.OnceValue(forest.findJoins)
	parallel.Do(
		func() {
			r.Steps = append([]Step{}, forest.stepRows()...)
			r.StatedSteps = op.Known(forest.statedSteps())
		},
		func() {
			r.CriticalPath, r.PathOperations, r.PathTotals = forest.pathFigures(joins)
		},
		func() { found = forest.suspects() },
		func() { r.Sequences = forest.sequences(top, float64(r.Total.whole())) },
		func() { r.SlowestRequest = forest.slowestRequest(joins) },
		func() {
			idle := forest.idle(idleOptions{top: cmp.Or(top, -1)})
			r.Idle, r.IdleCauses = idle.Longest, &idle.IdleCauses
		},
		func() { r.Launches = forest.launches(timeBuckets) },
		func() { r.Communication.Collectives = forest.collectiveRows() },
		func() { r.addSelfTimes(forest); r.addGroupSelfTimes(forest) },
		func() { r.Memory.OverTime = forest.memoryUse(timeBuckets) },
		func() { r.addTimelines(forest.timelines()) },
		func() { r.Utilisation = forest.utilisation(timeBuckets) },
		func() { r.Concurrency = forest.concurrency() },
	)
	return found
}

// addTimelines gives each device the parts of its time.
func (r *Report) addTimelines(timelines []timeline) {
	parts := make(map[DeviceKey]*deviceParts, len(timelines))
	for _, line := range timelines {
		parts[line.DeviceKey] = line.Parts
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		if p := parts[d.Key()]; p != nil {
			d.setParts(p)
		}
	}
	if r.LoadBalance != nil {
		r.LoadBalance.BusyImbalanceRatio = busyImbalance(timelines)
	}
}

func (d *Device) setParts(p *deviceParts) {
	d.SpanNS, d.BusyNS, d.IdleNS = op.Known(p.Span), op.Known(p.Busy), op.Known(p.Idle)
	d.ComputeNS, d.OtherNS = op.Known(p.Compute), op.Known(p.Other)
	d.ExposedCommunicationNS, d.ExposedMemoryNS = op.Known(p.ExposedCommunication), op.Known(p.ExposedMemory)
	d.CommunicationNS, d.MemoryNS, d.OverlapNS = op.Known(p.Communication), op.Known(p.Memory), op.Known(p.Overlap)
	if ratio, ok := p.overlapRatio(); ok {
		d.OverlapRatio = op.KnownFloat(ratio)
	}
}

// addSelfTimes gives each operation its self time. The row of the others takes
// those of the names without a row of their own.
func (r *Report) addSelfTimes(f *Forest) {
	times := f.operationSelfTimes()
	var others [2]*op.Int // by side
	for i := range r.Operations {
		row := &r.Operations[i]
		key := operationKey{row.Operation, sideOf(row.Side)}
		row.SelfNS = op.Known(times[key])
		delete(times, key)
		if row.Operation == otherLabel {
			others[key.Side] = &row.SelfNS
		}
	}
	for key, self := range times {
		if sum := others[key.Side]; sum != nil {
			sum.V = wide.AddSaturating(sum.V, self)
		}
	}
}

// addGroupSelfTimes gives each group its self time, where forest keeps the groups
// of the operations. What belongs to groups without a row of their own goes into
// the row of the others.
func (r *Report) addGroupSelfTimes(forest *Forest) {
	if len(r.Groups) == 0 || !slices.Equal(forest.by, r.Groups[0].Key.Keys) {
		return
	}
	sums := forest.groupSelfTimes()
	var others []*Group
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Key.Other {
			others = append(others, g)
			continue
		}
		id := groupID{string(appendValues(nil, g.Key.Values)), g.Side}
		g.SelfNS = op.Known(0)
		if sum := sums[id]; sum != nil {
			g.SelfNS.V = sum.Int64()
			delete(sums, id)
		}
	}
	for _, g := range others {
		var rest wide.Sum
		for id, sum := range sums {
			if id.side == g.Side {
				rest.Merge(*sum)
			}
		}
		g.SelfNS = op.Known(rest.Int64())
	}
}
