package analyze

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/internal/parallel"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

const timeBuckets = 60

// warnTimeOutOfRange is the key of [Envelope].Warnings that counts times outside the range of package trace.
const warnTimeOutOfRange = "time_out_of_range"

// addStructure computes the structural figures that opts wants. It returns the suspects and the facts for findings.
// top bounds the listed idle gaps, groups the rows of tables.
func (r *Report) addStructure(forest *trace.Forest, opts *Options, top, groups int) (*suspects.Found, *findings.Facts) {
	var found *suspects.Found
	var facts findings.Facts
	joins := func() *collective.Joins { return collective.FindJoins(forest) }
	facts.FindSequences = func() *sequences.Sequences {
		return sequences.Find(forest, top, float64(r.Total.Whole()))
	}
	var wanted []func()
	for _, figures := range []struct {
		sections string // "" means all
		compute  func()
	}{
		{"overview findings steps phases", func() {
			r.Steps = append([]steps.Row{}, steps.Rows(forest)...)
			r.Phases = append([]steps.Phase{}, steps.Phases(forest, r.Steps)...)
			r.Steady = steps.SteadyOf(r.Steps)
			r.StatedSteps = op.Known(steps.Stated(forest))
		}},
		{"overview findings engines", func() { r.Engines = engines.Find(forest, opts.By, opts.Where).Rows(groups) }},
		{"overview findings critical_path", func() {
			withDrag := joins
			if !opts.wants("findings critical_path") {
				withDrag = nil // the first screen does not show it
			}
			r.CriticalPath, r.PathOperations, r.PathTotals = path.Figures(forest, withDrag, groups)
		}},
		{"", func() { found = suspects.Find(forest) }},
		{"findings sequences", func() { r.Sequences = facts.FindSequences() }},
		{"critical_path", func() { r.SlowestRequest = requests.Slowest(forest, joins) }},
		{"overview findings devices idle launches", func() {
			idle := timeline.Idle(forest, top)
			r.Idle = idle.Longest
			r.IdleCauses = &idle.IdleCauses
			r.IdlePlaces = timeline.FirstPlaces(idle.Places, top)
			facts.Places = idle.Places
		}},
		{"overview findings operators roofline", func() { r.Operators = operators.Find(forest, groups) }},
		{"overview findings launches", func() { r.Launches = launch.Find(forest, timeBuckets) }},
		{"communication", func() { r.Communication.Collectives = joins().Rows() }},
		{"overview summary operations", func() { r.addSelfTimes(forest) }},
		{"errors", func() { r.SpanErrors = profile.ErrorsOf(spansOf(forest), groups) }},
		{"memory", func() { r.Memory.OverTime = timeline.MemoryOf(forest, timeBuckets) }},
		{"overview findings devices balance", func() { r.AddTimelines(timeline.Timelines(forest)) }},
		{"steps", func() { r.Pipeline = steps.PipelineOf(forest) }},
		{"devices", func() { r.Utilisation = timeline.UseOf(forest, timeBuckets) }},
		{"devices", func() { r.Concurrency = timeline.Concurrency(forest) }},
		{"", func() {
			r.Coverage = launch.CoverageOf(forest, r.Input.Unrecorded)
			r.Coverage.OfPart = opts.Steady || r.Input.SkippedBy[string(op.SkipFiltered)] > 0
			r.Coverage.WorldSize = r.Input.WorldSize
			if est := r.Total.EstCount; est.Known && est.V > 0 {
				r.Coverage.SampledShare = op.KnownFloat(min(1, float64(r.Total.Count)/est.V))
			}
		}},
		{"", func() { facts.Extent = timeline.ExtentOf(forest) }},
		{"overview findings", func() {
			facts.Clocks = clocks.Apart(forest, joins())
			facts.Lateness = joins().Lateness()
			facts.Collectives = joins().Rows()
		}},
		{"overview findings", func() { facts.Alike = requests.AlikeOf(forest) }},
	} {
		if figures.sections == "" || opts.wants(figures.sections) {
			wanted = append(wanted, func() {
				if !forest.Ended() {
					figures.compute()
				}
			})
		}
	}
	parallel.Do(wanted...)
	return found, &facts
}

