package hostcalls

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// HostBetween returns where the host is for half of a time in the idle time between two operations, "" if unknown, and
// whether most of the idle time is within requests.
func HostBetween(places []timeline.Place, after, until string, most int64) (host string, isWithin bool) {
	for i := range places {
		p := &places[i]
		if p.After != after || p.Until != until {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.HostNS)) {
			if ns := p.HostNS[name]; 2*ns >= most && ns > p.HostNS[host] && !requests.IsWait(name) {
				host = name
			}
		}
		isWithin = 2*p.WithinNS >= most
	}
	return host, isWithin
}

// CodeBehind returns the idle time of devices behind an operator of the host, without calls that are others', and at most
// the time that the host takes there beyond the usual one between two operators.
func CodeBehind(f *trace.Forest, places []timeline.Place, operator string, isOther func(call string) bool) (idle int64) {
	for i := range places {
		p := &places[i]
		if p.After != operator {
			continue
		}
		idle += p.SumNS
		for name, in := range p.HostNS {
			if isOther(name) {
				idle -= in
			}
		}
	}
	return max(0, min(idle, beyondUsual(f, operator)))
}

// beyondUsual returns the time from the ends of an operator to the next operators or launches of its rank, where it is
// long, beyond the usual time between two others.
func beyondUsual(f *trace.Forest, operator string) int64 {
	type event struct {
		start, end int64
		is         bool
	}
	events := make(map[op.Int][]event) // by rank
	for r := range f.Rows() {
		at := event{f.Start(r), f.End(r), f.RowName(r) == operator}
		switch {
		case !f.Has(r, trace.FlagOp|trace.FlagStart):
			continue
		case f.IsDeviceSide(r) && f.Has(r, trace.FlagLaunch):
			at = event{f.Launch(r), f.Launched(r), false}
		case f.IsDeviceSide(r):
			continue
		}
		rank := f.DeviceKey(r).Rank
		events[rank] = append(events[rank], at)
	}
	const long = 50_000 // ns, far beyond the host's work for an operator
	var sum, n int64
	var others []int64
	for _, list := range events {
		slices.SortFunc(list, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
		})
		before := list[0]
		for _, e := range list[1:] {
			switch ns := e.start - before.end; {
			case e.end <= before.end: // within it
				continue
			case ns < 0:
			case before.is && ns >= long:
				n++
				sum += ns
			case !before.is:
				others = append(others, ns)
			}
			before = e
		}
	}
	if len(others) == 0 {
		return sum
	}
	return sum - n*sketch.Median(others)
}

// GapsText says how often, how long and where the host leaves a device idle, for most of its time at a place, of so much at all
// places. The gaps are rare if half of that time is in a few behind the first step, of 1 ms at least and ten times as long as
// others at their places.
func GapsText(
	places []timeline.Place, p *timeline.Place, most, all int64, after, until string, inFirst func(timeline.HostGap) bool,
) (text string, n int64, isRare bool) {
	const long, longer = 1_000_000, 10 // ns
	rareNS := int64(0)
	for i := range places {
		p := &places[i]
		isLong := p.MaxNS >= long && p.MaxNS*(p.Count-1) >= longer*(p.SumNS-p.MaxNS)
		if isLong && p.Until != key.Other && !inFirst(timeline.HostGap{StartNS: p.MaxStartNS, DurationNS: p.MaxNS}) {
			n++
			rareNS += p.MaxNS
		}
	}
	if n > 1 && 2*rareNS >= all {
		return units.Plural(n, "time") + " for " + units.Duration(rareNS/n) + " in the mean, the longest for " +
			units.Duration(p.MaxNS) + " after " + after + ", until " + until, n, true
	}
	text = units.Plural(p.Count, "time") + " after " + after + ", until " + until + ", " + units.Duration(most/p.Count) + " each"
	if isWhole := 10*most >= 9*p.SumNS; isWhole && p.Count > 1 && p.MaxNS*p.Count >= 2*most {
		text += " and up to " + units.Duration(p.MaxNS)
	}
	return text, p.Count, false
}

// HasRule reports whether a rule of their own has the time in a range or a call of the host.
func HasRule(name string) bool {
	return attrkey.IsWait(name) || attrkey.IsStreamWait(name) || attrkey.IsAllocation(name) || attrkey.IsInput(name) ||
		strings.Contains(name, "Memcpy")
}
