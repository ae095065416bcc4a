package findings

import (
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

// maxOperations bounds the findings on operations of devices, and those on the host.
const maxOperations = 5

// operations finds the operations without which the run would be shorter: by their drag on the paths of
// requests, otherwise by the time in which devices ran nothing else.
func (l *list) operations() {
	var all []saving
	add := func(name, kind string, ns int64, format string, args ...any) {
		all = append(all, saving{name, kind, fmt.Sprintf(format, args...), ns})
	}
	if l.byRequest {
		rows := slices.DeleteFunc(slices.Clone(l.PathOperations), func(o path.Operation) bool {
			return o.Kind == path.KindHost || o.Kind == path.KindIdle || !o.DragNS.Known
		})
		slices.SortStableFunc(rows, func(a, b path.Operation) int { return int(min(1, max(-1, b.DragNS.V-a.DragNS.V))) })
		for _, o := range rows {
			add(o.Operation, o.Kind, o.DragNS.V, "Without %s the %s would be %s shorter; it is %s of %s.", named(o.Operation),
				l.number("request", "requests"), l.part(o.DragNS.V), units.Percent(o.Share), l.number("its path", "their paths"))
		}
		l.savings(all)
		return
	}
	for _, a := range l.Extent.Alone {
		ns := a.TimeNS / l.devicesNum
		if a.Kind == op.KindCollective {
			ns -= l.waiting(a.TimeNS) / l.devicesNum // it would go on if this took no time
		}
		add(a.Operation, a.Kind.String(), ns, "Without %s the run would be up to %s shorter: for so long %s.", named(a.Operation),
			l.part(ns), l.each("nothing else ran"))
	}
	l.savings(all)
}

// saving is an operation of devices, and how much shorter the run would be without it.
type saving struct {
	name, kind, text string
	ns               int64
}

// alike is how many operations save about as much as one another where one finding tells of all of them.
const alike = 3

// savings finds operations, the largest first. Of several of a kind that save within a tenth of the same, none stands
// out: the first tells of the others.
func (l *list) savings(all []saving) {
	for n := 0; len(all) > 0 && n < maxOperations; n++ {
		first, same := all[0], 1
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
			f.Text += fmt.Sprintf(" The same, within a tenth, holds for each of %s.", units.Plural(int64(same-1), "other operation"))
		}
		l.add(f, first.ns)
		all = all[same:]
	}
}

// waiting returns the part of the time of a collective that is waiting for the last device: that of all
// collectives, by their times.
func (l *list) waiting(ns int64) int64 {
	wait, all := int64(0), int64(0)
	for i := range l.Lateness {
		wait += l.Lateness[i].WaitNS
	}
	for _, a := range l.Extent.Alone {
		if a.Kind == op.KindCollective {
			all += a.TimeNS
		}
	}
	return int64(min(float64(wait)*float64(ns)/float64(max(1, all)), float64(ns)))
}

// each says of what all devices do that it is a mean.
func (l *list) each(what string) string {
	if l.devicesNum > 1 {
		return what + " on a device on average"
	}
	return what + " on the device"
}

// copyText tells of the copies that an operation may be.
func (l *list) copyText(name string) string {
	for _, c := range l.Copies {
		if c.Direction != "" && strings.Contains(strings.ToLower(name), strings.ToLower(c.Direction)) && c.BytesPerSecond.Known {
			return fmt.Sprintf(" %s copied %s at %s.",
				units.Plural(c.Count, "call"), units.Bytes(c.MemoryBytes.V), units.BytesPerSecond(c.BytesPerSecond.V))
		}
	}
	return ""
}

