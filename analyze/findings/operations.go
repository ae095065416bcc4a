package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// maxOperations bounds the findings on device operations, and separately the findings on host operations.
const maxOperations = 5

// operations finds operations that make the run longer: by drag on paths, else by a replay without them.
func (l *list) operations() {
	var all []saving
	add := func(name, kind string, ns int64, format string, args ...any) {
		all = append(all, saving{name, kind, fmt.Sprintf(format, args...), ns})
	}
	if l.byRequest {
		rows := slices.DeleteFunc(slices.Clone(l.PathOperations), func(o path.Operation) bool {
			return o.Kind == path.KindHost || o.Kind == path.KindIdle || !o.DragNS.Known
		})
		slices.SortStableFunc(rows, func(a, b path.Operation) int { return cmp.Compare(b.DragNS.V, a.DragNS.V) })
		for _, o := range rows {
			add(o.Operation, o.Kind, o.DragNS.V, "Without %s the %s would be %s shorter; it is %s of %s.",
				l.named(o.Operation), l.number("request", "requests"), l.part(o.DragNS.V), units.Percent(o.Share),
				l.number("its path", "their paths"))
		}
		l.savings(all)
		return
	}
	if l.Gain == nil {
		return
	}
	for _, o := range l.largest() {
		ns := l.Gain(o.Operation)
		add(o.Operation, o.Kind, ns, "Without %s the run would be %s shorter.", l.named(o.Operation), l.part(ns))
	}
	slices.SortStableFunc(all, func(a, b saving) int { return cmp.Compare(b.ns, a.ns) })
	l.savings(all)
}

// maxReplayed bounds the operations that are replayed.
const maxReplayed = 8

// largest returns the operations of devices that ran for minShare of the run at least, the longest first.
func (l *list) largest() []profile.Operation {
	rows := slices.DeleteFunc(slices.Clone(l.Operations), func(o profile.Operation) bool {
		return o.Side == op.SideHost.String() || float64(o.SumNS) < minShare*float64(l.whole)
	})
	slices.SortStableFunc(rows, func(a, b profile.Operation) int { return cmp.Compare(b.SumNS, a.SumNS) })
	return rows[:min(len(rows), maxReplayed)]
}

// saving is a device operation with the time that the run would save without it.
type saving struct {
	name, kind, text string
	ns               int64
}

// alike is the least number of operations with similar savings that share one finding.
const alike = 3

// savings adds findings on operations, the largest first. Savings within a tenth share a finding.
func (l *list) savings(all []saving) {
	for n := 0; len(all) > 0 && n < maxOperations; n++ {
		first := all[0]
		same := 1
		for same < len(all) && all[same].kind == first.kind && 10*all[same].ns >= 9*first.ns {
			same++
		}
		f := Finding{Kind: Operation, Text: first.text, Where: Where{Section: "operations", Operation: first.name}}
		switch first.kind {
		case op.KindMemory.String():
			f.Kind = Copies
			f.Text += l.copyText(first.name)
			f.Where.Section = "memory"
		case op.KindCollective.String():
			f.Text += l.spread
		}
		if same < alike {
			same = 1
		} else {
			f.Text += fmt.Sprintf(" The same, within a tenth, holds for each of %s.",
				units.Plural(int64(same-1), "other operation"))
		}
		l.add(f, first.ns)
		all = all[same:]
	}
}

func (l *list) each(what string) string {
	if l.devicesNum > 1 {
		return what + " on a device on average"
	}
	return what + " on the device"
}

// copyText describes the copies of an operation's direction, "" if it is no copy.
func (l *list) copyText(name string) string {
	name = strings.ToLower(name)
	for _, c := range l.Copies {
		if c.Direction != "" && strings.Contains(name, strings.ToLower(c.Direction)) && c.BytesPerSecond.Known {
			return fmt.Sprintf(" %s copied %s at %s.",
				units.Plural(c.Count, "call"), units.Bytes(c.MemoryBytes.V), units.BytesPerSecond(c.BytesPerSecond.V))
		}
	}
	return ""
}

