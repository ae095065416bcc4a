package analyze

import (
	"slices"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/trace"
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
	return newReport(newCounter().envelope(), p, nil, &Options{})
}

// newReport returns the report on in, p and forest. Structural figures are unknown if forest is nil. It may reorder the
// rows of p.
func newReport(in Envelope, p *profile.Profile, forest *trace.Forest, opts *Options) *Report {
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
	}
	return r
}
