package replay

import (
	"cmp"
	"math"

	"github.com/optrace/optrace/analyze/internal/backward"
	"github.com/optrace/optrace/analyze/internal/schedule"
	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/internal/serving"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// apply changes lags. It returns the number of selected operations and calls.
func (g *Graph) apply(c Change, v *variant) (int64, error) {
	switch c.Kind {
	case Host:
		return g.scaleHost(c, v)
	case Pauses:
		return g.shortenPauses(v), nil
	case Warm:
		return g.warm(v), nil
	case Fuse:
		return g.fuse(c.Select, v)
	case Chunk, Replicas, Early, Window:
		return g.divided(c)
	case Without:
		return g.without(c.Select, v)
	}
	if c.isEven() {
		n := int64(0)
		for _, group := range serving.Groups(g.found()) {
			for _, e := range group {
				n += int64(len(e.Served))
			}
		}
		if n == 0 {
			return 0, &UnknownError{Select: c.String()}
		}
		return n, nil
	}
	s, err := g.find(c.Select)
	if err != nil {
		return 0, err
	}
	switch c.Kind {
	case Scale:
		g.limit(s, v, func(_ int32, ns int64) int64 { return int64(math.Round(float64(ns) * c.Factor)) })
	case Remove:
		g.remove(s, v)
	case Typical:
		medians, known := g.medians.Load(c.Select)
		if !known {
			medians, _ = g.medians.LoadOrStore(c.Select, g.recording().Typical(s))
		}
		typical := medians.(func(r int32) int64)
		g.limit(s, v, func(r int32, ns int64) int64 {
			if step, law := g.inStep(r); step != nil && law > 0 && g.forest.Flops(r) == 0 { // its work grows with the load
				return min(ns, int64(law))
			}
			return min(ns, typical(r))
		})
	case Roofline:
		g.limit(s, v, func(r int32, ns int64) int64 {
			if ps := g.forest.Work(r).Bound; ps != 0 {
				return min(ns, int64(float64(max(ps, -ps)/1000)/cmp.Or(c.Factor, 1)))
			}
			return ns
		})
	case Rate:
		g.limit(s, v, func(r int32, ns int64) int64 {
			if !g.forest.Has(r, trace.FlagMemory) {
				return ns
			}
			return min(ns, int64(float64(g.forest.Memory(r))/c.Factor*1e9))
		})
	case Overlap:
		g.overlap(s, v)
	case Parts:
		g.inParts(s, v, max(1, int64(c.Factor)))
	case NoWait:
		g.noWait(s, v)
		g.limit(s, v, g.recording().InTurn(s))
	case Balance:
		g.limit(s, v, g.recording().Balanced(s))
	}
	return s.Count, nil
}

// limit changes the own time of selected operations, and of selected events of hosts. The launching call of a copy
// from pageable memory changes with it.
func (g *Graph) limit(s *selection.Set, v *variant, change func(r int32, ns int64) int64) {
	for e := range g.g.owned(s.HasRow) {
		lag := v.Lag(e.index)
		switch {
		case lag == dropped:
		case g.isTimeOf(e):
			v.Set(e.index, change(e.owner, lag))
		case e.kind == afterWait && e.from == g.begin[e.owner]:
			took := max(1, g.forest.Duration(e.owner))
			v.Set(e.index, int64(float64(lag)*float64(change(e.owner, took))/float64(took)))
		}
	}
}

// scaleHost changes all time of hosts, or of the hosts of a rank or service.
func (g *Graph) scaleHost(c Change, v *variant) (n int64, err error) {
	ofRank := make(map[int32]bool) // processes
	if c.Select != "" {
		byLane := g.forest.Processes()
		for i, l := range g.forest.Names.Lanes.Values {
			if "rank="+selection.Known(l.Device.Rank) == c.Select || "service="+l.Service == c.Select {
				ofRank[byLane[i]] = true
			}
		}
		if len(ofRank) == 0 {
			return 0, &UnknownError{Select: c.Select}
		}
	}
	isQueue := make(map[int32]bool) // no work of a host
	for _, x := range g.engines() {
		for _, r := range x.Queues {
			isQueue[r] = true
		}
	}
	sum := 0.0      // of the host's time, in ns
	var ends []edge // of executions, after their operations
	for e := range g.g.all() {
		lag := v.Lag(e.index)
		if isQueue[e.owner] {
			continue
		}
		isHost := e.kind == onThread || e.kind == ofRequest || e.kind == ofExecution || e.kind == whileHeld ||
			(e.kind == afterWait && g.isUnrecorded(e) ||
				(e.kind == onStream || e.kind == afterLaunch) && !g.forest.Has(e.owner, trace.FlagLaunch)) &&
				g.isBeforeExecution(e)
		isEnd := e.kind == afterWait && c.Factor < 1 && g.endsExecution(e)
		if c.Select != "" && g.hosts != nil {
			of := none
			if node := e.to >> 1; node < g.g.Owned() && isHost {
				of = g.process[e.owner]
			} else if int(node) < len(g.hosts) {
				of = g.hosts[node]
			}
			isHost = isHost && ofRank[of]
			isEnd = isEnd && ofRank[of]
		}
		switch {
		case lag == dropped:
		case isHost:
			v.Set(e.index, int64(math.Round(float64(lag)*c.Factor)))
			sum += float64(max(0, lag))
			n++
		case isEnd:
			ends = append(ends, e)
		}
	}
	mean := sum / float64(max(1, len(ends)))
	for _, e := range ends { // a short one is part of every step
		lag := float64(v.Lag(e.index))
		v.Set(e.index, int64(math.Round(min(lag, c.Factor*max(lag, mean)))))
	}
	return n, nil
}

// shortenPauses shortens the pauses of hosts to their usual time between two events. Those of engines are many times their
// usual time between two executions, between the passes of one, or between the operations of one.
func (g *Graph) shortenPauses(v *variant) int64 {
	const long, longer = 100 * microsecond, 8
	usual := make(sketch.Counts, long+1)
	usual[usualHost]++
	var pauses []int32
	const (
		begin = iota + 1
		end
	)
	of := make(map[int32]int8) // points of shared executions, and of spans below them
	for r := range g.forest.Rows() {
		if x := g.rows.ExecutionOf(r); x != trace.NoExecution && g.begin[r] != none && !g.forest.Has(r, trace.FlagOp) {
			of[g.begin[r]] = begin
			of[g.end[r]] = end
		}
	}
	turns := make(map[int32]bool) // requests served one after the other
	for _, x := range g.engines() {
		for _, q := range x.Served {
			turns[q.Root] = x.Single
		}
	}
	const (
		within    = 9 // before an operation of an execution without a launch
		elsewhere = 10
	)
	var gaps [elsewhere][]int64 // by what is on both sides, where an execution begins by that, or within it
	var between [elsewhere][]int32
	for e := range g.g.all() {
		isGap := g.isGap(e)
		isShared := isRow(e.owner) && g.rows.ExecutionOf(e.owner) != trace.NoExecution
		place := 3*of[e.from] + of[e.to]
		switch {
		case of[e.to] == begin && (e.kind == ofExecution || e.kind == ofRequest), isShared && isGap && g.isBeforeExecution(e):
			place = 3*end + begin
		case of[e.from] == begin && g.isUnrecorded(e), of[e.to] == end && e.kind == afterWait, isShared && g.isUnrecorded(e):
		case isShared && isGap:
			place = within
		default:
			place = elsewhere
		}
		switch ns := v.Lag(e.index); {
		case place < elsewhere:
			between[place] = append(between[place], e.index)
			isCounted := ns > microsecond || place/3 == begin || place == within   // at once is usual there
			if e.kind != ofRequest && isCounted && ns == g.g.slack(e.from, e.to) { // others have the usual lag of their kind
				gaps[place] = append(gaps[place], ns)
			}
		case ns <= 0 || !g.isUnrecorded(e) && !(isGap && turns[g.rows.Owner[e.owner]]):
		case ns < int64(len(usual)):
			usual[ns]++
		default:
			pauses = append(pauses, e.index)
		}
	}
	median := usual.Median(1, usualHost)
	for _, e := range pauses {
		v.Set(e, median)
	}
	n := int64(len(pauses))
	for place, edges := range between {
		usual := median
		if len(gaps[place]) > 0 {
			usual = sketch.Median(gaps[place])
		}
		for _, e := range edges {
			if lag := v.Lag(e); lag > max(long, longer*usual) {
				v.Set(e, usual)
				n++
			}
		}
	}
	return n
}

// isUnrecorded reports whether an edge is time of a host without an operation or a call of it. A range with others in
// it is no operation.
func (g *Graph) isUnrecorded(e edge) bool {
	switch {
	case e.kind == ofExecution || e.kind == whileHeld:
		return true
	case e.owner < 0:
		return e.kind == onThread && e.owner == noOwner
	case e.kind != onThread && e.kind != afterWait: // the end of a range after what is in it
		return false
	}
	return !g.forest.Has(e.owner, trace.FlagOp) && len(g.forest.Tree.Children(e.owner)) > 0
}

// noWait lets the host go on in selected calls, and in the launching calls of selected copies.
func (g *Graph) noWait(s *selection.Set, v *variant) {
	for e := range g.g.owned(s.Has) {
		if e.kind == afterWait {
			v.Set(e.index, dropped)
		}
	}
}

// warm shortens the operations of the first steps and of the first requests on devices that requests take turns on, and the
// first executions of engines.
func (g *Graph) warm(v *variant) int64 {
	isOfStep := func(r int32) bool { return g.rows.ExecutionOf(r) == trace.NoExecution }
	s, usual := g.recording().FirstSteps(isOfStep)
	g.limit(s, v, usual)
	takesTurns := make(map[int32]bool) // requests
	for _, e := range g.engines() {
		for _, q := range e.Served {
			takesTurns[q.Root] = e.Turns
		}
	}
	first, usual := g.recording().FirstOnDevices(g.rows.Owner, func(request int32) bool { return takesTurns[request] })
	g.limit(first, v, usual)
	return s.Count + first.Count + g.warmEngines(v)
}

// remove takes out operations, the children of those of hosts, their launching calls, and host operators with no other
// launches. The host's pause before an operation without a launch stays.
func (g *Graph) remove(s *selection.Set, v *variant) {
	g.recording().AddBelow(s)
	g.recording().AddHosts(s)
	g.recording().AddWithin(s)
	usual := g.usualGap()
	for e := range g.g.owned(s.Has) {
		lag := v.Lag(e.index)
		switch {
		case e.kind == afterWait:
			lag = dropped
		case g.isGap(e) && lag > pause*usual:
			lag -= usual
		default:
			lag = min(lag, 0)
		}
		v.Set(e.index, lag)
	}
	g.joinGaps(s, v)
	g.callAtOnce(s, v)
}

// isGap reports whether an edge is time of the host before an operation without a launch.
func (g *Graph) isGap(e edge) bool {
	return e.owner >= 0 && e.to == g.begin[e.owner] && (e.kind == onStream || e.kind == afterLaunch) &&
		g.isOnDevice(e.owner) && !g.forest.Has(e.owner, trace.FlagLaunch)
}

// usualGap returns the usual time of the host before an operation without a launch, 0 if pauses are usual.
func (g *Graph) usualGap() int64 {
	const least = 5
	gaps := make(sketch.Counts, silent)
	for e := range g.g.owned(isRow) {
		if lag := g.g.Lag(e.index); lag > 0 && lag < silent && g.isGap(e) {
			gaps[lag]++
		}
	}
	return gaps.Median(least, 0)
}

// pause is the least factor by which a pause before a launch exceeds the usual time. It stays without the operation.
const pause = 8

// overlap puts selected operations on a stream of their own. They wait for their launch, for what the recording states,
// and, but for copies from the host, for the work launched before. The operation after them on their stream waits for the one before them instead. What
// follows the last of a step in this step, such as an optimizer, needs the results of all.
func (g *Graph) overlap(s *selection.Set, v *variant) {
	f := g.forest
	type inStep struct {
		stream int32
		step   int64
	}
	last := make(map[inStep]int32) // of the selected
	stepOf := func(r int32) inStep { return inStep{f.DeviceStreamOf(r), f.Step(r)} }
	for _, r := range g.ops() {
		if s.Rows[r] && f.Has(r, trace.FlagStep) {
			last[stepOf(r)] = r
		}
	}
	hasWork := make(map[int32]bool) // operations with an edge to the work launched before
	before := make(map[int32]edge)  // the edge from the operation before on the stream, by row
	for e := range g.g.owned(isRow) {
		switch {
		case e.to != g.begin[e.owner]:
		case e.kind == onStream:
			before[e.owner] = e
		case e.kind == ofCollective:
			hasWork[e.owner] = true
		}
	}
	rowAt := make(map[int32]int32) // the row ending at each point
	for _, e := range before {
		rowAt[e.from] = none
	}
	for r, p := range g.end {
		if _, ok := rowAt[p]; ok && g.isOnDevice(int32(r)) {
			rowAt[p] = int32(r)
		}
	}
	for e := range g.g.owned(isRow) {
		if e.to != g.begin[e.owner] {
			continue
		}
		selected := s.Rows[e.owner]
		if selected && e.kind == afterStream && hasWork[e.owner] {
			v.Set(e.index, dropped)
		}
		if e.kind != onStream || rowAt[e.from] == none || s.Rows[rowAt[e.from]] == selected {
			continue
		}
		needed, known := last[stepOf(e.owner)]
		if selected && f.Kind(e.owner) == op.KindMemory && attrkey.IsFromHost(f.RowName(e.owner)) {
			v.Set(e.index, dropped) // its data are on the host
		}
		if !selected && !(known && f.Has(e.owner, trace.FlagStep) && rowAt[e.from] == needed) {
			v.Set(e.index, dropped) // otherwise its data come from there
		}
		r := rowAt[e.from] // the operation before on either stream
		for steps := 0; r != none && s.Rows[r] != selected && steps < g.forest.Len(); steps++ {
			link, ok := before[r]
			if r = none; ok {
				r = rowAt[link.from]
			}
		}
		if r != none {
			v.More[e.to>>1] = append(v.More[e.to>>1], schedule.Further{
				From: g.end[r], Lag: min(g.g.Lag(e.index), usualOverlap), Kind: onStream,
			})
		}
	}
}

// inParts divides the collectives behind each backward pass into n equal parts. Each waits for the operation of the pass at
// whose end as much of its work is done, and for the parts before: the first collective begins with the last part, once the
// others are over.
func (g *Graph) inParts(s *selection.Set, v *variant, n int64) {
	passes := backward.Find(g.forest, s.HasRow)
	divided := &selection.Set{Rows: make([]bool, g.forest.Len())}
	for i := range passes {
		for _, r := range passes[i].Collectives {
			divided.Add(r, g.begin[r] != none)
		}
	}
	s.Count = divided.Count
	took := make(map[int32]int64)
	g.limit(divided, v, func(r int32, ns int64) int64 {
		took[r] += ns
		return ns / n
	})
	for i := range passes {
		p := &passes[i]
		whole := int64(0)
		for _, r := range p.Collectives {
			whole += took[r]
		}
		for k := int64(1); k < n; k++ {
			ready := p.Ready(float64(k) / float64(n))
			if first := g.begin[p.Collectives[0]]; first != none && g.begin[ready] != none {
				v.More[first>>1] = append(v.More[first>>1], schedule.Further{
					From: g.end[ready], Lag: whole * (n - k) / n, Kind: ofCollective,
				})
			}
		}
	}
}

// usualOverlap is the time between two successive operations of a stream.
const usualOverlap = microsecond

// without leaves out a request: its own operations and its part of shared executions, by weight or else equally.
func (g *Graph) without(text string, v *variant) (int64, error) {
	isRoot, err := g.request(text)
	if err == nil {
		g.leaveOut(isRoot, v)
	}
	return int64(len(isRoot)), err
}

// leaveOut leaves out the requests of rows.
func (g *Graph) leaveOut(isRoot map[int32]bool, v *variant) {
	f := g.forest
	left := make(map[int32]float64) // of each execution, the part of others
	for i := range f.Executions.List {
		if part := f.Executions.List[i].ShareWithout(isRoot); part < 1 {
			left[int32(i)] = part
		}
	}
	for e := range g.g.owned(isRow) {
		lag := v.Lag(e.index)
		if lag == dropped {
			continue
		}
		if x := g.rows.Forest.ExecutionOf(e.owner, g.rows.Owner); x != trace.NoExecution {
			if part, known := left[x]; known {
				v.Set(e.index, int64(float64(lag)*part))
			}
		} else if isRoot[g.rows.Owner[e.owner]] {
			v.Set(e.index, min(lag, 0))
		}
	}
}

// divided counts the executions with prompts divided by c or with shorter windows, or the requests divided among engines.
func (g *Graph) divided(c Change) (n int64, err error) {
	for _, e := range g.engines() {
		for i := range e.Steps {
			if c.Kind == Window && e.Steps[i].Window > int64(c.Factor) {
				n++
			}
		}
		for _, q := range e.Served {
			if c.Kind == Replicas || c.Kind == Early && (e.Single || g.g.slack(g.begin[q.Root], q.From) > 0) {
				n++
				continue
			}
			for _, l := range q.Loads[:q.Prompt] {
				if l.Weight > c.Factor && c.Kind == Chunk && e.Divides() {
					n++
				}
			}
		}
	}
	if n == 0 {
		err = &UnknownError{Select: c.String()}
	}
	return n, err
}