func (l *list) hostTimes() {
	if l.byRequest {
		l.hostOnPaths()
		return
	}
	n := 0
	for _, h := range l.Extent.Host {
		if l.inFirst(h.Longest) {
			continue
		}
		ns := h.TimeNS / l.devicesNum
		name := l.named(h.Operation)
		f := Finding{Kind: HostGap, Where: whereGap(h.Longest, h.Operation)}
		switch {
		case len(l.Extent.Devices) == 0:
			f.Kind = Operation
			f.Where = Where{Section: "operations", Operation: h.Operation}
			f.Text = fmt.Sprintf("The host ran %s for %s.", name, l.part(ns))
		case 10*h.FirstNS >= 9*h.TimeNS && l.hostCalls(h) >= 2: // the first call started a library or a device
			f.Kind = FirstStep
			f.Text = fmt.Sprintf(
				"The first of %s of %s took %s on the host, in which %s: start-up that later calls do not have.",
				units.Plural(l.hostCalls(h), "call"), name, l.part(ns), l.each("nothing ran"))
		case 2*h.Longest.HostNS*l.devicesNum >= h.TimeNS || !h.IsOp:
			f.Text = fmt.Sprintf("%s while the host ran %s for %s; the longest such time is %s.",
				l.each("Nothing ran"), name, l.part(ns), l.gapText(h.Longest, h.Longest.HostNS))
		default:
			f.Kind = Operation
			f.Text = fmt.Sprintf("On the host %s took %s in which %s.", name, l.part(ns), l.each("nothing ran"))
		}
		if n++; n <= maxOperations {
			l.add(f, ns)
		}
	}
	l.unexplained()
}

// hostCalls returns the number of host calls of an operation, 0 if unknown.
func (l *list) hostCalls(h timeline.HostTime) int64 {
	for i := range l.Operations {
		if o := &l.Operations[i]; h.IsOp && o.Operation == h.Operation && o.Side == op.SideHost.String() {
			return o.Count
		}
	}
	return 0
}

// hostOnPaths finds the spans where requests spend time between operations.
func (l *list) hostOnPaths() {
	for _, o := range l.PathOperations {
		if o.Kind != path.KindHost {
			continue
		}
		ns := o.TimeNS - l.queuedIn[o.Operation]
		f := says(HostGap, Where{Section: "critical_path", Operation: o.Operation},
			"%s of the %s on the host in %s, with no operation to wait for.",
			l.part(ns), l.number("request's path passes", "requests' paths pass"), l.named(o.Operation))
		i := slices.IndexFunc(l.Extent.Host, func(h timeline.HostTime) bool { return h.Operation == o.Operation })
		if i >= 0 {
			longest := l.Extent.Host[i].Longest
			if l.inFirst(longest) && 2*longest.HostNS >= ns {
				ns = 0
			}
			f.Text += fmt.Sprintf(" The longest idle time of a device in it is %s.", l.gapText(longest, longest.HostNS))
			f.Where = whereGap(longest, o.Operation)
		}
		l.add(f, ns)
	}
}

func (l *list) gapText(g timeline.HostGap, ns int64) string {
	text := units.Duration(ns) + " of " + l.label(g.Key)
	switch {
	case !slices.ContainsFunc(l.Devices, func(d profile.Device) bool { return d.Key() == g.Key }):
	case g.StartNS == l.Extent.StartNS:
		text += ", before its first operation"
	case g.StartNS+g.DurationNS == l.Extent.StartNS+l.Extent.DurationNS:
		text += ", after its last operation"
	}
	return text
}

func (l *list) number(one, several string) string {
	if l.Paths.Paths == 1 {
		return one
	}
	return several
}

// whereGap locates an idle gap. The host ran the operation, if not "", during the gap.
func whereGap(g timeline.HostGap, operation string) Where {
	w := whereDevice("idle", g.Key)
	w.Operation = operation
	w.FromNS, w.ToNS = op.Known(g.StartNS), op.Known(g.StartNS+g.DurationNS)
	return w
}

// inFirst reports whether more than half of a gap lies in a first step with its own finding.
func (l *list) inFirst(g timeline.HostGap) bool {
	if l.First == nil {
		return false
	}
	within := min(g.StartNS+g.DurationNS, l.First.EndNS) - max(g.StartNS, l.First.StartNS)
	return 2*within > g.DurationNS
}

