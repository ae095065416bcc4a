package analyze

import "github.com/optrace/optrace/analyze/internal/sketch"

// warnSumOverflow counts, among the warnings of the envelope, the rows with a
// sum that does not fit 64 bits and is shown as the largest number that does.
const warnSumOverflow = "sum_overflow"

// warnDeviceShared counts, among the warnings of the envelope, the names of devices
// that several services have without stating a rank.
const warnDeviceShared = "device_shared"

// Report returns the report on the profile alone: without the structural figures
// and the counts of an input.
func (p *Profile) Report() *Report { return newReport(newCounter(), p, nil) }

// newReport returns the report on in, p and forest. Without a forest the
// structural figures are unknown. It may reorder what p holds.
func newReport(in *counter, p *Profile, forest *Forest) *Report {
	var moved *Clocks
	if forest != nil {
		if p.opts.AlignClocks {
			moved = forest.alignClocks()
		}
		p = forest.settle(p)
	}
	shared := p.sharedDevices()
	if forest != nil {
		shared = forest.onDevice.shared
	}
	devices := p.deviceSums(shared)
	total := p.total()
	if moved != nil && moved.WallNS.Known {
		total.WallNS = moved.WallNS
	}
	r := &Report{
		Schema:      Schema,
		Input:       in.envelope(),
		Total:       total,
		Percentiles: Percentiles{Method: "ddsketch", ExactUpTo: sketch.MaxExact, RelativeError: sketch.RelativeError},
		Operations:  p.operationRows(total.whole()),
		Groups:      p.groupRows(total.whole()),
		Devices:     deviceTable(devices),
		LoadBalance: balanceOf(devices),
		Communication: Communication{
			Rules:       p.rules,
			Bottlenecks: p.bottlenecks(total.whole(), p.opts.MinCommunicationRatio),
		},
		Memory: Memory{
			ThresholdBytes: p.opts.HotspotBytes,
			HotspotCount:   p.hotCount,
			Hotspots:       p.hotspots.list(),
			Copies:         copyRows(&p.copies),
		},
		Slowest: p.slowest.list(),
		Clocks:  moved,
	}
	if p.opts.Peaks != nil {
		r.Peaks = p.opts.Peaks.Devices
	}
	for _, k := range p.opts.By {
		r.By = append(r.By, k.String())
	}
	r.Input.OverflowedGroups = p.overflowedGroups()
	if n := p.saturated(); n > 0 {
		r.Input.Warnings[warnSumOverflow] = n
	}
	if n := len(shared); n > 0 {
		r.Input.Warnings[warnDeviceShared] = int64(n)
	}
	if forest != nil {
		suspects := r.addStructure(forest, p.opts.Top)
		r.addSuspects(forest, p, suspects)
	}
	return r
}
