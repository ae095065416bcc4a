package findings

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/parallel"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/op"
)

// rule finds changes of one kind. docs/analyses.md has its definition, docs/advice.md the sources of its advice.
type rule struct {
	name string
	kind Kind
	// find returns candidates. It tests the evidence for and against each.
	find func(l *list) []candidate
}

// rules are tried in this order.
var rules = []rule{
	{"straggler", Straggler, func(l *list) []candidate { return l.unevenDevices() }},
	{"straggler", Straggler, (*list).replicas},
	{"straggler", Straggler, (*list).lastToAnswer},
	{"input_wait", HostGap, (*list).loaders},
	{"pageable_copy", Copies, (*list).slowCopies},
	{"migrations", Copies, (*list).migrations},
	{"allocator", HostGap, (*list).allocator},
	{"device_wait", HostGap, (*list).waits},
	{"pauses", HostGap, func(l *list) []candidate { return l.pauses() }},
	{"warm_up", FirstStep, (*list).firstStep},
	{"warm_up", FirstStep, (*list).startUp},
	{"warm_up", FirstStep, (*list).firstCalls},
	{"launch_bound", Launch, (*list).launchBound},
	{"small_operations", SmallOperations, (*list).shortOperations},
	{"exposed_communication", Operation, (*list).communication},
	{"tensor_cores", Operation, (*list).tensorCores},
	{"few_threads", Operation, (*list).fewThreads},
	{"unlike", Operation, (*list).unlike},
	{"uneven_calls", Operation, (*list).unevenCalls},
	{"elementwise", SmallOperations, func(l *list) []candidate { return l.elementwise() }},
	{"conversions", Operation, (*list).conversions},
	{"roofline", Roofline, (*list).rooflines},
	{"stalled_batch", SlowRequest, (*list).stalled},
	{"queue", SlowRequest, (*list).queues},
	{"queue", SlowRequest, func(l *list) []candidate { return l.takingTurns() }},
	{"slow_request", SlowRequest, (*list).slowRequests},
	{"network", HostGap, (*list).network},
	{"before_operations", HostGap, (*list).before},
	{"before_operations", HostGap, (*list).outsideCalls},
	{"after_operations", HostGap, (*list).after},
	{"engine_host", HostGap, func(l *list) []candidate { return l.engineHost() }},
}

// besideEngines has the rules whose changes leave what engines do.
var besideEngines = []string{"before_operations", "network", "after_operations"}

// maxReplayed bounds the replayed candidates, maxChanges the changes of one of them, and half of those of one replay.
const (
	maxReplayed = 16
	maxChanges  = 8
)

// changes adds the changes worth making, by their gain. A change that adds less than half of its gain to the ones
// before saves the same time and is left out.
func (l *list) changes() {
	found := make([][]candidate, len(rules))
	longest := slices.IndexFunc(rules, func(r rule) bool { return r.name == "elementwise" }) // it replays: it starts first
	parallel.Each(len(rules), func(i int) {
		i = (i + longest) % len(rules)
		found[i] = rules[i].find(l)
	})
	var all []candidate
	for i, r := range rules {
		for _, c := range found[i] {
			c.Kind = cmp.Or(c.Kind, r.kind)
			c.Rule = cmp.Or(c.Rule, r.name)
			c.Advice = "docs/advice.md#" + c.Rule
			if most, known := l.most(c.changes); known && c.most == 0 {
				if c.most = most; most == 0 {
					continue
				}
			}
			if l.enough(cmp.Or(c.most, math.MaxInt64)) {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Compare(cmp.Or(b.most, math.MaxInt64), cmp.Or(a.most, math.MaxInt64))
	})
	all = all[:min(len(all), maxReplayed)]
	replayed := make([]bool, len(all))
	parallel.Each(len(all), func(i int) {
		replayed[i] = all[i].saving != (replay.Saving{}) || l.replay(&all[i].saving, all[i].changes)
	})
	worth := all[:0]
	var behind []candidate
	for i, c := range all {
		switch {
		case !replayed[i]:
		case l.enough(c.saving.NS):
			worth = append(worth, c)
		case len(c.behind) > 0 && !c.isEffect:
			c.changes, c.atMost = c.behind, true
			behind = append(behind, c)
		}
	}
	all = worth
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(order.Flags(a.isEffect, b.isEffect), order.Flags(a.isGeneral, b.isGeneral),
			cmp.Compare(b.saving.NS, a.saving.NS))
	})
	if slices.ContainsFunc(all, func(c candidate) bool { return c.Kind == Launch || c.Kind == SmallOperations }) {
		all = append(all, behind...)
	}
	const small = 4
	var kept []replay.Change
	together, ofEngine := int64(0), false // has changes of what engines do
	for i := range all {
		c := &all[i]
		explained := c.isEffect && !all[0].isEffect && (c.changes == nil || small*together > c.saving.NS)
		if explained && (!c.stands || c.Rule == "queue" && ofEngine) {
			continue
		}
		if len(c.changes) == 0 {
			l.claim(c)
			continue
		}
		joint := c.saving
		if len(kept) > 0 && !l.replay(&joint, append(slices.Clone(kept), c.changes...)) {
			continue
		}
		more := joint.NS - together
		if explained && small*more < (small-1)*c.saving.NS {
			continue
		}
		switch s := &c.saving; {
		case i >= len(worth):
			if *s = (replay.Saving{Known: s.Known}); 20*more >= c.exposed {
				s.NS = c.exposed
				more = s.NS
			}
		case c.isGeneral && len(kept) > 0:
			s.LowNS, s.HighNS = max(0, s.LowNS-s.NS+more), max(more, s.HighNS-s.NS+more)
			s.NS = more
		}
		if 2*more < c.saving.NS || !l.enough(c.saving.NS+c.beside) {
			continue
		}
		ofEngine = ofEngine || !slices.Contains(besideEngines, c.Rule)
		kept = append(kept, c.changes...)
		together = joint.NS
		if l.claim(c); len(kept) >= 2*maxChanges {
			break
		}
	}
}

// claim adds the finding of a candidate.
func (l *list) claim(c *candidate) {
	f := c.Finding
	if c.limit > 0 {
		c.saving.NS, c.saving.HighNS = min(c.saving.NS, c.limit), min(c.saving.HighNS, c.limit)
	}
	c.saving.NS += c.beside
	c.saving.HighNS += c.beside
	f.OfNS = op.Known(l.whole)
	if len(c.changes) > 0 && !c.saving.Known {
		l.all = append(l.all, f) // too much of the time is unexplained
		return
	}
	f.SavedNS = op.Known(min(c.saving.NS, l.whole))
	const part = 20 // of a gain, by which the estimate of its size may be wrong
	estimated := c.saving.NS / part
	low := max(0, c.saving.LowNS-estimated)
	if c.atMost {
		low, estimated = 0, 0
	}
	high := min(l.whole, max(c.saving.HighNS, c.saving.NS)+estimated)
	if len(c.changes) > 0 || c.saving.HighNS > 0 {
		f.SavedLowNS, f.SavedHighNS = op.Known(low), op.Known(high)
	}
	l.all = append(l.all, f)
}
