package findings

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// waits finds the host's waiting calls for a device: several a step, or a single long one.
func (l *list) waits() (all []candidate) {
	const (
		most  = 3
		few   = 10     // without steps
		much  = 10     // the part of the whole
		short = 10_000 // ns, without a wait
	)
	rounds := l.rounds()
	var ofCopies []string // waits for copies of pageable memory: slowCopies has them
	for _, o := range l.pageableCopies() {
		ofCopies = append(ofCopies, o.Operation)
	}
	ofCopies = hostcalls.WaitsAfter(l.Forest, ofCopies...)
	for _, c := range hostcalls.Of(l.Forest, attrkey.IsWait, short) {
		if slices.Contains(ofCopies, c.Name) || l.First != nil && c.Last < l.First.EndNS {
			continue
		}
		each := c.Count / int64(len(c.Ranks))
		if around := c.Around(); attrkey.IsRead(around) { // some of them wait for short kernels only
			each = max(each, l.hostCalls[around]/int64(len(c.Ranks)))
		}
		if each < rounds || rounds == 0 && each < few || len(all) == most {
			continue
		}
		name := l.named(c.Name)
		if around := c.Around(); around != "" {
			name = l.named(around) + " (" + name + ")"
		}
		f := says(HostGap, Where{Section: "idle", Operation: c.Around()},
			"The host waits for the device %s in %s%s. Meanwhile it launches no further work.",
			units.Plural(each, "time"), name, l.perRound(each))
		f.Evidence = []Evidence{about("call", c.Name), times("calls", c.Count), lasts("time in the calls", c.Sum)}
		f.Try = "keep the value on the device, and read it once every N steps"
		if around := c.Around(); around != "" && !attrkey.IsRead(around) && !isOperator(around) { // it reads no value
			f.Try = "launch the next work before the wait, or let streams wait for each other (events)"
		}
		one := candidate{Finding: f, changes: change(replay.NoWait, c.Name)}
		if around := c.Around(); attrkey.IsRead(around) { // without the read its copy and its calls go, too
			one.changes = change(replay.Remove, around)
		}
		if each < 2*rounds {
			one.Try = "wait for the device every N steps only"
			one.isEffect = true
			if !l.replay(&one.saving, one.changes) || one.saving.NS < l.whole/much {
				continue
			}
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		all = l.waitingOperations()
	}
	if len(l.launchBound()) > 0 { // also the code that works on the value keeps the device idle
		for i := range all {
			if c := &all[i]; c.changes[0].Kind == replay.Remove {
				isOther := func(name string) bool { return l.hostCalls[name] > 0 || hostcalls.HasRule(name) }
				c.beside = hostcalls.CodeBehind(l.Forest, l.Places, c.changes[0].Select, isOther) / l.devicesNum
			}
		}
	}
	l.behindPauses(all)
	return all
}

// behindPauses marks the waits that cost little without the pauses of the host after them: those are the cause.
func (l *list) behindPauses(waits []candidate) {
	const most = 0.75
	isPause := func(c candidate) bool { return len(c.changes) > 0 && c.changes[0].Kind == replay.Pauses }
	var pauses replay.Saving
	if len(waits) == 0 || !slices.ContainsFunc(l.pauses(), isPause) || !l.replay(&pauses, change(replay.Pauses, "")) {
		return
	}
	for i := range waits {
		c := &waits[i]
		if l.replay(&c.saving, c.changes) && float64(pauses.NS) >= most*float64(c.saving.NS) {
			c.isEffect = true
		}
	}
}

// waitingOperations finds operations of the host waiting for a device, in recordings without long calls that wait.
func (l *list) waitingOperations() (all []candidate) {
	if l.Forest == nil {
		return nil
	}
	rounds := l.rounds()
	ranks := make(map[op.Int]bool)
	for i := range l.Devices {
		ranks[l.Devices[i].Rank] = true
	}
	for i := range l.Operations {
		o := &l.Operations[i]
		each := o.Count / max(1, int64(len(ranks)))
		if o.Side != op.SideHost.String() || !attrkey.IsRead(o.Operation) || rounds == 0 || each < 2*rounds {
			continue
		}
		f := says(HostGap, Where{Section: "idle", Operation: o.Operation},
			"The host waits for the device %s in %s%s. Meanwhile it launches no further work.",
			units.Plural(each, "time"), l.named(o.Operation), l.perRound(each))
		f.Evidence = []Evidence{about("operation", o.Operation), times("calls", o.Count), lasts("time in them", o.SumNS)}
		f.Try = "keep the value on the device, and read it once every N steps"
		kind := replay.Remove
		if l.Launches.Count == 0 { // the operation may have other work
			kind = replay.NoWait
		}
		all = append(all, candidate{Finding: f, changes: change(kind, o.Operation)})
	}
	return all
}

// allocator finds allocations and releases of device memory inside steps, with the waits before them. Memory that is taken
// and kept, or given back before half of the device's operations only, is start-up.
func (l *list) allocator() []candidate {
	const some = 5 // of so many calls one releases, at least
	var changes []replay.Change
	var names []string
	var n, ns, longest, released, last int64
	for _, c := range hostcalls.Allocations(l.Forest, maxChanges) {
		changes = append(changes, replay.Change{Kind: replay.Remove, Select: c.Name})
		names = append(names, c.Name)
		n += c.Count
		ns += c.Sum
		longest = max(longest, c.Longest)
		if strings.Contains(c.Name, "Free") {
			released += c.Count
			last = max(last, c.Last)
		}
	}
	if n < max(2*l.rounds(), 10) || 2*longest > ns { // the first one may start the device
		return nil
	}
	byStart := l.Forest.Devices.ByStart
	if behind := sort.Search(len(byStart), func(i int) bool { return l.Forest.Start(byStart[i]) > last }); some*released < n ||
		2*behind < len(byStart) {
		return nil
	}
	waits := hostcalls.WaitsBeforeAllocations(l.Forest)
	for _, name := range waits {
		changes = append(changes, replay.Change{Kind: replay.NoWait, Select: name})
	}
	f := says(HostGap, Where{Section: "idle", Operation: names[0]},
		"The loop gives back the device's memory and takes it again: %s of %s%s, %s",
		units.Plural(n, "call"), strings.Join(names, ", "), l.perRound(n), units.Duration(ns))
	if len(waits) > 0 {
		f.Text += ", after waits in " + strings.Join(waits, ", ")
	}
	f.Text += "."
	f.Evidence = []Evidence{times("calls", n), lasts("time in the calls", ns)}
	f.Try = "keep the caching allocator's memory: no empty_cache() in the loop"
	isPyTorch := func(o profile.Operation) bool {
		return strings.HasPrefix(o.Operation, "aten::") || strings.Contains(o.Operation, "at::native::")
	}
	if made := l.hostCalls["aten::empty"] + l.hostCalls["aten::empty_strided"]; 0 < made && made <= 2*(n-released) {
		f.Try = "let the caching allocator keep the memory: PYTORCH_NO_CUDA_MEMORY_CACHING seems to be set"
	}
	if slices.Contains(l.Input.Formats, "nsys") && !slices.ContainsFunc(l.Operations, isPyTorch) {
		f.Try = "keep the memory for the next round, or take it from a pool (cudaMallocAsync)"
	}
	return []candidate{{Finding: f, changes: changes}}
}

// loaders finds reading of the input by the host while the devices are idle.
func (l *list) loaders() (all []candidate) {
	if l.Forest == nil {
		return nil
	}
	type loader struct {
		n, all int64
		times  map[op.Int][][2]int64 // by rank
	}
	f := l.Forest
	found := make(map[string]*loader)
	for _, h := range hostcalls.Ranges(f, attrkey.IsInput) {
		x := found[h.Name]
		if x == nil {
			x = &loader{times: make(map[op.Int][][2]int64)}
			found[h.Name] = x
		}
		x.n++
		x.all += h.End - h.Start
		x.times[h.Rank] = append(x.times[h.Rank], [2]int64{h.Start, h.End})
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		x := found[name]
		ns := timeline.IdleWithin(f, x.times) / l.devicesNum
		if !l.enough(ns) {
			continue
		}
		n := x.n / int64(len(x.times))
		each := units.Duration(x.all/x.n) + " each"
		for rank, spans := range x.times { // one may have most of it
			sum := int64(0)
			for _, at := range spans {
				sum += at[1] - at[0]
			}
			if rank.Known && len(x.times) > 1 && 2*sum >= x.all {
				each = fmt.Sprintf("%s each on rank %s", units.Duration(sum/int64(len(spans))), rank)
			}
		}
		text := says(HostGap, Where{Section: "idle", Operation: name},
			"The device waits %s for input: %s runs %s%s, %s.", l.part(ns), l.named(name),
			units.Plural(n, "time"), l.perRound(n), each)
		text.Evidence = []Evidence{about("range", name), times("calls", n), lasts("idle meanwhile", ns)}
		text.Try = "load in parallel with the device: more workers (num_workers), prefetch, pinned memory"
		all = append(all, candidate{Finding: text, changes: change(replay.Remove, name), atMost: true})
	}
	return all
}
