package analyze

import (
	"maps"
	"slices"
	"sync"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/headline"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

// Keys of [Envelope].Warnings. warnSumOverflow counts rows with a sum beyond 64 bits, shown as the largest int64.
// warnDeviceShared counts device names used by several services without a rank.
const (
	warnSumOverflow  = "sum_overflow"
	warnDeviceShared = "device_shared"
)

// ReportOn returns the report on p alone, without structural figures and without counts of an input.
func ReportOn(p *profile.Profile) *Report {
	return newReport(newCounter().envelope(), p, nil, nil, &Options{})
}

// newReport returns the report on in, p and forest. Structural figures are unknown if forest is nil. It may reorder the
// rows of p.
func newReport(in Envelope, p *profile.Profile, forest *trace.Forest, used work.Used, opts *Options) *Report {
	var moved *clocks.Alignment
	var s *profile.Sums
	if forest == nil {
		s = p.Sums()
	} else {
		if opts.AlignClocks {
			moved = clocks.Align(forest)
		}
		if forest.Build(); forest.Ended() {
			return new(Report)
		}
		p = profile.Settle(forest, p, false)
		s = p.SumsOf(forest.Devices.Shared)
	}
	options := p.Options()
	r := &Report{
		Schema:        Schema,
		Input:         in,
		Total:         s.Total,
		Percentiles:   s.Percentiles,
		Operations:    s.Operations,
		Groups:        s.Groups,
		Devices:       s.Devices,
		LoadBalance:   s.LoadBalance,
		Communication: Communication{Rules: s.Rules, Bottlenecks: s.Bottlenecks},
		Memory: Memory{
			ThresholdBytes: s.ThresholdBytes, HotspotCount: s.HotspotCount, Hotspots: s.Hotspots, Copies: s.Copies,
		},
		Slowest: s.Slowest,
		Errors:  s.Errors,
	}
	if options.Peaks != nil {
		r.Peaks = options.Peaks.Devices
	} else {
		for _, model := range in.Models {
			if d := peaks.OfModel(model); d != nil {
				r.Peaks = append(r.Peaks, *d)
			}
		}
	}
	for _, k := range options.By {
		r.By = append(r.By, k.String())
	}
	r.Input.OverflowedGroups = s.OverflowedGroups
	if s.Saturated > 0 {
		r.Input.Warnings[warnSumOverflow] = s.Saturated
	}
	if s.Shared > 0 {
		r.Input.Warnings[warnDeviceShared] = s.Shared
	}
	if moved != nil {
		r.Clocks = moved
		if moved.WallNS.Known {
			r.Total.WallNS = moved.WallNS
		}
	}
	if forest != nil {
		forest.JoinServices()
		suspects, facts := r.addStructure(forest, opts, options.Top, options.MaxGroups)
		if forest.Ended() {
			return r
		}
		facts.WithoutSuspects = r.addSuspects(forest, p, suspects, slices.Equal(opts.Sections, []string{"overview"}))
		if facts.Extent.DurationNS > 0 || r.Total.WallNS.Known {
			r.ExtentNS = op.Known(facts.Extent.DurationNS)
		}
		if opts.wants("overview findings") {
			r.addFindings(forest, facts)
		}
		if opts.wants("overview") {
			r.addHeadline(facts.Alike, used)
		}
	}
	if r.Coverage != nil && r.Coverage.OfPart {
		r.Coverage = nil
	}
	return r
}

// FindingsOf returns the findings about f, as in a report. in has the counts of the input.
func FindingsOf(f *trace.Forest, in *Envelope) []findings.Finding {
	opts := Options{Sections: []string{"findings"}}
	input := *in
	input.Warnings = maps.Clone(in.Warnings)
	f.Build()
	return newReport(input, profile.Of(f, profile.New(opts.sums()), f.CountsInSums), f, nil, &opts).Findings
}

func (r *Report) addHeadline(alike []requests.Alike, used work.Used) {
	facts := headline.Facts{
		Models: r.Input.Models, Devices: r.Devices, Total: r.Total, ExtentNS: r.ExtentNS, Used: used, Steps: r.Steps,
		Alike: alike, Engines: r.Engines, Missing: r.Coverage.Doubtful(),
		Suspect: r.Input.SuspectDurations.V+r.Input.Clock.V > 0,
	}
	for i := range r.Operations {
		if o := &r.Operations[i]; o.Side != "" {
			facts.Host += o.Count
		}
	}
	r.Headline = headline.Of(&facts)
}

// addFindings computes the findings from the figures of r and from facts, which it completes.
func (r *Report) addFindings(f *trace.Forest, facts *findings.Facts) {
	replayed := sync.OnceValue(func() *replay.Graph { return replay.New(f) })
	in := &r.Input
	facts.Input = findings.Input{
		Files: in.Files, Bytes: in.Bytes, Formats: in.Formats, Models: in.Models,
		Spans: in.Spans, Entries: in.Entries, Malformed: in.Malformed, Truncated: in.Truncated, Dropped: in.Dropped,
		MissingEntries: in.MissingEntries, SuspectDurations: in.SuspectDurations.V, SkippedBy: in.SkippedBy,
		Suspects: in.Suspects, Summarized: in.Summarized,
		TimeUnit: in.TimeUnit, EarlyStarts: in.EarlyStarts, BadProducts: in.BadProducts, BadProduct: in.BadProduct,
	}
	facts.Coverage = r.Coverage
	facts.Total = r.Total
	facts.Operations = r.Operations
	facts.Devices = r.Devices
	facts.Peaks = r.Peaks
	facts.Copies = r.Memory.Copies
	facts.Errors = r.Errors
	facts.Idle = r.Idle
	facts.IdleCauses = r.IdleCauses
	facts.Launches = r.Launches
	facts.Operators = r.Operators
	facts.Paths = r.PathTotals
	facts.PathOperations = r.PathOperations
	facts.Sequences = r.Sequences
	facts.Engines = r.Engines
	facts.First = steps.FirstOf(r.Steps)
	facts.Steps = r.Steps
	facts.Forest = f
	facts.Replay = replayed
	r.Findings = findings.Of(facts)
}

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

// Describe adds the counts that need the structure of f to env, from orphans to suspect times.
func Describe(f *trace.Forest, env *Envelope) { describe(f, env, suspects.Find(f)) }

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
