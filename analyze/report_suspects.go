package analyze

import (
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// WithoutSuspects has figures without operations whose times cannot be right: suspect durations,
// clock problems, and all below a clock problem.
type WithoutSuspects struct {
	Total      profile.Total       `json:"total"`
	Operations []profile.Operation `json:"operations"`
	// Groups is nil without grouping.
	Groups  []profile.Group  `json:"groups"`
	Devices []profile.Device `json:"devices"`
	// LoadBalance is nil for fewer than two devices.
	LoadBalance   *profile.Balance `json:"load_balance"`
	Communication Communication    `json:"communication"`
	// IdleCauses sums up the idle time of each device.
	IdleCauses *timeline.IdleCauses `json:"idle_causes"`
	// Launches is nil if no launches are known.
	Launches   *launch.Launches `json:"launches,omitempty"`
	PathTotals *path.Totals     `json:"critical_path_totals"`
	Steps      []steps.Row      `json:"steps"`
}

// AddStructure adds the counts that need the structure to env, from orphans to suspect times.
func AddStructure(f *trace.Forest, env *Envelope) { describe(f, env, suspects.Find(f)) }

// Describe adds structural counts to env.
//
// Deprecated: use [AddStructure].
func Describe(f *trace.Forest, env *Envelope) { AddStructure(f, env) }

func describe(f *trace.Forest, env *Envelope, s *suspects.Found) {
	counts := f.Structure()
	env.Orphans = op.Known(counts.Orphans)
	env.Duplicates = op.Known(counts.Duplicates)
	env.Repeated = op.Known(counts.Repeated)
	if counts.Duplicates > 0 {
		env.DuplicatesKept = "first_in_input"
	}
	env.SuspectDurations = op.Known(int64(len(s.Durations)))
	env.Clock = op.Known(int64(len(s.Clock)))
	env.Cycles = op.Known(counts.Cycles)
	env.MissingLinks = op.Known(counts.MissingLinks)
	if counts.Clocked > 0 {
		env.DeviceClock = &DeviceClock{Entries: counts.Clocked, MaxErrorNS: counts.ClockError}
	}
	env.Suspects = suspects.Examples(f, s)
	if counts.BadTimes > 0 {
		env.Warnings[warnTimeOutOfRange] = counts.BadTimes
	}
}

// addSuspects adds the faults of times and parents to r, given the suspects and the sums over all operations.
// It returns the total without suspects, nil if there are none. With totalOnly it skips [Report].WithoutSuspects.
func (r *Report) addSuspects(
	forest *trace.Forest, all *profile.Profile, s *suspects.Found, totalOnly bool,
) *profile.Total {
	describe(forest, &r.Input, s)
	if len(s.Durations)+len(s.Clock) == 0 || forest.Counts.Overflow > 0 {
		return nil
	}
	out := suspects.Without(forest, s)
	for r := range forest.Rows() {
		out[r] = out[r] || forest.Has(r, trace.FlagRepeat)
	}
	sums := profile.Of(forest, all, func(r int32) bool { return !out[r] }).SumsOf(forest.Devices.Shared)
	if !totalOnly {
		r.WithoutSuspects = without(forest, sums, out)
	}
	return &sums.Total
}

// without returns the figures over the operations not in out, given their sums. f must hold all summed operations.
func without(f *trace.Forest, sums *profile.Sums, out []bool) *WithoutSuspects {
	left := f.Without(out)
	figures := Report{
		Operations: sums.Operations, Groups: sums.Groups, Devices: sums.Devices, LoadBalance: sums.LoadBalance,
	}
	figures.addSelfTimes(left)
	figures.AddTimelines(timeline.Timelines(left))
	return &WithoutSuspects{
		Total: sums.Total, Operations: figures.Operations, Groups: figures.Groups,
		Devices: figures.Devices, LoadBalance: figures.LoadBalance,
		Communication: Communication{
			Rules: sums.Rules, Bottlenecks: sums.Bottlenecks, Collectives: collective.FindJoins(left).Rows(),
		},
		IdleCauses: &timeline.Idle(left, 0).IdleCauses,
		Launches:   launch.Find(left, timeBuckets),
		PathTotals: path.TotalsOf(left),
		Steps:      append([]steps.Row{}, steps.Rows(left)...),
	}
}
