package text

import (
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

func (v *view) communication() {
	c := &v.r.Communication
	v.heading("COMMUNICATION")
	v.note(fmt.Sprintf("recognised by attribute %s, by library name %s, by a word in the name %s",
		units.Count(c.Rules.Attribute), units.Count(c.Rules.Library), units.Count(c.Rules.Name)))
	if len(c.Bottlenecks) > 0 {
		show(&v.page, "operation:n|calls|sum|of total|:t1", c.Bottlenecks, func(t *table, b *seed.Bottleneck) {
			t.add(b.Operation, units.Count(b.CallCount), micros(b.TotalDurationUS), units.Percent(b.RatioOfTotal),
				bar(b.RatioOfTotal))
		})
	} else if c.Rules != (profile.CommunicationRules{}) {
		v.note("no operation reaches -min-comm-ratio")
	}
	switch {
	case c.Collectives == nil: // not computed
	case len(c.Collectives) == 0:
		v.note("no collectives: " + v.whyNoCollectives())
	default:
		v.collectives(c.Collectives)
		v.stragglers(c.Collectives)
		v.waits(c.Collectives)
	}
}

func (v *view) whyNoCollectives() string {
	isHosts := func(o profile.Operation) bool {
		return o.Side == op.SideHost.String() && o.Kind == op.KindCollective.String()
	}
	if slices.ContainsFunc(v.r.Operations, isHosts) {
		return "only the host's view of communication is in the input"
	}
	return "no operation is of kind collective"
}

func (v *view) collectives(rows []collective.Row) {
	const columns = "collective:n|group:n6|count|inferred:8|single:7|repeats:9|transfer:1|wait|max skew:4" +
		"|algorithm:5|bus:3"
	show(&v.page, columns, rows, func(t *table, c *collective.Row) {
		t.add(c.Name, c.Group, units.Count(c.Count), nonZero(c.Inferred, units.Count), nonZero(c.Single, units.Count),
			nonZero(c.Repeats, units.Count), knownDuration(c.TransferNS), knownDuration(c.WaitNS),
			knownDuration(c.MaxStartSkewNS), knownFloat(c.AlgorithmBytesPerSecond, units.BytesPerSecond),
			knownFloat(c.BusBytesPerSecond, units.BytesPerSecond))
	})
	for _, n := range []struct {
		applies func(collective.Row) bool
		text    string
	}{
		{func(c collective.Row) bool { return c.TransferNS.Known },
			"transfer: the shortest duration among the devices; wait: what all devices took beyond it"},
		{func(c collective.Row) bool { return c.BusBytesPerSecond.Known },
			"algorithm: bytes by the transfer; bus: the part of them that each link carries, for any number of " +
				"devices"},
		{func(c collective.Row) bool { return c.Inferred > 0 },
			"inferred: without sequence numbers, so that the k-th of each device belong together"},
		{func(c collective.Row) bool { return c.Single > 0 },
			"single: seen on one device only, which tells neither transfer nor wait"},
		{func(c collective.Row) bool { return c.Repeats > 0 },
			"repeats: the sequence number had occurred before; the k-th of each device belong together"},
	} {
		if slices.ContainsFunc(rows, n.applies) {
			v.note(n.text)
		}
	}
}

const maxDeviceRows = 16

// stragglers lists the devices that kept others waiting, by collective.
func (v *view) stragglers(rows []collective.Row) {
	t := newTable("last to arrive:n|group:n2|device:n|times:1|others waited")
	left := 0
	for i := range rows {
		c := &rows[i]
		shown := c.Stragglers[:min(len(c.Stragglers), maxDeviceRows)]
		left += len(c.Stragglers) - len(shown)
		for _, s := range shown {
			t.add(c.Name, c.Group, s.Label(v.ranks), fmt.Sprintf("%s of %s", units.Count(s.Count),
				units.Count(c.Count-c.Single)), units.Duration(s.CausedWaitNS))
		}
	}
	v.first(t, v.Rows, left)
}

// waits lists the waiting time of devices: the first and the last ones of each collective.
func (v *view) waits(rows []collective.Row) {
	t := newTable("wait by device:n|group:n2|device:n|took part:1|waited")
	left := 0
	for i := range rows {
		c := &rows[i]
		shown := c.Waits
		if n := len(shown); n > maxDeviceRows {
			shown = slices.Concat(shown[:maxDeviceRows/2], shown[n-maxDeviceRows/2:])
		}
		left += len(c.Waits) - len(shown)
		for _, w := range shown {
			t.add(c.Name, c.Group, w.Label(v.ranks), units.Count(w.Count), units.Duration(w.WaitNS))
		}
	}
	v.first(t, v.Rows, left)
}