// hostTimes finds what the host did while devices had nothing to do.
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
		ns, name := h.TimeNS/l.devicesNum, named(h.Operation)
		f := Finding{Kind: HostGap, Where: whereGap(h.Longest, h.Operation)}
		switch {
		case len(l.Extent.Devices) == 0:
			f.Kind, f.Where = Operation, Where{Section: "operations", Operation: h.Operation}
			f.Text = fmt.Sprintf("The host ran %s for %s.", name, l.part(ns))
		case 10*h.FirstNS >= 9*h.TimeNS && l.hostCalls(h) >= 2: // the first call started a library or a device
			f.Kind = FirstStep
			f.Text = fmt.Sprintf("The first of %s of %s took %s on the host, in which %s: start-up that later calls do not have.",
				units.Plural(l.hostCalls(h), "call"), name, l.part(ns), l.each("nothing ran"))
		case 2*h.Longest.HostNS*l.devicesNum >= h.TimeNS || !h.IsOp:
			f.Text = fmt.Sprintf("%s while the host ran %s for %s; the longest such time is %s.", l.each("Nothing ran"), name, l.part(ns),
				l.gapText(h.Longest, h.Longest.HostNS))
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

// hostCalls returns how many calls of an operation the host made, 0 where that is not known.
func (l *list) hostCalls(h timeline.HostTime) int64 {
	for i := range l.Operations {
		if o := &l.Operations[i]; h.IsOp && o.Operation == h.Operation && o.Side == op.SideHost.String() {
			return o.Count
		}
	}
	return 0
}

// hostOnPaths finds the spans in which requests spend their time between operations.
func (l *list) hostOnPaths() {
	for _, o := range l.PathOperations {
		if o.Kind != path.KindHost {
			continue
		}
		ns := o.TimeNS - l.queuedIn[o.Operation]
		f := says(HostGap, Where{Section: "critical_path", Operation: o.Operation},
			"%s of the %s on the host in %s, with no operation to wait for.",
			l.part(ns), l.number("request's path passes", "requests' paths pass"), named(o.Operation))
		for _, h := range l.Extent.Host {
			if h.Operation == o.Operation {
				if l.inFirst(h.Longest) && 2*h.Longest.HostNS >= ns {
					ns = 0
				}
				f.Text += fmt.Sprintf(" The longest idle time of a device in it is %s.", l.gapText(h.Longest, h.Longest.HostNS))
				f.Where = whereGap(h.Longest, h.Operation)
				break
			}
		}
		l.add(f, ns)
	}
}

// gapText tells of a part of an idle time of a device.
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

// number returns the word for one request, or that for several.
func (l *list) number(one, several string) string {
	if l.Paths.Paths == 1 {
		return one
	}
	return several
}

// whereGap returns the place of an idle time in which the host ran an operation, "" for none.
func whereGap(g timeline.HostGap, operation string) Where {
	w := whereDevice("idle", g.Key)
	w.Operation = operation
	w.FromNS, w.ToNS = op.Known(g.StartNS), op.Known(g.StartNS+g.DurationNS)
	return w
}

// inFirst reports whether most of an idle time lies in a first step that is a finding of its own.
func (l *list) inFirst(g timeline.HostGap) bool {
	if l.First == nil {
		return false
	}
	within := min(g.StartNS+g.DurationNS, l.First.EndNS) - max(g.StartNS, l.First.StartNS)
	return 2*within > g.DurationNS
}

// unexplained finds idle time in which nothing was recorded on the host.
func (l *list) unexplained() {
	g := &l.Extent.Quiet
	if len(l.Extent.Devices) == 0 {
		return
	}
	gaps, _ := l.sequenceGaps()
	ns := (l.by.IdleNS - l.quietNS - gaps) / l.devicesNum
	f := says(HostGap, whereGap(*g, ""), "%s for %s, and no operation was recorded on the host meanwhile%s; the longest such time is %s",
		l.each("Nothing ran"), l.part(ns), l.calls(ns), l.gapText(*g, g.DurationNS-g.HostNS))
	for i := range l.Idle {
		if gap := &l.Idle[i]; gap.Key == g.Key && gap.StartNS == g.StartNS {
			f.Text += ", between " + named(gap.After) + " and " + named(gap.Before)
		}
	}
	f.Text += "."
	l.add(f, ns)
}

// calls tells in which calls the host was for most of an idle time, "" where none is known.
func (l *list) calls(idle int64) string {
	var most []string
	for i := range l.Extent.Calls {
		c := &l.Extent.Calls[i]
		if ns := min(c.TimeNS/l.devicesNum, idle); 10*ns >= idle && len(most) < 3 {
			most = append(most, fmt.Sprintf("in %s for %s", named(c.Operation), units.Duration(ns)))
		}
	}
	if most == nil {
		return ""
	}
	return ": it was " + strings.Join(most, ", ")
}

// sequenceGaps returns the time between the operations of repeated sequences, and the sequence with most of it.
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

// others finds launches, sequences of short operations, and operations below their roofline.
func (l *list) others() {
	n := l.devicesNum
	ns, count, room := int64(0), int64(0), l.whole
	for _, s := range l.Launches.Streams {
		ns += s.Overhead.Count * s.Overhead.MedianNS.V
		count += s.Overhead.Count
	}
	if !l.byRequest { // it lies in the time in which the devices run nothing
		room = (l.by.HostNS + l.by.IdleNS) / n
	}
	if count > 0 && ns/n <= room {
		l.add(says(Launch, Where{Section: "launches"},
			"%s waited for nothing but their launch, for %s in sum by the median of their streams, %s each.",
			units.Plural(count, "operation"), l.part(ns/n), units.Duration(ns/count)), ns/n)
	}
	if gaps, most := l.sequenceGaps(); most != nil {
		names := slices.Compact(slices.Clone(most.Operations))
		if len(names) > 3 {
			names = append(names[:3], "…")
		}
		l.add(says(SmallOperations, Where{Section: "sequences", Operation: most.Operations[0]},
			"Between short operations that come again one behind the other pass %s; most of it in %s, %s, %s. "+
				"One operation in their place would save it.", l.part(gaps/n), named(strings.Join(names, ", ")),
			units.Plural(int64(len(most.Operations)), "operation"), units.Plural(most.Rounds, "time")), gaps/n)
	}
	for i := range l.Operations {
		o := &l.Operations[i]
		l.roofline("operations", o.Operation, o.Roofline)
	}
	for i := range l.Operators.Rows {
		o := &l.Operators.Rows[i]
		l.roofline("operators", o.Operator, o.Roofline)
	}
}

// roofline finds that operations of a name are far from what their devices can do. Where their sum is longer than devices
// worked at all, they overlap, and what they would take less is no part of the run.
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
		"%s reaches %s of what its device can do, bound by %s: at best it would take %s.", named(name),
		units.Percent(r.Share.V), r.Bound, less), ns)
}