// unexplained finds idle time without any record of the host.
func (l *list) unexplained() {
	g := &l.Extent.Quiet
	if len(l.Extent.Devices) == 0 {
		return
	}
	gaps, _ := l.sequenceGaps()
	ns := (l.by.IdleNS - l.quietNS - gaps) / l.devicesNum
	f := says(HostGap, whereGap(*g, ""),
		"%s for %s, and no operation was recorded on the host meanwhile%s; the longest such time is %s",
		l.each("Nothing ran"), l.part(ns), l.calls(ns), l.gapText(*g, g.DurationNS-g.HostNS))
	for i := range l.Idle {
		if gap := &l.Idle[i]; gap.Key == g.Key && gap.StartNS == g.StartNS {
			f.Text += ", between " + l.named(gap.After) + " and " + l.named(gap.Before)
		}
	}
	f.Text += "."
	l.add(f, ns)
}

// calls names the host calls during most of an idle time, "" if no call is known.
func (l *list) calls(idle int64) string {
	var most []string
	for i := range l.Extent.Calls {
		c := &l.Extent.Calls[i]
		if ns := min(c.TimeNS/l.devicesNum, idle); 10*ns >= idle && len(most) < 3 {
			most = append(most, fmt.Sprintf("in %s for %s", l.named(c.Operation), units.Duration(ns)))
		}
	}
	if most == nil {
		return ""
	}
	return ": it was " + strings.Join(most, ", ")
}

// sequenceGaps returns the time between the operations of repeated sequences, and the sequence with the longest gaps.
func (l *list) sequenceGaps() (gaps int64, most *sequences.Sequence) {
	for i := range l.Sequences.Rows {
		s := &l.Sequences.Rows[i]
		gaps += s.GapNS
		if most == nil || s.GapNS > most.GapNS {
			most = s
		}
	}
	return gaps, most
}

func (l *list) others() {
	n := l.devicesNum
	var ns, count int64
	room := l.whole
	for _, s := range l.Launches.Streams {
		ns += s.Overhead.Count * s.Overhead.MedianNS.V
		count += s.Overhead.Count
	}
	if !l.byRequest { // launches lie in the idle time of devices
		room = (l.by.HostNS + l.by.IdleNS) / n
	}
	if count > 0 && ns/n <= room {
		l.add(says(Launch, Where{Section: "launches"},
			"%s waited for nothing but their launch, for %s in sum by the median of their streams, %s each.",
			units.Plural(count, "operation"), l.part(ns/n), units.Duration(ns/count)), ns/n)
	}
	if gaps, most := l.sequenceGaps(); most != nil {
		var names []string
		for _, name := range slices.Compact(slices.Clone(most.Operations)) {
			names = append(names, l.named(name))
		}
		if len(names) > 3 {
			names = append(names[:3], "…")
		}
		l.add(says(SmallOperations, Where{Section: "sequences", Operation: most.Operations[0]},
			"Between short operations that come again one behind the other pass %s; most of it in %s, %s, %s. "+
				"One operation in their place would save it.", l.part(gaps/n), strings.Join(names, ", "),
			units.Plural(int64(len(most.Operations)), "operation"), units.Plural(most.Rounds, "time")), gaps/n)
	}
	l.rooflines()
}

func (l *list) rooflines() {
	for i := range l.Operations {
		o := &l.Operations[i]
		l.roofline("operations", o.Operation, o.Roofline)
	}
	for i := range l.Operators.Rows {
		o := &l.Operators.Rows[i]
		l.roofline("operators", o.Operator, o.Roofline)
	}
}

// roofline adds a finding on operations below half of their peak. Overlap caps the saving at the busy time.
func (l *list) roofline(section, name string, r *work.Roofline) {
	if r == nil || !r.Share.Known || r.Share.V >= 0.5 {
		return
	}
	n := max(1, int64(len(l.Extent.Devices)))
	ns := (r.SumNS - int64(r.BoundNS)) / n
	less := l.part(ns) + " less"
	if busy := l.busyNS(); r.SumNS > busy {
		less = fmt.Sprintf("%s less of %s in sum, as it overlaps", units.Duration(ns), units.Duration(r.SumNS/n))
		ns = min(ns, busy/n)
	}
	l.add(says(Roofline, Where{Section: section, Operation: name},
		"%s reaches %s of what its device can do, bound by %s: at best it would take %s.", l.named(name),
		units.Percent(r.Share.V), r.Bound, less), ns)
}
