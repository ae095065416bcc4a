package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// launches shows the time of operations between launch and start.
func (v *view) launches() {
	l := v.r.Launches
	if v.r.IdleCauses == nil || l == nil && v.Show == nil {
		return
	}
	if v.empty("LAUNCHES", l == nil, "no launch on a device is known") {
		return
	}
	v.table(v.launchesTable(l.Streams))
	v.note("overhead: from the launch to the start where nothing else held it back; waiting: that of all; " +
		"deepest: the most that waited at once")
	v.launchesWithout(l)
	v.queues(l)
	if l.Early > 0 {
		v.note(fmt.Sprintf("%s started before the launch, by up to %s: the clocks of host and device differ",
			units.Plural(l.Early, "operation"), units.Duration(l.EarlyMaxNS)))
	}
	if l.EnqueueNS > 0 {
		v.note("the host took " + units.Duration(l.EnqueueNS) + " for operations that launch others")
	}
	if p := l.Path; p != nil {
		bound := append([]string{boundBy(&p.BoundBy, p.DurationNS)},
			parts(p.DurationNS, []namedTime{{"launches", p.LaunchNS}, {"queues", p.QueueNS}})...)
		v.note("critical path across host and devices: " + units.Duration(p.DurationNS) + ", bound by " +
			strings.Join(bound, ", "))
	}
}

func (v *view) launchesTable(streams []launch.Stream) *table {
	t := newTable("stream of:n|stream|launches:2|overhead|median:3|waiting|deepest:1|idle: host:4|dependency:5" +
		"|queue:6|other:7")
	for i := range streams {
		s := &streams[i]
		t.add(s.Label(v.ranks), ifKnown(s.Stream, decimal), units.Count(s.Count), units.Duration(s.Overhead.SumNS),
			ifKnown(s.Overhead.MedianNS, units.Duration), units.Duration(s.WaitingNS), units.Count(s.MaxDepth),
			units.Duration(s.Idle.Host.SumNS), units.Duration(s.Idle.Dependency.SumNS),
			units.Duration(s.Idle.Queue.SumNS), units.Duration(s.Idle.Other.SumNS))
	}
	return t
}

func (v *view) launchesWithout(l *launch.Launches) {
	w := v.r.WithoutSuspects
	if w == nil {
		return
	}
	type key struct {
		device.Key
		stream op.Int
	}
	keyOf := func(s *launch.Stream) key { return key{s.Key, s.Stream} }
	left := byKey(cmp.Or(w.Launches, &launch.Launches{}).Streams, keyOf)
	var changed []launch.Stream
	for i := range l.Streams {
		with := &l.Streams[i]
		s := cmp.Or(left[keyOf(with)], &launch.Stream{Key: with.Key, Stream: with.Stream})
		if s.Count != with.Count || s.Overhead != with.Overhead || s.WaitingNS != with.WaitingNS ||
			s.MaxDepth != with.MaxDepth || s.Idle != with.Idle {
			changed = append(changed, *s)
		}
	}
	v.tableWithout(v.launchesTable(changed))
}

func (v *view) queues(l *launch.Launches) {
	if l.WidthNS <= 0 {
		return
	}
	deepest := int64(1)
	buckets := 0
	for i := range l.Streams {
		deepest = max(deepest, l.Streams[i].MaxDepth)
		buckets = max(buckets, len(l.Streams[i].Depth))
	}
	together := v.together(buckets, leastName+gap+len("stream"))
	columns := fmt.Sprintf("stream of:n|stream|waiting over time, %s a column, up to %s:t",
		units.Duration(l.WidthNS*int64(together)), units.Count(deepest))
	show(&v.page, columns, l.Streams, func(t *table, s *launch.Stream) {
		t.add(s.Label(v.ranks), ifKnown(s.Stream, decimal), strip(s.Depth, deepest, together))
	})
}

func (v *view) idle() {
	causes := v.r.IdleCauses
	if causes == nil {
		return
	}
	if v.empty("IDLE", len(causes.Devices) == 0, "no gaps: "+v.whyNoGaps()) {
		return
	}
	const columns = "device:n|host|gaps:1|queue|gaps:1|other|gaps:1|no request|gaps:1"
	show(&v.page, columns, causes.Devices, func(t *table, d *timeline.IdleDevice) {
		t.add(d.Label(v.ranks), units.Duration(d.Host.SumNS), units.Count(d.Host.Count), units.Duration(d.Queue.SumNS),
			units.Count(d.Queue.Count), units.Duration(d.Other.SumNS), units.Count(d.Other.Count),
			nonZero(d.NoRequest.SumNS, units.Duration), nonZero(d.NoRequest.Count, units.Count))
	})
	v.note("host: the next operation was launched after the gap began; queue: it was waiting, for less than " +
		units.Duration(causes.ThresholdNS) + "; other: anything else, or no launch is known")
	v.idlePlaces(v.r.IdlePlaces)
	if len(v.r.Idle) == 0 {
		return
	}
	show(&v.page, "longest on:n|duration|cause:t|after:n1|before:n2", v.r.Idle, func(t *table, g *timeline.IdleGap) {
		t.add(g.Label(v.ranks), units.Duration(g.DurationNS), string(g.Cause), g.After, g.Before)
	})
}

// idlePlaces shows idle time by the work around it, and the host's activity meanwhile.
func (v *view) idlePlaces(places []timeline.Place) {
	if len(places) == 0 {
		return
	}
	const columns = "idle after:n|until:n|gaps|sum|each:2|longest:3|unrecorded|host meanwhile:n1"
	show(&v.page, columns, places, func(t *table, p *timeline.Place) {
		host, most := "", int64(0)
		for _, name := range slices.Sorted(maps.Keys(p.HostNS)) {
			if ns := p.HostNS[name]; ns > most {
				most = ns
				host = units.Duration(ns) + " " + name
			}
		}
		t.add(p.After, p.Until, units.Count(p.Count), units.Duration(p.SumNS),
			units.DurationFloat(float64(p.SumNS)/float64(p.Count)), units.Duration(p.MaxNS),
			nonZero(p.UntracedNS, units.Duration), host)
	})
	v.note("after, until: the operator that launched the work, or the call that waited for the device; unrecorded: the " +
		"host recorded no operation, span or call meanwhile; host meanwhile: its longest activity")
}

func (v *view) whyNoGaps() string {
	text := "every device was busy from its first operation to its last"
	switch {
	case v.r.Total.Count == 0:
		return v.whyNothingRan()
	case !v.r.Total.WallNS.Known:
		return "no operation has a start time"
	case v.r.WithoutSuspects != nil:
		text += ", suspect times included"
	}
	return text
}
