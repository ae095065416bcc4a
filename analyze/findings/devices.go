package findings

import (
	"fmt"
	"strconv"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/findings/internal/lateness"
	"github.com/optrace/optrace/analyze/findings/internal/uneven"
	"github.com/optrace/optrace/analyze/internal/alike"
	"github.com/optrace/optrace/analyze/internal/chance"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// blamed is the device with the largest delay of the others in the collectives of a group.
type blamed struct {
	*collective.Lateness
	device int
	// ns is how much sooner the others would have continued, p the probability of such a delay by chance.
	ns int64
	p  float64
}

// stragglers finds a device last at collectives, or one with more or slower work than its like.
func (l *list) stragglers() (all []candidate) {
	most := l.mostWork()
	if late := l.late; late != nil {
		key := late.Devices[late.device]
		f := says(Straggler, whereDevice("communication", key),
			"%s comes last to %s, and the other devices wait for it, chance %s.",
			l.label(key), l.named(late.Name), chance.Text(late.p))
		f.Where.Operation = late.Name
		f.Chance = op.KnownFloat(late.p)
		f.Evidence = []Evidence{about("device", key.Label(true)), lasts("others wait", late.ns), figure("chance", late.p, "ratio")}
		f.Try = "look at its host: input, other processes, pauses"
		c := candidate{Finding: f}
		switch {
		case most != nil && most.Key == key:
			c.changes = l.evenOut(most, &c.Finding)
		case key.Rank.Known: // without its host's time, the others bind
			c.changes = []replay.Change{{Kind: replay.Host, Select: "rank=" + key.Rank.String()}}
			c.atMost = true
			c.isGeneral = !lateness.InMostSteps(late.BlockNS, late.device, l.rounds()) // pauses or slow input are more specific
		default:
			c.saving = replay.Saving{NS: late.ns, LowNS: late.ns / 2, HighNS: 2 * late.ns}
		}
		all = append(all, c)
		if most != nil && most.Key == key {
			return all
		}
	}
	if most != nil && most.P <= maxChance { // another one may be late for the wait of a step, such as a pipeline's last
		f := says(Straggler, whereDevice("balance", most.Key), "%s works %s longer than the mean of %s, chance %s.",
			l.label(most.Key), l.part(most.NS), units.Plural(int64(len(l.Extent.Devices)), "device"), chance.Text(most.P))
		f.Chance = op.KnownFloat(most.P)
		f.Evidence = []Evidence{about("device", most.Label(true)), figure("chance", most.P, "ratio")}
		c := candidate{Finding: f}
		c.changes = l.evenOut(most, &c.Finding)
		if l.isPipeline() { // the other stages wait for it: a replay does not know for which sends
			c.changes = nil
			c.atMost = true
			more := most.NS * l.devicesNum / max(1, l.devicesNum-1) // than the others
			c.saving = replay.Saving{NS: more, HighNS: more}
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return l.turns()
	}
	return all
}

// turns finds devices that wait for each other because now one and now another has more work, as with tokens of experts.
func (l *list) turns() []candidate {
	const much = 20 // of the whole: less is noise
	if len(l.Lateness) == 0 || much*l.Lateness[0].WaitNS < l.whole*l.devicesNum {
		return nil
	}
	f := says(Imbalance, Where{Section: "balance"}, "Devices wait %s for each other: now one and now another works longer.",
		l.part(l.Lateness[0].WaitNS/l.devicesNum))
	f.Rule = "imbalance"
	f.Evidence = []Evidence{lasts("waits", l.Lateness[0].WaitNS/l.devicesNum)}
	f.Try = "divide the work of each call evenly: tokens of experts, lengths of sequences"
	c := candidate{Finding: f, changes: change(replay.Balance, "kind=compute")}
	if !l.replay(&c.saving, c.changes) || much*c.saving.NS < l.whole {
		return nil
	}
	return []candidate{c}
}

// isPipeline reports whether the devices are stages of a pipeline and share the microbatches of a step.
func (l *list) isPipeline() bool { return l.Forest != nil && steps.PipelineOf(l.Forest) != nil }

// evenOut adds to f what the device does, and returns the change that ends it: the mean work on each device, or the
// speed of the others.
func (l *list) evenOut(u *uneven.Device, f *Finding) []replay.Change {
	text := "Its operations take %s times as long as those of the others for %s times the %s."
	args := []any{ratio(u.Time), ratio(u.Work), u.Of}
	if u.HasMore() {
		text = "It has %s times the %s of the others."
		args = args[1:]
	}
	f.Text += " " + fmt.Sprintf(text, args...)
	f.Evidence = append(f.Evidence, figure("times the time of the others", u.Time, "ratio"))
	if u.HasMore() {
		f.Kind = Imbalance
		f.Rule = "imbalance"
		f.Try = "divide the work evenly: tokens, experts, shards, layers"
		return change(replay.Balance, "kind=compute")
	}
	if u.Graded {
		f.Try = "divide the work evenly, and compare the devices' clocks and links"
		return change(replay.Balance, "kind=compute")
	}
	f.Try = "compare its clocks, temperature and neighbours with those of the others"
	if u.Counted {
		f.Try = "compare its share of tokens, which was not recorded, its clocks and its temperature with other devices"
	}
	selection := "kind=compute," + selectsOn(u.Key)
	if u.Rank.Known {
		selection = "kind=compute,rank=" + u.Rank.String()
	}
	return []replay.Change{{Kind: replay.Scale, Select: selection, Factor: l.speed(u)}}
}

// speed returns the factor of a device's computing time at which its operations in all take as long as those of the
// others, for its work. Copies and other operations stay as they are.
func (l *list) speed(u *uneven.Device) float64 {
	factor := max(1, u.Work) / u.Time
	var all int64
	for _, ns := range u.BlockNS {
		all += ns
	}
	for i := range l.Devices {
		if d := &l.Devices[i]; d.Key() == u.Key && d.ComputeNS.V > 0 {
			return max(0, 1-float64(all)*(1-factor)/float64(max(d.ComputeNS.V, all/2)))
		}
	}
	return factor
}

// blame finds the device that holds up a group of collectives most. Without one, spread describes the waiting.
func (l *list) blame() {
	for i := range l.Lateness {
		g := &l.Lateness[i]
		d, p := chance.Largest(g.BlockNS)
		p = min(1, p*float64(len(l.Lateness)))
		if i == 0 && g.WaitNS > 0 {
			l.spread = fmt.Sprintf(" Devices waited %s for each other in collectives, in sum, and no single one "+
				"holds up the others by more than chance (p = %s).", units.Duration(g.WaitNS), chance.Text(p))
		}
		var own, all int64
		for _, b := range g.BlockNS {
			own += b[d]
			for _, v := range b {
				all += v
			}
		}
		excess := own - (all-own)/int64(max(1, len(g.Devices)-1))
		if p <= maxChance && excess > 0 && (l.late == nil || excess > l.late.ns) {
			l.late = &blamed{g, d, excess, p}
		}
	}
	if l.late != nil {
		l.spread = ""
	}
}

// findMostWork returns the device with more work than the others, nil without one or if kinds differ.
func (l *list) findMostWork() *uneven.Device {
	isPipeline := l.byRequest && l.Replay != nil && l.Replay().Stages() > 0 // all stages have the same load
	if l.byRequest && !isPipeline && (executions.Services(l.Forest) > 1 || l.Replay != nil && len(l.equals()) > 0) {
		return nil
	}
	u := uneven.Most(l.Extent.Devices)
	if u == nil || l.Forest != nil && !alike.IsDevice(l.Forest, u.Key) {
		return nil
	}
	return u
}

func (l *list) busyNS() (ns int64) {
	for i := range l.Devices {
		ns += l.Devices[i].BusyNS.V
	}
	return ns
}

func ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
