package findings

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/optrace/optrace/analyze/findings/internal/enginetext"
	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/findings/internal/layers"
	"github.com/optrace/optrace/analyze/findings/internal/stepload"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Of returns the findings, the most important first.
func Of(f *Facts) []Finding {
	l := &list{Facts: *f, replays: make(chan struct{}, 2), hostCalls: make(map[string]int64)}
	l.Extent = cmp.Or(l.Extent, new(timeline.Extent))
	l.IdleCauses = cmp.Or(l.IdleCauses, new(timeline.IdleCauses))
	l.Operators = cmp.Or(l.Operators, new(operators.Operators))
	l.Launches = cmp.Or(l.Launches, new(launch.Launches))
	l.Coverage = cmp.Or(l.Coverage, new(launch.Coverage))
	for i := range l.Operations {
		if o := &l.Operations[i]; o.Side == op.SideHost.String() {
			l.hostCalls[o.Operation] = o.Count
		}
	}
	l.once = once{
		pauses:          sync.OnceValue(l.findPauses),
		engineHost:      sync.OnceValue(l.findEngineHost),
		unevenDevices:   sync.OnceValue(l.findUnevenDevices),
		elementwise:     sync.OnceValue(l.findElementwise),
		takingTurns:     sync.OnceValue(l.findTurns),
		starts:          sync.OnceValue(l.findStarts),
		launched:        sync.OnceValue(l.launchedNS),
		transfers:       sync.OnceValue(l.findTransfers),
		mostWork:        sync.OnceValue(l.findMostWork),
		equals:          sync.OnceValue(func() []replay.Replica { return l.Replay().Replicas() }),
		betweenServices: sync.OnceValue(func() []executions.Calls { return executions.BetweenServices(l.Forest) }),
		slowLayers:      sync.OnceValue(func() []layers.Layer { return layers.Slower(l.Operations, l.Forest) }),
	}
	l.devicesNum = max(1, int64(len(l.Extent.Devices)))
	l.coverage()
	l.input()
	switch {
	case f.Input.Entries > 0:
		l.run()
	case len(f.Engines) > 0:
		l.first = append(l.first, engineFindings(f.Engines, true)...)
		if l.divide(); l.isOfServices() && len(enginetext.Spans(l.PathOperations, l.whole)) > 1 { // other spans, too
			l.first = append(l.first, l.bound())
		}
	case l.isOfServices():
		l.run()
	default:
		l.all = append(l.all, emptyInput(&f.Input))
	}
	found := append(l.first, l.all...)
	for i := range found {
		found[i].Rule = cmp.Or(found[i].Rule, string(found[i].Kind))
		if w := &found[i].Where; w.Section != "" {
			w.Command = "optrace report -section " + w.Section
		}
	}
	return found
}

// coverage adds the findings on missing work and on clocks, before all others.
func (l *list) coverage() {
	where := Where{Command: "optrace doctor"}
	if text := l.Coverage.Text(); text != "" {
		f := says(Lost, where, "%s", text)
		f.Rule = "coverage"
		l.first = append(l.first, f)
		if l.Coverage.Doubtful() {
			l.unknown = "work is missing"
		}
	}
	if c := l.Clocks; c != nil {
		f := says(Suspect, where, "%s. Try optrace report -align-clocks.", c.Text())
		f.Rule = "clocks"
		f.Where.Rank = op.Known(c.Rank)
		l.first = append(l.first, f)
		l.Lateness = nil
		l.unknown = cmp.Or(l.unknown, "clocks of ranks differ")
	}
}

// outside adds the finding on operations with a long, unexplained wait between launch and start.
func (l *list) outside() {
	const much = 0.2
	if l.Replay == nil {
		return
	}
	ns, share := l.Replay().Unexplained(much)
	if share == 0 {
		return
	}
	f := says(Lost, Where{Section: "launches"}, "Operations wait %s (%s) on the device without a recorded reason. Work queued "+
		"before the recording, or left out of it, may run then: it is no idle time to win.",
		units.Duration(ns), units.Percent(share))
	f.Rule = "outside"
	l.outsideNS = ns
	f.Evidence = []Evidence{lasts("waits without a reason", ns)}
	l.first = append(l.first, f)
}

// withoutTimes adds the findings independent of times between operations.
func (l *list) withoutTimes() {
	by := &l.by
	most := slices.MaxFunc([]boundPart{
		{"compute", by.ComputeNS}, {"communication", by.CommunicationNS}, {"memory", by.MemoryNS},
		{"other operations", by.OtherNS},
	}, func(a, b boundPart) int { return cmp.Compare(a.ns, b.ns) })
	text := "The bound is not known, because " + l.unknown
	if all := l.whole * l.devicesNum; all > 0 && 2*most.ns >= all {
		text = fmt.Sprintf("The bound is %s: at least %s of %s; the rest is not known, because %s", most.name,
			units.Percent(float64(most.ns)/float64(all)), l.wholeText(), l.unknown)
	} else if l.Total.Count > 0 {
		text += ": " + units.Plural(l.Total.Count, "operation") + " took " + units.Duration(l.Total.SumNS) + " in all"
	}
	text += "."
	if l.Total.Count == 0 { // the host's part is known
		text += l.mostlyIn(by.HostNS)
	}
	l.first = append(l.first, says(Bound, Where{Section: "devices"}, "%s", text))
	l.all = append(l.all, engineFindings(l.Engines, false)...)
	l.first = append(l.first, l.failed...)
	l.sort()
}

func (l *list) run() {
	l.name()
	l.failedRequests()
	first := stepload.LikeFirst(l.Forest, l.Steps, l.First)
	if l.First = nil; first != nil && (first.ToNextNS.V >= 2*first.MedianNS || len(l.findStarts().names) > 0) { // or slow calls
		l.First = first
	}
	l.divide()
	if l.unknown != "" {
		l.withoutTimes()
		return
	}
	l.blame()
	l.outside()
	l.first = append(l.first, l.bound())
	l.changes()
	explains := func(f Finding) bool { return f.Kind == SlowRequest || l.byRequest && f.Kind == FirstStep }
	if !slices.ContainsFunc(l.all, explains) { // otherwise of the same time
		l.all = append(l.all, engineFindings(l.Engines, false)...)
	}
	l.first = append(l.first, l.failed...)
	l.sort()
}

func (l *list) sort() {
	slices.SortStableFunc(l.all, func(a, b Finding) int {
		return cmp.Or(
			order.Ints(b.SavedNS, a.SavedNS), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		)
	})
}

// name finds short, distinct names of all operations for text.
func (l *list) name() {
	var names []string
	for i := range l.Operations {
		names = append(names, l.Operations[i].Operation)
	}
	l.names = make(map[string]string)
	for i, name := range requests.NamesInText(names) {
		l.names[names[i]] = name
	}
}
