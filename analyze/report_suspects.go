package analyze

import "github.com/optrace/optrace/op"

// WithoutSuspects has figures without the operations whose times cannot be
// right: those with suspect durations, and those that are clock problems or lie
// below one.
type WithoutSuspects struct {
	Total      Total       `json:"total"`
	Operations []Operation `json:"operations"`
	// Groups is nil when no grouping was asked for.
	Groups  []Group  `json:"groups"`
	Devices []Device `json:"devices"`
	// LoadBalance is nil for fewer than two devices.
	LoadBalance   *Balance      `json:"load_balance"`
	Communication Communication `json:"communication"`
	PathTotals    *PathTotals   `json:"critical_path_totals"`
	Steps         []Step        `json:"steps"`
}

// addSuspects fills in what is known about times and parents that cannot be
// right. all has the sums over the operations of forest.
func (r *Report) addSuspects(forest *Forest, all *Profile) {
	s := forest.suspects()
	r.Input.SuspectDurations, r.Input.Clock = op.Known(int64(len(s.durations))), op.Known(int64(len(s.clock)))
	r.Input.Cycles = op.Known(forest.counts.Cycles)
	r.Input.Suspects = forest.examples(s)
	if len(s.durations)+len(s.clock) > 0 && forest.counts.Overflow == 0 {
		r.WithoutSuspects = forest.withoutSuspects(s, all)
	}
}

// withoutSuspects returns the figures over the operations that are left without
// the suspects. The forest must hold all operations that all has the sums of.
func (f *Forest) withoutSuspects(s *suspects, all *Profile) *WithoutSuspects {
	out := f.without(s)
	for r := range f.n {
		out[r] = out[r] || f.has(r, flagRepeat)
	}
	p := f.profile(all, func(r int32) bool { return !out[r] })
	left := f.reduced(out)
	total := p.total()
	devices := p.deviceSums(f.onDevice.shared)
	figures := Report{
		Operations: p.operationRows(total.whole()), Groups: p.groupRows(total.whole()),
		Devices: deviceTable(devices), LoadBalance: balanceOf(devices),
	}
	figures.addSelfTimes(left)
	figures.addGroupSelfTimes(left)
	figures.addTimelines(left.timelines())
	return &WithoutSuspects{
		Total: total, Operations: figures.Operations, Groups: figures.Groups, Devices: figures.Devices, LoadBalance: figures.LoadBalance,
		Communication: Communication{
			Rules:       p.rules,
			Bottlenecks: p.bottlenecks(total.whole(), p.opts.MinCommunicationRatio),
			Collectives: left.collectiveRows(),
		},
		PathTotals: left.pathTotals(left.criticalPathSummary()),
		Steps:      append([]Step{}, left.stepRows()...),
	}
}
