package findings

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/optrace/optrace/analyze/findings/internal/enginetext"
	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// longPrompts finds requests with far more work in shared steps than others. The others wait for them.
func (l *list) longPrompts() []candidate {
	if l.Forest == nil || !l.byRequest {
		return nil
	}
	x := executions.LongOnes(l.Forest, l.isOfTurns())
	if x.Long == 0 {
		return nil
	}
	n := l.Forest.Node(x.Rows[0])
	id := n.TraceID()
	stalls := "A long " + x.Kind + " stalls"
	if x.Long > 1 {
		stalls = units.Count(int64(x.Long)) + " long " + x.Kind + "s stall"
	}
	whom := "the batch"
	if len(l.Forest.Executions.List) == 0 {
		whom = "the others"
	}
	f := says(SlowRequest, Where{Section: "critical_path", TraceID: id, SpanID: n.SpanID()},
		"%s %s: %s %s %s %s, the others at most %s.", stalls, whom, l.named(n.Name()), enginetext.ShortID(id), x.Has,
		x.Amount(0), x.Amount(x.Long))
	c := candidate{Finding: f}
	for _, r := range x.Rows[:x.Long] {
		id := l.Forest.Node(r).TraceID().String()
		c.Evidence = append(c.Evidence, about("request", id), figure("weight", x.Weights[r], x.Unit))
		c.changes = append(c.changes, change(replay.Without, "request="+id)...)
	}
	c.Evidence = append(c.Evidence, figure("usual weight", x.Weights[x.Rows[x.Long]], x.Unit))
	if x.BySteps {
		c.Try = "let others join the batch and leave it at each step, or give long requests an engine of their own"
	}
	return []candidate{c}
}

