package profile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/op"
)

// eachOperation calls f for every row of both sides with its listed name, in random order.
func (p *Profile) eachOperation(f func(side int, name string, row *operationRow)) {
	for side, t := range p.operations {
		for row, other := range t.All() {
			name := row.Name
			if other {
				name = key.Other
			}
			f(side, name, row)
		}
	}
}

// total sums up the rows of operations. estimates reports whether estimates are sound. saturated counts rows with a sum
// beyond 64 bits.
func (p *Profile) total() (total Total, estimates bool, saturated int64) {
	var sum accumulator
	entries := int64(0)
	p.eachOperation(func(side int, _ string, row *operationRow) {
		entries += row.Count
		if row.saturates() {
			saturated++
		}
		if side != int(op.SideHost) {
			sum.mergeSums(&row.accumulator)
		}
	})
	estimates = p.Weighted > 0 && p.Weighted == entries
	total = Total{
		Count: sum.Count, SumNS: sum.SumNS.Int64(), MemoryBytes: sum.known(), FLOPs: sum.FLOPs.Int64(),
	}
	total.PeakMemoryBytes = op.Int{V: p.PeakMemoryBytes, Known: total.MemoryBytes.Known}
	if copied := sum.CopiedBytes; copied != (wide.Sum{}) {
		total.CopiedBytes = op.Known(copied.Int64())
	}
	if sum.Work != nil {
		total.Figures = sum.Work.Figures(sum.FLOPs, false)
	}
	if p.States {
		total.StatedNS = op.Known(wide.AddSaturating(total.SumNS, p.StatedMore))
	}
	if p.First.Known {
		total.WallNS = op.Known(wide.Between(p.First.V, p.Last.V))
	}
	if estimates && sum.Weighted != nil {
		total.Estimate = sum.Weighted.estimate()
	}
	return total, estimates, saturated
}

// Whole returns the denominator of shares.
func (t *Total) Whole() int64 {
	if t.StatedNS.Known {
		return t.StatedNS.V
	}
	return t.SumNS
}

func (p *Profile) operationRows(totalNS int64, estimates bool) []Operation {
	rows := []Operation{}
	p.eachOperation(func(side int, name string, row *operationRow) {
		rows = append(rows, Operation{Operation: name, Stats: row.sideStats(side, totalNS, estimates)})
	})
	slices.SortFunc(rows, func(a, b Operation) int {
		return cmp.Or(
			cmp.Compare(b.SumNS, a.SumNS), strings.Compare(a.Operation, b.Operation), strings.Compare(a.Side, b.Side),
		)
	})
	return rows
}

func (p *Profile) groupRows(totalNS int64, estimates bool) []Group {
	if len(p.opts.By) == 0 {
		return nil
	}
	rows := []Group{}
	for side, t := range p.groups {
		for row, other := range t.All() {
			key := key.Group{Keys: p.opts.By, Values: row.Values, Other: other}
			rows = append(rows, Group{Key: key, Stats: row.sideStats(side, totalNS, estimates)})
		}
	}
	slices.SortFunc(rows, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.SumNS, a.SumNS), a.Key.Compare(b.Key), strings.Compare(a.Side, b.Side))
	})
	return rows
}

// sharedDevices returns the device names distinguished by service or host.
func (p *Profile) sharedDevices() device.Shared {
	var keys []device.Key
	for row, other := range p.devices.All() {
		if !other {
			keys = append(keys, row.Key)
		}
	}
	return device.FindShared(slices.Values(keys))
}

// deviceSums returns the sums of each device in random order.
func (p *Profile) deviceSums(shared device.Shared) []*deviceRow {
	var sums []*deviceRow
	byKey := make(map[device.Key]*deviceRow)
	for row, other := range p.devices.All() {
		if other {
			sum := *row
			sum.Key = device.Key{DeviceID: key.Other}
			sum.other = true
			sums = append(sums, &sum)
			continue
		}
		key := shared.Key(row.Key)
		if byKey[key] == nil {
			byKey[key] = &deviceRow{Key: key}
			sums = append(sums, byKey[key])
		}
		byKey[key].fold(row)
	}
	return sums
}