func spansOf(f *trace.Forest) iter.Seq[trace.Node] {
	return func(yield func(trace.Node) bool) {
		for n := range f.Nodes() {
			if !n.IsOp() && !yield(n) {
				return
			}
		}
	}
}

// AddTimelines adds the parts of each device's time to the rows of r.Devices.
func (r *Report) AddTimelines(timelines []timeline.Timeline) {
	parts := make(map[device.Key]*timeline.Parts, len(timelines))
	for _, line := range timelines {
		parts[line.Key] = line.Parts
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		if p := parts[d.Key()]; p != nil {
			d.SpanNS = op.Known(p.Span)
			d.BusyNS = op.Known(p.Busy)
			d.IdleNS = op.Known(p.Idle)
			d.ComputeNS = op.Known(p.Compute)
			d.OtherNS = op.Known(p.Other)
			d.ExposedCommunicationNS = op.Known(p.ExposedCommunication)
			d.ExposedMemoryNS = op.Known(p.ExposedMemory)
			d.CommunicationNS = op.Known(p.Communication)
			d.MemoryNS = op.Known(p.Memory)
			d.OverlapNS = op.Known(p.Overlap)
			if ratio, ok := p.OverlapRatio(); ok {
				d.OverlapRatio = op.KnownFloat(ratio)
			}
		}
	}
	if r.LoadBalance != nil {
		r.LoadBalance.BusyImbalanceRatio = busyImbalance(timelines)
	}
}

// addSelfTimes adds self times to operations, and to groups if f has the groups of operations.
func (r *Report) addSelfTimes(f *trace.Forest) {
	operationOf := func(o *profile.Operation) (string, *profile.Stats, bool) {
		return o.Operation, &o.Stats, o.Operation == key.Other
	}
	setSelfTimes(r.Operations, timeline.OperationSelfTimes(f), operationOf)

	if len(r.Groups) > 0 && slices.Equal(f.By, r.Groups[0].Key.Keys) {
		setSelfTimes(r.Groups, timeline.GroupSelfTimes(f), func(g *profile.Group) (string, *profile.Stats, bool) {
			return timeline.GroupName(g.Key.Values), &g.Stats, g.Key.Other
		})
	}
}

// setSelfTimes sets the self time of each row and its share. The row of the others gets all self times without a row.
func setSelfTimes[R any](
	rows []R, times map[timeline.RowID]int64, of func(*R) (name string, s *profile.Stats, other bool),
) {
	var others [2]*op.Int // by side
	for i := range rows {
		name, s, other := of(&rows[i])
		id := timeline.RowID{Name: name}
		id.Side.SetName(s.Side)
		s.SelfNS = op.Known(times[id])
		delete(times, id)
		if other {
			others[id.Side] = &s.SelfNS
		}
	}
	for id, self := range times {
		if sum := others[id.Side]; sum != nil {
			sum.V = wide.AddSaturating(sum.V, self)
		}
	}
	var all [2]float64 // by side
	for i := range rows {
		_, s, _ := of(&rows[i])
		all[min(len(s.Side), 1)] += float64(s.SelfNS.V)
	}
	for i := range rows {
		_, s, _ := of(&rows[i])
		if whole := all[min(len(s.Side), 1)]; whole > 0 {
			s.SelfShare = op.KnownFloat(float64(s.SelfNS.V) / whole)
		}
	}
}

// busyImbalance returns the imbalance of the devices by busy time; unknown if one busy time is unknown.
func busyImbalance(timelines []timeline.Timeline) op.Float {
	var longest, sum int64
	n := 0
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
