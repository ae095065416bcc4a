package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/findings/internal/enginetext"
	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// divide divides the time of the paths of the requests, or the extent of the run on each device.
func (l *list) divide() {
	var first op.Int
	for i := range l.Devices {
		if rank := l.Devices[i].Rank; rank.Known {
			l.ranks = l.ranks || first.Known && first.V != rank.V
			first = rank
		}
	}
	l.whole = l.Extent.DurationNS
	by := &l.by
	if l.Paths != nil && l.Paths.DurationNS > 0 && len(l.Alike) > 0 && l.waitForDevices() && l.serves() {
		l.byRequest = true
		l.whole = l.Paths.DurationNS
		l.devicesNum = 1
		*by = l.Paths.BoundBy
		if l.isOfServices() { // traces also have time without any span
			l.whole -= by.IdleNS
			by.IdleNS = 0
		}
		l.queuedIn = make(map[string]int64)
		for i := range l.Alike {
			l.queuedNS += l.Alike[i].QueuedNS
			for name, ns := range l.Alike[i].QueuedIn {
				l.queuedIn[name] += ns
			}
		}
	} else {
		for i := range l.Devices {
			d := &l.Devices[i]
			by.ComputeNS += d.ComputeNS.V
			by.CommunicationNS += d.ExposedCommunicationNS.V
			by.MemoryNS += d.ExposedMemoryNS.V
			by.OtherNS += d.OtherNS.V
		}
		by.HostNS = l.Extent.HostNS
		by.IdleNS = l.whole*l.devicesNum - by.ComputeNS - by.CommunicationNS - by.MemoryNS - by.OtherNS - by.HostNS
		for _, d := range l.IdleCauses.Devices {
			l.quietNS += d.NoRequest.SumNS
		}
	}
	l.queuedNS = min(l.queuedNS, by.HostNS)
	l.quietNS = min(l.quietNS, by.IdleNS)
	if l.quietNS > 0 && !l.serves() {
		l.betweenNS, l.quietNS = l.quietNS, 0
	}
}

// serves reports whether requests are of interest, and not the run: they overlap, or are no steps of a loop.
func (l *list) serves() bool { return len(l.Steps) == 0 || l.Replay != nil && l.Replay().Overlapping() }

// waitForDevices reports whether requests wait for their devices: at least a tenth of the busy time of the devices lies
// on their paths, or the host's waiting for them. Requests that end at the launch of their operations do not.
func (l *list) waitForDevices() bool {
	by := &l.Paths.BoundBy
	ns := by.ComputeNS + by.CommunicationNS + by.MemoryNS + by.OtherNS
	for _, o := range l.PathOperations {
		if o.Kind == path.KindHost && attrkey.IsRead(o.Operation) {
			ns += o.TimeNS
		}
	}
	return 10*l.devicesNum*ns >= l.busyNS()
}

type boundPart struct {
	name string
	ns   int64
}

// betweenSteps names the idle time of devices between the steps of a loop.
const betweenSteps = "the host between steps"

// outsideOperations names the time without an operation in recordings of a host alone.
const outsideOperations = "code outside of operations"

// bound states the largest part of the time, or the two largest if no part reaches half.
func (l *list) bound() Finding {
	f := Finding{Kind: Bound, Where: Where{Section: "devices"}}
	if l.byRequest {
		f.Where.Section = "critical_path"
	}
	if l.whole == 0 {
		f.Text = fmt.Sprintf("No operation has a start, so that the bound is not known: %s, %s in all.",
			units.Plural(l.Total.Count, "operation"), units.Duration(l.Total.SumNS))
		if len(l.Operations) > 0 && l.Operations[0].Share.Known {
			o := &l.Operations[0]
			f.Text += fmt.Sprintf(" The most is that of %s, %s (%s).",
				l.named(o.Operation), units.Duration(o.SumNS), units.Percent(o.Share.V))
		}
		return f
	}
	if l.isOfServices() {
		f.Text = enginetext.Services(l.Forest, l.PathOperations, l.Paths.Paths, l.whole)
		f.OfNS = op.Known(l.whole)
		return f
	}
	by := l.by
	by.HostNS -= l.queuedNS
	by.IdleNS -= l.quietNS + l.betweenNS
	waited := min(l.outsideNS, l.waitedNS(), by.HostNS)
	early := min(l.outsideNS-waited, by.IdleNS)
	by.HostNS -= waited
	by.IdleNS -= early
	idle := "idle time"
	if len(l.Extent.Devices) == 0 && !l.byRequest {
		idle = outsideOperations
	}
	all := []boundPart{
		{"compute", by.ComputeNS}, {"communication", by.CommunicationNS}, {"memory", by.MemoryNS},
		{"other operations", by.OtherNS}, {"the host", by.HostNS}, {idle, by.IdleNS},
		{"waiting in a queue", l.queuedNS}, {"time without a request", l.quietNS},
		{betweenSteps, l.betweenNS}, {"work outside the recording", waited + early},
	}
	slices.SortStableFunc(all, func(a, b boundPart) int { return cmp.Compare(b.ns, a.ns) })
	share := func(p boundPart) float64 { return float64(p.ns) / float64(l.whole*l.devicesNum) }
	text := "The bound is " + all[0].name + ": " + units.Percent(share(all[0]))
	rest := all[1:]
	if share(all[0]) < 0.5 && share(all[1]) > 0 {
		text = fmt.Sprintf("The bound is %s and %s: %s and %s", all[0].name, all[1].name, units.Percent(share(all[0])),
			units.Percent(share(all[1])))
		rest = all[2:]
	}
	var others []string
	for _, p := range rest {
		if share(p) >= 0.01 {
			others = append(others, p.name+" "+units.Percent(share(p)))
		}
	}
	text += " of " + l.wholeText()
	if len(others) > 0 {
		text += "; " + strings.Join(others, ", ")
	}
	f.Text = text + "." + l.detail(by, all[0].name)
	f.OfNS = op.Known(l.whole)
	return f
}