// stalled suggests what to do about long prompts: the gain is without them, and chunks save another time. The smallest
// chunks are those that leave usual prompts whole.
func (l *list) stalled() []candidate {
	all := l.longPrompts()
	for i := range all {
		c := &all[i]
		if c.Try != "" {
			continue
		}
		size := math.Exp2(math.Ceil(math.Log2(max(1, c.Evidence[len(c.Evidence)-1].Value.(float64)))))
		var inChunks replay.Saving
		isTokens := c.Evidence[len(c.Evidence)-1].Unit != "ns"
		switch known := isTokens && l.replay(&inChunks, []replay.Change{{Kind: replay.Chunk, Factor: size}}); {
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

// window finds engines that wait for others to join a batch.
func (l *list) window() []candidate {
	w := l.windows()
	if !l.enough(w.NS) {
		return nil
	}
	f := says(SlowRequest, Where{Section: "critical_path"},
		"The engine is idle for %s while requests wait for others to join their batch, up to %s at a time.",
		units.Duration(w.NS), units.Duration(w.LongestNS))
	f.Evidence = []Evidence{times("windows", w.Count), lasts("windows", w.NS), lasts("longest window", w.LongestNS)}
	f.Try = "a shorter window for batches: begin while the engine is idle"
	return []candidate{{Finding: f, changes: []replay.Change{{Kind: replay.Window}}, atMost: true}}
}

// windows returns the windows of batches.
func (l *list) windows() (w replay.Windows) {
	if l.Replay != nil && l.byRequest {
		w = l.Replay().Windows()
	}
	return w
}

// queues finds requests waiting for others before their first operation.
func (l *list) queues() (all []candidate) {
	all = l.window()
	isWindow := all != nil
	for i := range l.Alike {
		a := &l.Alike[i]
		who := units.Plural(a.Count, "request") + " " + l.named(a.Name)
		if l.byRequest && !isWindow && l.enough(a.IdleNS) && len(l.engineHost()) == 0 { // the same time
			f := says(SlowRequest, Where{Section: "critical_path", Operation: a.Name},
				"%s waited in a queue for %s while their engine was idle. It may wait for more requests.", who, l.part(a.IdleNS))
			f.Evidence = []Evidence{lasts("in the queue of an idle engine", a.IdleNS), lasts("in the queue", a.QueuedNS)}
			f.Try = "a shorter window for batches: begin while the engine is idle"
			saving := replay.Saving{NS: a.IdleNS, HighNS: a.QueuedNS} // others wait for its batch
			all = append(all, candidate{Finding: f, saving: saving, atMost: true})
		}
		queued, isFull := a.QueuedNS, l.isFull()
		if !isFull { // a request waits for the step running at its arrival
			queued -= a.Count * executions.HalfStep(l.Forest)
		}
		if queued <= 0 || !l.byRequest && len(l.Steps) > 0 { // steps of a loop follow each other
			continue
		}
		f := says(SlowRequest, Where{Section: "critical_path", Operation: a.Name},
			"%s waited in a queue, for %s before their first operation, while others ran.", who, l.part(a.QueuedNS))
		f.Evidence = []Evidence{lasts("in the queue", a.QueuedNS), lasts("all requests", a.DurationNS)}
		f.Try = "a second replica, larger batches, or fewer requests at a time"
		c := candidate{Finding: f, saving: replay.Saving{NS: queued, HighNS: queued}, atMost: true, isEffect: true, stands: isFull}
		second := []replay.Change{{Kind: replay.Replicas, Factor: 2}}
		var saving replay.Saving
		if l.byRequest && l.enough(queued) && l.replay(&saving, second) {
			c.saving = saving
			c.changes = second
			c.atMost = false
		}
		all = append(all, c)
	}
	if len(all) == 0 && l.isOfTurns() {
		return l.waitsBetween()
	}
	return all
}

// isFull reports whether devices have work nearly all the time.
func (l *list) isFull() bool {
	const full = 0.85
	span := int64(0)
	for i := range l.Devices {
		span += l.Devices[i].SpanNS.V
	}
	return float64(l.busyNS()) >= full*float64(span)
}

// waitsBetween finds requests that take turns on devices and wait for them, also between their operations.
func (l *list) waitsBetween() []candidate {
	waited := executions.Waited(l.Forest)
	if !l.enough(waited) {
		return nil
	}
	f := says(SlowRequest, Where{Section: "critical_path"},
		"Requests wait for %s before and between their operations, while devices work for others.", l.part(waited))
	f.Evidence = []Evidence{lasts("waiting", waited)}
	f.Try = "a second replica, or fewer requests at a time"
	return []candidate{{Finding: f, changes: []replay.Change{{Kind: replay.Replicas, Factor: 2}}, isEffect: true}}
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
		all = append(all, candidate{
			Finding: f, saving: replay.Saving{Known: true, NS: s.BeyondNS, HighNS: s.BeyondNS}, atMost: true, isEffect: true,
			stands: true, changes: change(replay.Without, "request="+s.TraceID.String()),
		})
	}
	return all
}

// findEngineHost finds engines that are idle from one shared execution to the next while a request is under way: between
// the executions, or else between their operations. Without shared executions it looks between two operations of a request.
func (l *list) findEngineHost() []candidate {
	if l.Forest == nil || !l.byRequest {
		return nil
	}
	const (
		left     = 0.2  // of the gaps, unless operations tell the host's time within steps
		launches = 0.05 // what is left of gaps without the host's work
	)
	g, where := executions.OfHost(l.Forest)
	if where == "" {
		return nil
	}
	shorter := replay.Change{Kind: replay.Host, Factor: launches}
	if !l.isOfTurns() {
		shorter.Factor = cmp.Or(g.Left(), left)
		if service := executions.Service(l.Forest); service != "" { // others may work for its requests, too
			shorter.Select = "service=" + service
		}
	}
	n := g.Count()
	f := says(HostGap, Where{Section: "critical_path"},
		"The engine is idle for %s between steps, %s at a time, while requests wait.", units.Duration(g.NS),
		units.Duration(g.NS/n))
	f.Evidence = []Evidence{times("gaps", n), lasts("gaps", g.NS), lasts("steps", g.Steps)}
	f.Try = "prepare the next step while the device computes this one"
	if l.isOfTurns() {
		f.Text = fmt.Sprintf("The device is idle for %s before operations of waiting requests, %s at a time.",
			units.Duration(g.NS), units.Duration(g.NS/n))
		f.Try = "launch the next operations while the device computes these"
		l.addPlace(&f, &g)
	}
	served := int64(0)
	for i := range l.Alike {
		served += l.Alike[i].Count
	}
	const some = 4 // a gap in every so many requests is no rare one
	if long, ns, usual, areMost := g.Pauses(); areMost && (!l.isOfTurns() || some*long <= served) {
		f.Rule = "pauses"
		f.Text = fmt.Sprintf("The engine pauses %s between %s, for %s in the mean, while requests wait; other gaps "+
			"take %s.", units.Plural(long, "time"), where, units.Duration(ns/long), units.Duration(usual))
		f.Evidence = append(f.Evidence, times("pauses", long), lasts("pauses", ns))
		if where == executions.AtCollectives {
			f.Text = fmt.Sprintf("The host of a device pauses %s for %s in the mean, and all other devices wait for it in a "+
				"collective.", units.Plural(long, "time"), units.Duration(ns/long))
			f.Evidence = []Evidence{times("pauses", long), lasts("pauses", ns)}
		}
		f.Try = "look for what stops the host now and then: garbage collection, logs, other processes"
		shorter = replay.Change{Kind: replay.Pauses}
	} else if between := l.network(); 2*l.windows().NS > g.NS || between != nil && 2*between[0].saving.NS > g.NS {
		return nil // the same time
	}
	if executions.Alternate(l.Forest, l.whole) {
		f.Text += " No two devices work at the same time."
		f.Try = "look for a lock that lets one device work at a time"
	}
	c := candidate{Finding: f, changes: []replay.Change{shorter}, atMost: true}
	if shorter.Kind == replay.Host && l.isOfTurns() && l.replay(&c.saving, c.changes) { // without what comes before operations
		before := int64(0)
		for i := range l.Alike {
			before += int64((1 - shorter.Factor) * float64(l.Alike[i].BeforeNS))
		}
		c.saving.NS -= before
		c.saving.HighNS -= before
	}
	return []candidate{c}
}

// isOfTurns reports whether requests have operations of their own only.
func (l *list) isOfTurns() bool {
	return l.byRequest && l.Forest != nil && len(l.Forest.Executions.List) == 0
}

// addPlace says in a finding on gaps of devices between which operations most of the time is, and what the host does
// there.
func (l *list) addPlace(f *Finding, g *executions.Gaps) {
	if g.LongestNS == 0 {
		return
	}
	if before, _, ok := strings.Cut(f.Text, ", "); ok && 2*g.LongestNS >= g.NS {
		f.Text = before + "."
	}
	f.Text += fmt.Sprintf(" It is idle longest after %s, until %s: for %s in all", l.named(g.After), l.named(g.Until),
		units.Duration(g.LongestNS))
	f.Evidence = append(f.Evidence, about("after", g.After), about("until", g.Until), lasts("idle there", g.LongestNS))
	if host, isWithin := hostcalls.HostBetween(l.Places, g.After, g.Until, g.LongestNS); host != "" {
		f.Text += ", while the host is in " + l.named(host)
		f.Evidence = append(f.Evidence, about("host", host))
		if !isWithin {
			f.Try = "do this on another thread, and begin the next request meanwhile"
		}
	}
	f.Text += "."
}

// after finds requests with much time in spans that begin after their last operations.
func (l *list) after() (all []candidate) {
	others := make(map[string]int64)
	for _, c := range l.takingTurns() {
		maps.Copy(others, c.before)
	}
	for i := range l.Alike {
		a := &l.Alike[i]
		most, ns, _ := hostcalls.Rest(a.AfterIn, nil, others)
		if !l.byRequest || l.Forest == nil || !l.enough(ns) {
			continue
		}
		f := says(HostGap, Where{Section: "critical_path", Operation: most}, "%s %s spend %s after their last operation, %s each, mostly in %s.",
			units.Plural(a.Count, "request"), l.named(a.Name), l.part(ns), units.Duration(ns/a.Count), l.named(most))
		f.Evidence = []Evidence{about("span", most), lasts("after the last operation", ns)}
		f.Try = "more workers, less work on the host, or an answer before it is done"
		c := candidate{Finding: f, saving: replay.Saving{NS: ns, HighNS: ns}, atMost: true}
		if waits, of, below := hostcalls.WaitsBelow(l.Forest, a.AfterIn); l.enough(waits) {
			c.Text += fmt.Sprintf(" %s waits %s of it before %s begins, as others end.", l.named(of), units.Duration(waits), l.named(below))
			c.saving.NS = min(ns, waits)
		}
		all = append(all, c)
	}
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
