package profile

import (
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/op"
)

// Sums are the figures of a [Profile].
type Sums struct {
	Total       Total
	Percentiles Percentiles
	Operations  []Operation
	Groups      []Group // nil without Options.By
	Devices     []Device
	LoadBalance *Balance // nil for fewer than two devices
	// Rules counts collectives by the rule that recognised them. Bottlenecks has the operations whose share of the
	// total reaches the minimum, largest first.
	Rules       CommunicationRules
	Bottlenecks []seed.Bottleneck
	// Hotspots has the first of HotspotCount entries above ThresholdBytes.
	ThresholdBytes, HotspotCount int64
	Hotspots                     []*op.Entry
	Copies                       []Copy
	Slowest                      []*op.Entry
	Errors                       []Error
	// OverflowedGroups is the number of rows missing from all tables. Saturated counts rows of operations with a sum
	// beyond 64 bits. Shared counts device names that stand for several devices.
	OverflowedGroups, Saturated, Shared int64
}

// Sums returns the figures of p. It may reorder the entries of p.
func (p *Profile) Sums() *Sums { return p.SumsOf(p.sharedDevices()) }

// SumsOf is Sums with the given shared device names.
func (p *Profile) SumsOf(shared device.Shared) *Sums {
	devices := p.deviceSums(shared)
	total, estimates, saturated := p.total()
	return &Sums{
		Total:  total,
		Errors: p.errors.list(),
		Percentiles: Percentiles{
			Method: "ddsketch", ExactUpTo: sketch.MaxExact, RelativeError: sketch.RelativeError,
		},
		Operations: p.operationRows(total.Whole(), estimates), Groups: p.groupRows(total.Whole(), estimates),
		Devices: deviceTable(devices), LoadBalance: balanceOf(devices),
		Rules: p.Rules, Bottlenecks: p.bottlenecks(total.Whole(), p.opts.MinCommunicationRatio),
		ThresholdBytes: p.opts.HotspotBytes, HotspotCount: p.hotCount, Hotspots: p.hotspots.list(),
		Copies: copyRows(&p.copies), Slowest: p.slowest.list(),
		OverflowedGroups: p.overflowedGroups(), Saturated: saturated, Shared: int64(len(shared)),
	}
}

// Options returns the options of p with defaults filled in.
func (p *Profile) Options() Options { return p.opts }
