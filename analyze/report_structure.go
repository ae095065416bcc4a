package analyze

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/seed"
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
	inParallel(
		func() {
			r.Steps = append([]Step{}, forest.stepRows()...)
			r.StatedSteps = op.Known(forest.statedSteps())
		},
		func() {
			r.CriticalPath, r.PathOperations, r.PathTotals = forest.pathFigures()
		},
		func() { found = forest.suspects() },
		func() { r.Sequences = forest.sequences(top, float64(r.Total.whole())) },
		func() { r.SlowestRequest = forest.slowestRequest() },
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

// pathFigures returns the rows of the critical paths of all traces, by device and not,
// with their drag, and the sums of all.
func (f *Forest) pathFigures() ([]PathShare, []PathOperation, *PathTotals) {
	sum := f.criticalPathSum()
	path := sum.summary()
	operations := pathOperations(path.Shares)
	f.addDrag(path, sum, operations)
	return path.Shares, operations, f.pathTotals(path)
}

// pathTotals returns the sums of s, the summary of all traces, and counts what has
// no path.
func (f *Forest) pathTotals(s *PathSummary) *PathTotals {
	totals := &PathTotals{Paths: s.Paths, DurationNS: s.DurationNS, BoundBy: s.BoundBy, Edges: s.Edges}
	for r := range f.n {
		if !f.isTraced(r) && !f.has(r, flagRepeat) {
			totals.NoIDs++
		}
	}
	for roots := range f.traceRoots() {
		if f.isTraced(roots[0]) && !f.has(roots[0], flagStart) { // known starts come first
			totals.NoStart++
		}
	}
	return totals
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

// busyImbalance returns the imbalance of the devices by busy time, unknown when
// the busy time of one of them is.
func busyImbalance(timelines []timeline) op.Float {
	longest, sum, n := int64(0), int64(0), 0
	for _, line := range timelines {
		if line.IsNone() {
			continue
		}
		if line.Parts == nil {
			return op.Float{}
		}
		n++
		longest = max(longest, line.Parts.Busy)
		sum = wide.AddSaturating(sum, line.Parts.Busy)
	}
	if n < 2 {
		return op.Float{}
	}
	return op.KnownFloat(seed.Imbalance(float64(longest), float64(sum)/float64(n)))
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

// sideOf returns the side that a row names.
func sideOf(side string) op.Side {
	if side == op.SideHost.String() {
		return op.SideHost
	}
	return op.SideNone
}

// groupID identifies a group by its values and side.
type groupID struct{ values, side string }

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

// groupSelfTimes sums up the self times by group.
func (f *Forest) groupSelfTimes() map[groupID]*wide.Sum {
	bySide := [2][]wide.Sum{
		make([]wide.Sum, len(f.dict.groups.Values)),
		make([]wide.Sum, len(f.dict.groups.Values)),
	}
	for n, self := range f.selfTimes() {
		bySide[sideIndex(n.Side())][f.group(n.row)].Add(self)
	}
	sums := make(map[groupID]*wide.Sum)
	for side := range bySide {
		for group := range bySide[side] {
			sum := &bySide[side][group]
			if *sum == (wide.Sum{}) {
				continue
			}
			values := cutKeys(f.dict.groups.Values[group], f.by)
			sums[groupID{string(appendValues(nil, values)), op.Side(side).String()}] = sum
		}
	}
	return sums
}

// appendValues appends the values in a form that differs for different ones.
func appendValues(dst []byte, values []KeyValue) []byte {
	for _, v := range values {
		if !v.Known {
			dst = append(dst, 0)
			continue
		}
		dst = appendCounted(append(dst, 1), v.Text)
	}
	return dst
}