func deviceTable(sums []*deviceRow) []Device {
	rows := []Device{}
	for _, sum := range sums {
		key := sum.Key
		rows = append(rows, Device{
			DeviceID: key.DeviceID, Named: key.Named, Rank: key.Rank, Service: key.Service, Host: key.Host,
			Count: sum.Count, SumNS: sum.SumNS.Int64(), MemoryBytes: sum.known(),
		})
	}
	slices.SortFunc(rows, func(a, b Device) int {
		return cmp.Or(cmp.Compare(b.SumNS, a.SumNS), strings.Compare(a.DeviceID, b.DeviceID), a.Key().Compare(b.Key()))
	})
	return rows
}

// Key returns the device of the row.
func (d *Device) Key() device.Key {
	return device.Key{Rank: d.Rank, DeviceID: d.DeviceID, Named: d.Named, Service: d.Service, Host: d.Host}
}

// balanceOf returns the seed's figures over known devices. Device names include the rank if there are several ranks.
func balanceOf(sums []*deviceRow) *Balance {
	var devices []seed.Sum
	ranks := make(map[op.Int]struct{})
	for _, sum := range sums {
		if !sum.other {
			ranks[sum.Key.Rank] = struct{}{}
		}
	}
	for _, sum := range sums {
		if !sum.other && !sum.Key.IsNone() {
			devices = append(devices, seed.Sum{
				Name: sum.Key.Label(len(ranks) > 1), Count: sum.Count, NS: sum.SumNS.Int64(),
			})
		}
	}
	balance := seed.NewBalance(devices)
	if balance == nil {
		return nil
	}
	return &Balance{Balance: *balance}
}

func (p *Profile) bottlenecks(totalNS int64, minRatio float64) []seed.Bottleneck {
	var found []seed.Sum
	p.eachOperation(func(_ int, name string, row *operationRow) {
		if row.Communications > 0 {
			found = append(found, seed.Sum{Name: name, Count: row.Communications, NS: row.Communicated.Int64()})
		}
	})
	return seed.Bottlenecks(found, totalNS, minRatio)
}

func (p *Profile) overflowedGroups() int64 {
	n := p.devices.Overflowed() + p.errors.rows.Overflowed()
	for side := range p.operations {
		n += p.operations[side].Overflowed() + p.groups[side].Overflowed()
	}
	return n
}

// Sums are the figures of a [Profile].
type Sums struct {
	Total       Total
	Percentiles Percentiles
	Operations  []Operation
	Groups      []Group // nil without Options.By
	Devices     []Device
	LoadBalance *Balance // nil for fewer than two devices
	// Rules counts collectives by the rule used to recognise them. Bottlenecks has the operations with at least the
	// minimum share of the total, largest first.
	Rules       CommunicationRules
	Bottlenecks []seed.Bottleneck
	// Hotspots has the first of HotspotCount entries above ThresholdBytes.
	ThresholdBytes, HotspotCount int64
	Hotspots                     []*op.Entry
	Copies                       []Copy
	Slowest                      []*op.Entry
	Errors                       []Error
	// OverflowedGroups is the number of rows missing from all tables. Saturated counts rows of operations with a sum
	// beyond 64 bits. Shared counts device names of several devices.
	OverflowedGroups, Saturated, Shared int64
}

// Sums returns the figures of p. It may reorder the entries of p.
func (p *Profile) Sums() *Sums {
	p = p.settled()
	return p.SumsOf(p.sharedDevices())
}

// SumsOf is Sums with the given shared device names.
func (p *Profile) SumsOf(shared device.Shared) *Sums {
	p = p.settled()
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