// isOfServices reports whether the input has requests, and no operation.
func (l *list) isOfServices() bool {
	return l.Input.Entries == 0 && l.Paths != nil && l.Paths.DurationNS > l.Paths.BoundBy.IdleNS && len(l.Alike) > 0 &&
		l.Forest != nil
}

// waitedNS returns the time of the host in operations that mostly wait for a device that runs nothing recorded.
func (l *list) waitedNS() (ns int64) {
	if l.outsideNS == 0 || l.byRequest {
		return 0
	}
	for _, h := range l.Extent.Host {
		if l.isWaiting(h) {
			ns += h.Longest.HostNS
		}
	}
	return ns
}

func (l *list) wholeText() string {
	switch {
	case l.byRequest && l.Paths.Paths == 1:
		return units.Duration(l.whole) + ", the path of one request"
	case l.byRequest:
		return units.Duration(l.whole) + ", the paths of " + units.Count(l.Paths.Paths) + " requests"
	case len(l.Extent.Devices) == 0:
		return units.Duration(l.whole) + "; no device operation was recorded"
	case l.devicesNum == 1:
		return units.Duration(l.whole) + " on " + l.label(l.Extent.Devices[0].Key)
	}
	return units.Duration(l.whole) + " on each of " + units.Count(l.devicesNum) + " devices"
}

func (l *list) detail(by path.BoundBy, largest string) string {
	switch largest {
	case "the host":
		text := l.mostlyIn(by.HostNS)
		if !l.byRequest && len(l.Extent.Devices) > 0 {
			worked := units.Duration((l.whole*l.devicesNum - by.HostNS - by.IdleNS) / l.devicesNum)
			if l.devicesNum > 1 {
				text += " The devices worked for " + worked + " on average."
			} else {
				text += " The device worked for " + worked + "."
			}
			text += l.launchedBy()
		}
		return text
	case "idle time":
		return l.idleText()
	case outsideOperations:
		return hostcalls.LongestPause(l.Forest, l.named)
	case "time without a request":
		return " No request was under way then: nothing could be faster."
	case betweenSteps:
		if place, _, _, _ := l.untraced(l.ranges(nil), nil); place != nil {
			return " It is mostly after " + l.named(place.After) + ", until " + l.named(place.Until) + "."
		}
		return ""
	}
	if l.byRequest {
		return ""
	}
	if text := l.launchedBy(); text != "" {
		return text
	}
	names := 0
	for i := range l.Operations {
		if l.Operations[i].Side == "" {
			names++
		}
	}
	return fmt.Sprintf(" %s of %s ran.", units.Plural(l.Total.Count, "operation"), units.Plural(int64(names), "name"))
}

// mostlyIn names the operations with most of the host's time, "" without any of a tenth.
func (l *list) mostlyIn(hostNS int64) string {
	var mostly []string
	for _, h := range l.hostParts() {
		if len(mostly) < 2 && h.ns > 0 && 10*h.ns >= hostNS {
			mostly = append(mostly, l.named(h.name)+" ("+units.Duration(h.ns)+")")
		}
	}
	if len(mostly) == 0 {
		return ""
	}
	return " The host was mostly in " + strings.Join(mostly, " and ") + "."
}

// launchedBy names the main launchers of device work, "" without known operators.
func (l *list) launchedBy() string {
	if l.Total.SumNS == 0 {
		return ""
	}
	const (
		most  = 3
		least = 0.05
	)
	var by []string
	add := func(name string, ns int64) {
		if share := float64(ns) / float64(l.Total.SumNS); share >= least {
			by = append(by, name+" ("+units.Percent(share)+")")
		}
	}
	for _, o := range l.Operators.Rows[:min(most, len(l.Operators.Rows))] {
		if o.Operator != key.Other {
			add(l.named(o.Operator), o.DeviceSelfNS)
		}
	}
	if len(by) == 0 {
		return ""
	}
	add("no known operator", l.Operators.Unattributed.SumNS)
	return " Device work was launched by " + strings.Join(by, ", ") + "."
}

// hostParts divides the time of the host by operation, the largest part first.
func (l *list) hostParts() (parts []boundPart) {
	if l.byRequest {
		for _, o := range l.PathOperations {
			if o.Kind == path.KindHost {
				parts = append(parts, boundPart{o.Operation, o.TimeNS - l.queuedIn[o.Operation]})
			}
		}
		return parts
	}
	for _, h := range l.Extent.Host {
		parts = append(parts, boundPart{h.Operation, h.TimeNS / l.devicesNum})
	}
	return parts
}

func (l *list) idleText() string {
	var host, queue, other int64
	for _, d := range l.IdleCauses.Devices {
		host += d.Host.SumNS
		queue += d.Queue.SumNS
		other += d.Other.SumNS
	}
	if host+queue == 0 {
		return "" // the finding on the idle time says more
	}
	var by []string
	for _, p := range []boundPart{
		{"late launches", host}, {"queueing", queue}, {"unknown causes", other},
	} {
		if 100*p.ns >= l.whole*l.devicesNum {
			by = append(by, p.name+" "+units.Percent(float64(p.ns)/float64(l.whole*l.devicesNum)))
		}
	}
	if len(by) == 0 {
		return ""
	}
	return " Causes of idle and host time: " + strings.Join(by, ", ") + "."
}
