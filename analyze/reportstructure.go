package analyze

import (
	"cmp"

	"github.com/optrace/optrace/op"
)

// timeBuckets is into how many parts a report divides the time of a run.
const timeBuckets = 60

// warnTimeOutOfRange counts, among the warnings of the envelope, the entries
// and spans whose times the structure cannot hold.
const warnTimeOutOfRange = "time_out_of_range"

// addStructure fills in the figures that need the structure of the run. top
// bounds the idle gaps that are listed.
func (r *Report) addStructure(t *Trace, top int) {
	counts := t.Structure()
	r.Input.Orphans, r.Input.Duplicates = &counts.Orphans, &counts.Duplicates
	if counts.BadTimes > 0 {
		r.Input.Warnings[warnTimeOutOfRange] = counts.BadTimes
	}
	r.addSelfTimes(t)
	r.addGroupSelfTimes(t)
	r.addTimelines(t.Timelines())

	idle := t.Idle(IdleOptions{Top: cmp.Or(top, -1)})
	r.Idle = idle.Longest
	r.IdleCauses = &IdleCauses{ThresholdNS: idle.Threshold, Devices: idle.Devices}
	path := t.CriticalPathSummary()
	r.CriticalPath = path.Shares
	r.PathTotals = &PathTotals{
		Paths: path.Paths, DurationNS: path.Duration, BoundBy: path.BoundBy, Edges: path.Edges,
	}
	r.Steps = append([]Step{}, t.Steps()...)
	r.Utilisation = t.Utilisation(timeBuckets)
	r.Concurrency = t.Concurrency()
	r.Communication.Collectives = t.Collectives()
	r.Memory.OverTime = t.MemoryUse(timeBuckets)
}

// addTimelines gives each device the parts of its time.
func (r *Report) addTimelines(timelines []Timeline) {
	parts := make(map[DeviceKey]*Parts, len(timelines))
	for _, line := range timelines {
		parts[line.DeviceKey] = line.Parts
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		if p := parts[d.key()]; p != nil {
			d.setParts(p)
		}
	}
	if r.LoadBalance != nil {
		r.LoadBalance.BusyImbalanceRatio = busyImbalance(timelines)
	}
}

func (d *Device) setParts(p *Parts) {
	d.SpanNS, d.BusyNS, d.IdleNS = &p.Span, &p.Busy, &p.Idle
	d.ComputeNS, d.OtherNS = &p.Compute, &p.Other
	d.ExposedCommunicationNS, d.ExposedMemoryNS = &p.ExposedCommunication, &p.ExposedMemory
	d.CommunicationNS, d.MemoryNS, d.OverlapNS = &p.Communication, &p.Memory, &p.Overlap
	if ratio, ok := p.OverlapRatio(); ok {
		d.OverlapRatio = &ratio
	}
}

// busyImbalance returns the imbalance of the devices by busy time; nil when
// the busy time of one of them is not known.
func busyImbalance(timelines []Timeline) *float64 {
	longest, sum, n := int64(0), int64(0), 0
	for _, line := range timelines {
		if line.DeviceID == UnknownDevice {
			continue
		}
		if line.Parts == nil {
			return nil
		}
		n++
		longest = max(longest, line.Parts.Busy)
		sum = addSaturating(sum, line.Parts.Busy)
	}
	if n < 2 {
		return nil
	}
	ratio := imbalance(float64(longest), float64(sum)/float64(n))
	return &ratio
}

// addSelfTimes gives each operation its self time. What belongs to names that
// have no row of their own goes into the row of the others.
func (r *Report) addSelfTimes(t *Trace) {
	times := t.OperationSelfTimes()
	others := make(map[op.Side]*int64)
	for i := range r.Operations {
		row := &r.Operations[i]
		side := op.SideNone
		if row.Side == op.SideHost.String() {
			side = op.SideHost
		}
		key := OperationKey{row.Operation, side}
		self := times[key]
		delete(times, key)
		row.SelfNS = &self
		if row.Operation == otherLabel {
			others[side] = &self
		}
	}
	for key, self := range times {
		if sum := others[key.Side]; sum != nil {
			*sum = addSaturating(*sum, self)
		}
	}
}
