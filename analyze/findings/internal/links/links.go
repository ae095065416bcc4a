// Package links compares the rates of collectives with those of the links between devices.
package links

import (
	"strings"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/trace"
)

const (
	// Slow is the least part of a link's rate in a transfer bound by the link.
	Slow = 0.5
	// Usual is the part that real ones reach.
	Usual = 0.8
	// Bucket is the size of the buckets of PyTorch's DistributedDataParallel by default.
	Bucket = 25 << 20
	// latency is the time of a small collective within a node, whatever the rate of its links, in seconds.
	latency = 15e-6
)

// Use is the use of links by collectives.
type Use struct {
	// Rate is the rate in bytes a second at which collectives use a link, Peak the link's own by the data sheet of the
	// devices, the least one; 0 if unknown. Between nodes, by their hosts or with more than eight devices, both are.
	Rate, Peak float64
	count      float64
	seconds    float64
}

// Of returns the use of links by collectives on so many devices of so many hosts.
func Of(rows []collective.Row, devices []peaks.Device, n int64, hosts int) (u Use) {
	const ofNode = 8
	bytes := 0.0
	isKnown := n <= ofNode && hosts <= 1
	for i := range rows {
		row := &rows[i]
		isKnown = isKnown && (row.TransferNS.V <= 0 || row.BusBytesPerSecond.Known)
		u.count += float64(row.Count - row.Single)
		u.seconds += float64(row.TransferNS.V) / 1e9
		bytes += float64(row.TransferNS.V) / 1e9 * row.BusBytesPerSecond.V
	}
	if isKnown {
		u.Rate = bytes / max(1e-9, u.seconds)
		u.Peak = Peak(devices)
	}
	return u
}

// Hosts returns the number of hosts with ranks, 0 if unknown. f may be nil.
func Hosts(f *trace.Forest) int {
	hosts := make(map[string]bool)
	if f != nil {
		for _, lane := range f.Names.Lanes.Values {
			if lane.Device.Rank.Known && lane.Node != "" {
				hosts[lane.Node] = true
			}
		}
	}
	return len(hosts)
}

// Peak returns the rate of the devices' links by their data sheets, the least one, 0 if unknown.
func Peak(devices []peaks.Device) (rate float64) {
	for i := range devices {
		if of := devices[i].LinkBytesPerSecond; i == 0 || of < rate {
			rate = of
		}
	}
	return rate
}

// IsSlow reports whether transfers take much longer than their bytes at the rate of the link.
func (u *Use) IsSlow() bool { return u.Rate > 0 && u.Rate < Slow*u.Peak }

// Factor returns the part of the time of all transfers that is left at a share of the link's rate, in a part of as many
// collectives: each has its latency, and the rest is bytes.
func (u *Use) Factor(share, part float64) float64 {
	return min(1, part*min(1, u.count*latency/max(1e-9, u.seconds))+u.Rate/(share*u.Peak))
}

// StayExposed returns how many collectives of a step nothing hides: the last reduction, and the first gather of each pass.
// Weights are gathered in one or both passes, and their gradients are scattered in one. counts has the calls of each name.
func StayExposed(counts map[string]int64) int64 {
	var gathers, scatters int64
	for name, n := range counts {
		switch name := strings.ToLower(name); {
		case strings.Contains(name, "gather"):
			gathers += n
		case strings.Contains(name, "scatter"):
			scatters += n
		}
	}
	if gathers == 0 || scatters == 0 {
		return 1
	}
	return 1 + min(2, max(1, (gathers+scatters/2)/scatters))
}
