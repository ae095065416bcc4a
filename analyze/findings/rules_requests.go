package findings

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// longPrompts finds requests with far more work in shared steps than others. The others wait for them.
func (l *list) longPrompts() []candidate {
	if l.Forest == nil || !l.byRequest {
		return nil
	}
	const (
		least = 8
		times = 4
		most  = 4
	)
	weights := l.weights()
	rows := slices.SortedFunc(maps.Keys(weights), func(a, b int32) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
	rows = slices.DeleteFunc(rows, func(r int32) bool { return int(r) >= l.Forest.Len() }) // without a span
	if len(rows) < least {
		return nil
	}
	usual := weights[rows[len(rows)-1-len(rows)*9/10]]
	long := 0
	for long < most && weights[rows[long]] >= times*usual {
		long++
	}
	if long == 0 {
		return nil
	}
	n := l.Forest.Node(rows[0])
	id := n.TraceID()
	what := "A long prompt stalls"
	if long > 1 {
		what = units.Count(int64(long)) + " long prompts stall"
	}
	whom := "the batch"
	if len(l.Forest.Executions.List) == 0 {
		whom = "the others"
	}
	f := says(SlowRequest, Where{Section: "critical_path", TraceID: id, SpanID: n.SpanID()},
		"%s %s: %s %s has a weight of %s, nine of ten others at most %s.", what, whom, l.named(n.Name()),
		shortID(id), units.Count(int64(weights[rows[0]])), units.Count(int64(usual)))
	c := candidate{Finding: f}
	for _, r := range rows[:long] {
		id := l.Forest.Node(r).TraceID().String()
		c.Evidence = append(c.Evidence, about("request", id), figure("weight", weights[r], "count"))
		c.changes = append(c.changes, change(replay.Without, "request="+id)...)
	}
	c.Evidence = append(c.Evidence, figure("usual weight", usual, "count"))
	return []candidate{c}
}

// stalled suggests what to do about long prompts: the gain is without them, and chunks save another time. The smallest
// chunks are those that leave usual prompts whole.
func (l *list) stalled() []candidate {
	all := l.longPrompts()
	for i := range all {
		c := &all[i]
		size := math.Exp2(math.Ceil(math.Log2(c.Evidence[len(c.Evidence)-1].Value.(float64))))
		var inChunks replay.Saving
		switch known := l.replay(&inChunks, []replay.Change{{Kind: replay.Chunk, Factor: size}}); {
		case !known:
			c.Try = "split long prompts into chunks, or give them an engine of their own"
		case l.enough(inChunks.NS):
			c.Try = fmt.Sprintf("give long prompts an engine of their own, or split them: chunks of %s save %s",
				units.Plural(int64(size), "token"), units.Duration(inChunks.NS))
		default:
			c.Try = fmt.Sprintf("give long prompts an engine of their own; chunks of %s save little",
				units.Plural(int64(size), "token"))
		}
	}
	return all
}

// shortID returns the first digits of an id, or the last ones behind leading zeros.
func shortID(id op.TraceID) string {
	const digits = 8
	text := id.String()
	if strings.Trim(text[:digits], "0") == "" {
		return "…" + text[len(text)-digits:]
	}
	return text[:digits]
}

// weights returns the tokens of each request's prompt, by row, or its largest weight in shared executions if weights do
// not tell them.
func (l *list) weights() map[int32]float64 {
	weights := make(map[int32]float64)
	if l.Forest == nil {
		return weights
	}
	list := l.Forest.Executions.List
	byStart := order.Numbers(len(list), func(a, b int32) int { return l.Forest.CompareStart(list[a].Row, list[b].Row) })
	tokens := engines.Tokens(l.Forest)
	loads := make(map[int32][]batching.Load)
	for _, i := range byStart {
		of := list[i].Weights
		if tokens != nil {
			of = tokens[i]
		}
		for k, w := range of {
			r, w := list[i].Requests[k], float64(w)
			weights[r] = max(weights[r], w)
			loads[r] = append(loads[r], batching.Load{Weight: w})
		}
	}
	for r, of := range loads {
		tokens, _ := batching.PromptOf(of)
		weights[r] = max(weights[r], float64(tokens))
	}
	l.addStated(weights)
	return weights
}

// addStated adds the tokens of prompts that requests state, if all do: requests of executions, or without any all with
// operations.
func (l *list) addStated(weights map[int32]float64) {
	stated := make(map[int32]float64)
	owner := l.Forest.RequestOwners()
	for q := range engines.Find(l.Forest, nil, key.Filter{}).All {
		if q.TokensIn.V > q.Cached.V {
			stated[owner[q.Node.Row]] = float64(q.TokensIn.V - q.Cached.V)
		}
	}
	rows := slices.Collect(maps.Keys(weights))
	if len(l.Forest.Executions.List) == 0 {
		for _, r := range l.Forest.Devices.ByStart {
			if owner[r] != trace.NoRow {
				rows = append(rows, owner[r])
			}
		}
	}
	if slices.ContainsFunc(rows, func(r int32) bool { return stated[r] == 0 }) {
		return
	}
	for _, r := range rows {
		weights[r] = max(weights[r], stated[r])
	}
}

// isHeavy reports whether a request has more than twice the usual weight: its work explains its time.
func (l *list) isHeavy(s *requests.Standout) bool {
	const times = 2
	own := 0.0
	var all []float64
	for r, w := range l.weights() {
		if int(r) < l.Forest.Len() {
			if n := l.Forest.Node(r); n.TraceID() == s.TraceID && n.SpanID() == s.SpanID {
				own = w
			}
			all = append(all, w)
		}
	}
	slices.Sort(all)
	return len(all) > 0 && own > times*all[len(all)/2]
}

// queues finds requests waiting for others before their first operation.
func (l *list) queues() (all []candidate) {
	for i := range l.Alike {
		a := &l.Alike[i]
		who := units.Plural(a.Count, "request") + " " + l.named(a.Name)
		if l.byRequest && l.enough(a.IdleNS) && len(l.engineHost()) == 0 { // the same time
			f := says(SlowRequest, Where{Section: "critical_path", Operation: a.Name},
				"%s waited in a queue for %s while their engine was idle. It may wait for more requests.", who, l.part(a.IdleNS))
			f.Evidence = []Evidence{lasts("in the queue of an idle engine", a.IdleNS), lasts("in the queue", a.QueuedNS)}
			f.Try = "a shorter window for batches: begin while the engine is idle"
			const left = 0.05 // of the time between executions, for what the host does
			at := replay.Change{Kind: replay.Host, Factor: left}
			all = append(all, candidate{Finding: f, changes: []replay.Change{at}, atMost: true})
		}
		queued := a.QueuedNS - a.Count*l.halfStep()          // a request waits for the step running at its arrival
		if queued <= 0 || !l.byRequest && len(l.Steps) > 0 { // steps of a loop follow each other
			continue
		}
		f := says(SlowRequest, Where{Section: "critical_path", Operation: a.Name},
			"%s waited in a queue, for %s before their first operation, while others ran.", who, l.part(a.QueuedNS))
		f.Evidence = []Evidence{lasts("in the queue", a.QueuedNS), lasts("all requests", a.DurationNS)}
		f.Try = "a second replica, larger batches, or fewer requests at a time"
		c := candidate{Finding: f, saving: replay.Saving{NS: queued, HighNS: queued}, atMost: true, isEffect: true}
		second := []replay.Change{{Kind: replay.Replicas, Factor: 2}}
		var saving replay.Saving
		if l.byRequest && l.enough(queued) && l.replay(&saving, second) {
			c.saving = saving
			c.changes = second
			c.atMost = false
		}
		all = append(all, c)
	}
	return all
}

// halfStep returns half of the mean duration of shared executions, 0 without any.
func (l *list) halfStep() int64 {
	if l.Forest == nil || len(l.Forest.Executions.List) == 0 {
		return 0
	}
	sum := int64(0)
	for i := range l.Forest.Executions.List {
		sum += l.Forest.Duration(l.Forest.Executions.List[i].Row)
	}
	return sum / int64(2*len(l.Forest.Executions.List))
}

// failedRequests adds the findings on failed requests.
func (l *list) failedRequests() {
	for i := range l.Alike {
		if a := &l.Alike[i]; a.Failed > 0 {
			f := says(failed, Where{Section: "critical_path", Operation: a.Name}, "%s of %s %s ended with an error.",
				units.Count(a.Failed), units.Plural(a.Count, "request"), l.named(a.Name))
			l.failed = append(l.failed, f.by("errors"))
		}
	}
}

// slowRequests finds requests slower than others of their name, by the cause of their waiting.
func (l *list) slowRequests() (all []candidate) {
	for i := range l.Alike {
		a := &l.Alike[i]
		s := a.Slow
		if s == nil || a.ChanceOf > maxChance || !l.byRequest {
			continue
		}
		f := says(SlowRequest, whereRequest(s),
			"The slowest %s took %s, the median %s. %s of %s took %d times the median.%s",
			l.named(a.Name), units.Duration(s.DurationNS), units.Duration(s.MedianNS), units.Count(a.SlowCount),
			units.Count(a.Count), requests.Slower, cause(s))
		f.Chance = op.KnownFloat(a.ChanceOf)
		f.Evidence = []Evidence{figure("chance", a.ChanceOf, "ratio"), lasts("longest", s.DurationNS)}
		f.Try = "compare its inputs with those of a typical request"
		all = append(all, candidate{Finding: f, saving: replay.Saving{NS: s.BeyondNS}, atMost: true, isEffect: true})
	}
	return all
}

// engineHost finds engines that are idle from one shared execution to the next while a request is under way: between the
// executions, or else between their operations.
func (l *list) engineHost() []candidate {
	if l.Forest == nil || len(l.Forest.Executions.List) == 0 || !l.byRequest {
		return nil
	}
	const (
		most = 0.12 // between executions
		much = 0.2  // between operations: the first one of a step is launched in it
		rare = 0.05 // in pauses
	)
	works := l.executionSpans()
	g := l.gapsBetween(works, false)
	if !g.are(most) {
		devices := l.gapsBetween(works, true)
		_, ns, _ := devices.pauses()
		if !devices.are(much) && !(devices.are(rare) && 2*ns > devices.ns) {
			return nil
		}
		g = devices
	}
	n := int64(len(g.list))
	left := 0.2 // of the gaps, unless operations tell the host's time within steps
	if g.within > 0 {
		left = min(1, float64(g.within)/float64(len(works))*float64(n)/float64(g.ns))
	}
	shorter := replay.Change{Kind: replay.Host, Factor: math.Ceil(100*left) / 100}
	f := says(HostGap, Where{Section: "critical_path"},
		"The engine is idle for %s between steps, %s at a time, while requests wait.", units.Duration(g.ns),
		units.Duration(g.ns/n))
	f.Evidence = []Evidence{times("gaps", n), lasts("gaps", g.ns), lasts("steps", g.steps)}
	f.Try = "prepare the next step while the device computes this one"
	if long, ns, usual := g.pauses(); 2*ns > g.ns {
		f.Rule = "pauses"
		f.Text = fmt.Sprintf("The engine pauses %s between steps, for %s in the mean, while requests wait; other gaps "+
			"take %s.", units.Plural(long, "time"), units.Duration(ns/long), units.Duration(usual))
		f.Evidence = append(f.Evidence, times("pauses", long), lasts("pauses", ns))
		f.Try = "look for what stops the host now and then: garbage collection, logs, other processes"
		shorter = replay.Change{Kind: replay.Pauses}
	}
	return []candidate{{Finding: f, changes: []replay.Change{shorter}, atMost: true}}
}

// gaps are times of engines between executions while a request is under way. steps is the time of executions, within the part
// of it without an operation on a device.
type gaps struct {
	list              []int64
	ns, steps, within int64
}

// are reports whether ten gaps have a share of the time.
func (g *gaps) are(much float64) bool {
	return len(g.list) >= 10 && float64(g.ns) >= much*float64(g.ns+g.steps)
}

// longer is how many times the usual time a pause takes.
const longer = 8

// pauses returns the number and the sum of rare gaps far longer than the usual one.
func (g *gaps) pauses() (n, ns, usual int64) {
	const rare = 10
	if len(g.list) == 0 {
		return 0, 0, 0
	}
	usual = sketch.Median(g.list)
	for _, gap := range g.list {
		if gap > longer*usual {
			n++
			ns += gap
		}
	}
	if rare*n > int64(len(g.list)) {
		return 0, 0, usual
	}
	return n, ns, usual
}

// came returns when the first of the new requests of each execution came to its engine: at the end of the last span below it
// that is over before. It is the end of time if none is new.
func (l *list) came(works []executionSpan) []int64 {
	f := l.Forest
	began := make(map[int32]int64) // requests
	for _, w := range works {
		for _, r := range w.Requests {
			if at, known := began[r]; !known || w.from < at {
				began[r] = w.from
			}
		}
	}
	last := requests.Came(f, f.RequestOwners(), began)
	came := make([]int64, len(works))
	for i, w := range works {
		came[i] = math.MaxInt64 / 2
		for _, r := range w.Requests {
			if began[r] == w.from && int(r) < f.Len() {
				at := f.Start(r)
				if last[r] != r {
					at = f.End(last[r])
				}
				came[i] = min(came[i], at)
			}
		}
	}
	return came
}

// gapsBetween returns the gaps between executions, given by start, or between their operations, while a request has had
// one and not its last one, or waits for its first one since before, or for far longer than requests of idle engines do.
func (l *list) gapsBetween(works []executionSpan, operations bool) (g gaps) {
	type engine struct {
		service string
		device  int32
	}
	before := make(map[engine]*executionSpan)
	type served struct {
		engine
		request int32
	}
	first, last := make(map[served]int), make(map[served]int)
	for i, w := range works {
		for _, r := range w.Requests {
			of := served{engine{l.Forest.Service(w.Row), w.device}, r}
			if _, known := first[of]; !known {
				first[of] = i
			}
			last[of] = i
		}
	}
	came := l.came(works)
	var delays []int64 // of engines without a request
	for i, w := range works {
		of := engine{l.Forest.Service(w.Row), w.device}
		if ended := before[of]; ended != nil && came[i] >= ended.to && came[i] < w.from {
			delays = append(delays, w.from-came[i])
		}
		before[of] = &works[i]
	}
	clear(before)
	usual := int64(0)
	if len(delays) > 0 {
		usual = sketch.Median(delays)
	}
	running := make(map[engine]int)
	for i := range works {
		w := works[i]
		if operations && w.busy > 0 {
			w.from, w.to = w.first, w.last
		}
		of := engine{l.Forest.Service(w.Row), w.device}
		ended := before[of]
		before[of] = &w
		g.steps += w.to - w.from
		if w.busy > 0 {
			g.within += max(0, w.to-w.from-w.busy)
		}
		if ended != nil && w.from > ended.to {
			from := ended.to
			if running[of] == 0 {
				from = max(from, came[i]+usual)
			}
			if from == ended.to || w.from-came[i] > longer*usual && usual > 0 {
				g.list = append(g.list, w.from-from)
				g.ns += w.from - from
			}
		}
		for _, r := range w.Requests {
			if first[served{of, r}] == i {
				running[of]++
			}
			if last[served{of, r}] == i {
				running[of]--
			}
		}
	}
	return g
}

// executionSpan is the time of a shared execution, or of one of its steps. device is the first one of its operations.
type executionSpan struct {
	*trace.Execution
	from, to, busy int64
	first, last    int64 // of its operations
	step           int64
	device         int32
}

// executionSpans returns the shared executions by start. One of several steps, such as a batch that runs to its longest
// answer, is divided among these.
func (l *list) executionSpans() []executionSpan {
	f := l.Forest
	all := make([]executionSpan, len(f.Executions.List))
	at := make([]int, len(all)) // the current step of each execution
	for i := range all {
		x := &f.Executions.List[i]
		from, to := f.Start(x.Row), f.End(x.Row)
		all[i] = executionSpan{Execution: x, from: from, to: to, first: to, last: from, device: math.MaxInt32}
		at[i] = i
	}
	for _, r := range f.Devices.ByStart {
		x := f.Executions.Of[r]
		if x == trace.NoExecution || !f.CountsInSums(r) || f.Has(r, trace.FlagHost) {
			continue
		}
		w := &all[at[x]]
		switch {
		case !f.Has(r, trace.FlagStep):
		case w.busy > 0 && f.Step(r) > w.step && f.Start(r) >= w.last:
			next := *w
			w.to = w.last
			next.from, next.first, next.last, next.busy, next.step = f.Start(r), next.to, f.Start(r), 0, f.Step(r)
			at[x] = len(all)
			all = append(all, next)
			w = &all[at[x]]
		default:
			w.step = max(w.step, f.Step(r))
		}
		w.first = min(w.first, f.Start(r))
		w.last = max(w.last, f.End(r))
		w.busy += f.Duration(r)
		w.device = min(w.device, f.Device(r))
	}
	slices.SortStableFunc(all, func(a, b executionSpan) int { return cmp.Compare(a.from, b.from) })
	return all
}

func whereRequest(s *requests.Standout) Where {
	return Where{
		Section: "critical_path", TraceID: s.TraceID, SpanID: s.SpanID,
		FromNS: op.Known(s.StartNS), ToNS: op.Known(s.StartNS + s.DurationNS),
	}
}

func cause(s *requests.Standout) string {
	if len(s.Causes) == 0 {
		return ""
	}
	return " " + s.Causes[0].Text
}
