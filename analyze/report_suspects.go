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
	// IdleCauses sums up the idle time of each device.
	IdleCauses *IdleCauses `json:"idle_causes"`
	// Launches is nil where no launch is known.
	Launches   *Launches   `json:"launches,omitempty"`
	PathTotals *PathTotals `json:"critical_path_totals"`
	Steps      []Step      `json:"steps"`
}

// Describe fills in the counts of env that only the structure of an input tells,
// from orphans to suspect times.
func (f *Forest) Describe(env *Envelope) { f.describe(env, f.suspects()) }

func (f *Forest) describe(env *Envelope, s *suspects) {
	counts := f.structure()
	env.Orphans, env.Duplicates, env.Repeated = op.Known(counts.Orphans), op.Known(counts.Duplicates), op.Known(counts.Repeated)
	env.SuspectDurations, env.Clock = op.Known(int64(len(s.durations))), op.Known(int64(len(s.clock)))
	env.Cycles, env.MissingLinks = op.Known(counts.Cycles), op.Known(counts.MissingLinks)
	if counts.Clocked > 0 {
		env.DeviceClock = &DeviceClock{Entries: counts.Clocked, MaxErrorNS: counts.ClockError}
	}
	env.Suspects = f.examples(s)
	if counts.BadTimes > 0 {
		env.Warnings[warnTimeOutOfRange] = counts.BadTimes
	}
}

// addSuspects fills in what is known about times and parents that cannot be
// right, given the suspects. all has the sums over the operations of forest.
func (r *Report) addSuspects(forest *Forest, all *Profile, s *suspects) {
	forest.describe(&r.Input, s)
	if len(s.durations)+len(s.clock) > 0 && forest.counts.Overflow == 0 {
		r.WithoutSuspects = forest.withoutSuspects(s, all)
	}
}

// withoutSuspects returns the figures over the operations that are left without
// the suspects. The forest must hold all operations that all has the sums of.
func (f *Forest) withoutSuspects(s *suspects, all *Profile) *WithoutSuspects {
	out := f.without(s)
	for r := range f.rowCount() {
		out[r] = out[r] || f.has(r, flagRepeat)
	}
	p := f.profile(all, func(r int32) bool { return !out[r] })
	left := f.reduced(out)
	sums := p.SumsOf(f.onDevice.shared)
	figures := Report{Operations: sums.Operations, Groups: sums.Groups, Devices: sums.Devices, LoadBalance: sums.LoadBalance}
	figures.addSelfTimes(left)
	figures.addGroupSelfTimes(left)
	figures.addTimelines(left.timelines())
	_, _, path := left.pathFigures(left.findJoins)
	return &WithoutSuspects{
		Total: sums.Total, Operations: figures.Operations, Groups: figures.Groups, Devices: figures.Devices, LoadBalance: figures.LoadBalance,
		Communication: Communication{
			Rules: sums.Rules, Bottlenecks: sums.Bottlenecks, Collectives: left.collectiveRows(),
		},
		IdleCauses: left.idleCauses(),
		Launches:   left.launches(timeBuckets),
		PathTotals: path,
		Steps:      append([]Step{}, left.stepRows()...),
	}
}
