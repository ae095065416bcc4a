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
	Groups      []Group // nil without keys to group by
	Devices     []Device
	LoadBalance *Balance // nil for fewer than two devices
	// Rules counts the entries of kind collective by how they were recognised, Bottlenecks
	// has the operations whose part of the total reaches the minimum, the largest first.
	Rules       CommunicationRules
	Bottlenecks []seed.Bottleneck
	// Hotspots has the first of the HotspotCount entries above ThresholdBytes.
	ThresholdBytes, HotspotCount int64
	Hotspots                     []*op.Entry
	Copies                       []Copy
	Slowest                      []*op.Entry
	Errors                       []Error
	// OverflowedGroups is how many rows are missing from all tables together, Saturated how
	// many rows of operations have a sum beyond 64 bits, and Shared how many names of devices
	// stand for several.
	OverflowedGroups, Saturated, Shared int64
}

// Sums returns the figures of p. It may reorder what p holds.
func (p *Profile) Sums() *Sums { return p.SumsOf(p.sharedDevices()) }

// SumsOf is Sums where others tell which names stand for several devices.
func (p *Profile) SumsOf(shared device.Shared) *Sums {
	devices := p.deviceSums(shared)
	total, estimates, saturated := p.total()
	return &Sums{
		Total:       total,
		Errors:      p.errors.list(),
		Percentiles: Percentiles{Method: "ddsketch", ExactUpTo: sketch.MaxExact, RelativeError: sketch.RelativeError},
		Operations:  p.operationRows(total.Whole(), estimates), Groups: p.groupRows(total.Whole(), estimates),
		Devices: deviceTable(devices), LoadBalance: balanceOf(devices),
		Rules: p.Rules, Bottlenecks: p.bottlenecks(total.Whole(), p.opts.MinCommunicationRatio),
		ThresholdBytes: p.opts.HotspotBytes, HotspotCount: p.hotCount, Hotspots: p.hotspots.list(),
		Copies: copyRows(&p.copies), Slowest: p.slowest.list(),
		OverflowedGroups: p.overflowedGroups(), Saturated: saturated, Shared: int64(len(shared)),
	}
}

// Options returns the options of p, with the defaults in place.
func (p *Profile) Options() Options { return p.opts }
