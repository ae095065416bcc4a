package findings

import (
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// longPrompts finds a request with far more work in shared steps than others. The others wait for it.
func (l *list) longPrompts() []candidate {
	if l.Forest == nil || !l.byRequest {
		return nil
	}
	const (
		least = 8
		times = 4
	)
	weights := l.weights()
	if len(weights) < least {
		return nil
	}
	sorted := make([]float64, 0, len(weights))
	largest := trace.NoRow
	for r, w := range weights {
		sorted = append(sorted, w)
		if largest == trace.NoRow || w > weights[largest] || w == weights[largest] && r < largest {
			largest = r
		}
	}
	slices.Sort(sorted)
	usual := sorted[len(sorted)*9/10]
	if weights[largest] < times*usual {
		return nil
	}
	n := l.Forest.Node(largest)
	id := n.TraceID()
	f := says(SlowRequest, Where{Section: "critical_path", TraceID: id, SpanID: n.SpanID()},
		"A long prompt stalls the batch: %s %s has a weight of %s, nine of ten others at most %s.", l.named(n.Name()),
		shortID(id), units.Count(int64(weights[largest])), units.Count(int64(usual)))
	f.Evidence = []Evidence{about("request", id.String()), figure("weight", weights[largest], "count")}
	f.Try = "split long prompts into chunks, or give them an engine of their own"
	return []candidate{{Finding: f, changes: change(replay.Without, "request="+id.String())}}
}

// shortID returns the first digits of an id, or the last ones of an id that begins with zeros.
func shortID(id op.TraceID) string {
	const digits = 8
	text := id.String()
	if strings.Trim(text[:digits], "0") == "" {
		return "…" + text[len(text)-digits:]
	}
	return text[:digits]
}

// weights returns the largest weight of each request in shared executions, as its prompt has. They are by row.
func (l *list) weights() map[int32]float64 {
	weights := make(map[int32]float64)
	if l.Forest == nil {
		return weights
	}
	for i := range l.Forest.Executions.List {
		x := &l.Forest.Executions.List[i]
		for k, r := range x.Requests {
			if x.Weights != nil {
				weights[r] = max(weights[r], float64(x.Weights[k]))
			}
		}
	}
	return weights
}

// isHeavy reports whether a request has more than twice the usual weight, so that its work explains its time.
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

// queues finds requests that wait for others before their first operation.
func (l *list) queues() (all []candidate) {
	for i := range l.Alike {
		a := &l.Alike[i]
		queued := a.QueuedNS - a.Count*l.halfStep() // a request waits for the step that runs when it arrives
		if queued <= 0 {
			continue
		}
		f := says(SlowRequest, Where{Section: "critical_path", Operation: a.Name},
			"%s waited in a queue, for %s before their first operation, while others ran.",
			units.Plural(a.Count, "request")+" "+l.named(a.Name), l.part(a.QueuedNS))
		f.Evidence = []Evidence{lasts("in the queue", a.QueuedNS), lasts("all requests", a.DurationNS)}
		f.Try = "a second replica, larger batches, or fewer requests at a time"
		c := candidate{Finding: f, saving: replay.Saving{NS: queued}, atMost: true, isEffect: true}
		second := []replay.Change{{Kind: replay.Replicas, Factor: 2}}
		if l.byRequest && l.enough(queued) && l.replay(&c.saving, second) {
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

// slowRequests finds requests slower than others of their name, by what they wait for.
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

// engineHost finds engines that are idle between shared executions while requests are under way.
func (l *list) engineHost() []candidate {
	if l.Forest == nil || len(l.Forest.Executions.List) == 0 || !l.byRequest {
		return nil
	}
	list := slices.Clone(l.Forest.Executions.List)
	slices.SortFunc(list, func(a, b trace.Execution) int { return l.Forest.CompareStart(a.Row, b.Row) })
	var gaps, steps, n int64
	in := make(map[int32]int) // the last execution of a request, from 1
	for i := range list {
		x := &list[i]
		steps += l.Forest.Duration(x.Row)
		shares := false
		for _, r := range x.Requests {
			shares = shares || i > 0 && in[r] == i
			in[r] = i + 1
		}
		if !shares {
			continue
		}
		if gap := l.Forest.Start(x.Row) - l.Forest.End(list[i-1].Row); gap > 0 {
			gaps += gap
			n++
		}
	}
	const much = 0.12
	if n < 10 || float64(gaps) < much*float64(gaps+steps) {
		return nil
	}
	left := 0.2 // of the gaps, unless operations tell the host's time within steps
	if within := l.hostWithinSteps(); within > 0 {
		left = min(1, float64(within)/float64(len(list))*float64(n)/float64(gaps))
	}
	f := says(HostGap, Where{Section: "critical_path"},
		"The engine is idle for %s between steps, %s at a time, while requests wait.", units.Duration(gaps),
		units.Duration(gaps/n))
	f.Evidence = []Evidence{times("gaps", n), lasts("gaps", gaps), lasts("steps", steps)}
	f.Try = "prepare the next step while the device computes this one"
	shorter := replay.Change{Kind: replay.Host, Factor: math.Ceil(100*left) / 100}
	return []candidate{{Finding: f, changes: []replay.Change{shorter}, atMost: true}}
}

// hostWithinSteps returns the time of steps besides their operations on devices, 0 without such operations.
func (l *list) hostWithinSteps() (ns int64) {
	busy := make([]int64, len(l.Forest.Executions.List))
	operations := false
	for r, x := range l.Forest.Executions.Of {
		if x != trace.NoExecution && l.Forest.CountsInSums(int32(r)) && !l.Forest.Has(int32(r), trace.FlagHost) {
			busy[x] += l.Forest.Duration(int32(r))
			operations = true
		}
	}
	if !operations {
		return 0
	}
	for i := range busy {
		ns += max(0, l.Forest.Duration(l.Forest.Executions.List[i].Row)-busy[i])
	}
	return ns
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
