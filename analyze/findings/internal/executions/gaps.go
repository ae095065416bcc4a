// Package executions has facts about the shared executions of engines: their work, the gaps between them, and the
// weights of their requests.
package executions

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/optrace/optrace/analyze/internal/serving"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// Gaps are times of engines between executions while a request is under way. Steps is the time of executions, Within the part
// of it without an operation on a device, Operations their number. First has the gaps before the first operations of requests,
// which are not in List.
type Gaps struct {
	List, First                   []int64
	NS, Steps, Within, Operations int64
	// Idle is the part of NS before executions of new requests of an idle engine, without pauses.
	Idle int64
	// Executions is the number of executions, of which few may have a gap.
	Executions int64
	// After and Until name the operations of devices with most of the time between them, LongestNS, if known.
	After, Until string
	LongestNS    int64
}

// Count returns the number of all gaps.
func (g *Gaps) Count() int64 { return int64(len(g.List) + len(g.First)) }

// Left returns the share that is left of the gaps if they are as short as those between operations within executions. It
// is 0 if there are none.
func (g *Gaps) Left() float64 {
	if g.Within == 0 {
		return 0
	}
	left := float64(g.Within) / float64(g.Operations) * float64(len(g.List)) / float64(g.NS)
	return math.Ceil(100*min(1, left)) / 100
}

// Are reports whether ten gaps have a share of the time.
func (g *Gaps) Are(much float64) bool {
	return g.Count() >= 10 && float64(g.NS) >= much*float64(g.NS+g.Steps)
}

// longer is how many times the usual time a pause takes.
const longer = 8

// Pauses returns the number and the sum of rare gaps far longer than the usual one. AreMost reports whether these have most of
// the time, beside that of idle engines.
func (g *Gaps) Pauses() (n, ns, usual int64, areMost bool) {
	const rare = 10
	for _, list := range [][]int64{g.First, g.List} {
		if len(list) == 0 {
			continue
		}
		usual = sketch.Median(list)
		var of, sum int64
		for _, gap := range list {
			if gap > longer*max(usual, int64(timeline.IdleThreshold)) {
				of++
				sum += gap
			}
		}
		if rare*of <= max(int64(len(list)), g.Executions) {
			n += of
			ns += sum
		}
	}
	return n, ns, usual, 2*ns > g.NS-g.Idle
}

// came returns when the first of the new requests of each execution came to its engine: at the end of the last span below it
// that is over before. It is the end of time if none is new.
func came(f *trace.Forest, works []Span) []int64 {
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
				came[i] = min(came[i], arrival(f, last[r], w.from))
			}
		}
	}
	return came
}

// arrival returns when a request came to its engine that begins with it at a time: at the end of a span, or at its begin if
// it goes on, as the request itself does.
func arrival(f *trace.Forest, came int32, first int64) int64 {
	if f.End(came) <= first {
		return f.End(came)
	}
	return f.Start(came)
}

// usualDelay returns the usual time from the arrival of a request at an idle engine to its execution, given all, and the host's
// part of it, if requests that wait for as long or longer tell that: what they wait behind the end of the execution before. The
// rest is a way to the engine, or a window for batches.
func usualDelay(delays []int64, behind [][2]int64) (usual, host int64) {
	const few = 5
	if len(delays) == 0 {
		return 0, 0
	}
	usual = sketch.Median(delays)
	var hosts []int64
	for _, waited := range behind {
		if waited[0] >= usual {
			hosts = append(hosts, waited[1])
		}
	}
	if len(hosts) >= few {
		host = min(usual, sketch.Median(hosts))
	}
	return usual, host
}

// Between returns the gaps between executions, given by start, or between their operations, while a request has had
// one and not its last one, or waits for its first one since before, or for far longer than requests of idle engines do.
func Between(f *trace.Forest, works []Span, operations bool) (g Gaps) {
	type engine struct {
		service string
		device  int32
	}
	before := make(map[engine]*Span)
	type served struct {
		engine
		request int32
	}
	first, last := make(map[served]int), make(map[served]int)
	for i, w := range works {
		for _, r := range w.Requests {
			of := served{engine{f.Service(w.Row), w.device}, r}
			if _, known := first[of]; !known {
				first[of] = i
			}
			last[of] = i
		}
	}
	came := came(f, works)
	var delays []int64    // of engines without a request
	var behind [][2]int64 // how long a request waited at the end of the execution before, and then
	for i, w := range works {
		of := engine{f.Service(w.Row), w.device}
		if ended := before[of]; ended != nil && came[i] >= ended.to && came[i] < w.from {
			delays = append(delays, w.from-came[i])
		} else if ended != nil && came[i] < ended.to && ended.to <= w.from {
			behind = append(behind, [2]int64{ended.to - came[i], w.from - ended.to})
		}
		before[of] = &works[i]
	}
	clear(before)
	usual, host := usualDelay(delays, behind)
	running := make(map[engine]int)
	answered := make(map[int32]int64) // by request, the end of its execution before on any engine
	for i := range works {
		w := works[i]
		if operations && w.busy > 0 {
			w.from, w.to = w.first, w.last
		}
		of := engine{f.Service(w.Row), w.device}
		ended := before[of]
		before[of] = &w
		g.Executions++
		g.Steps += w.to - w.from
		if w.busy > 0 {
			g.Within += max(0, w.to-w.from-w.busy)
			g.Operations += w.operations
		}
		if ended != nil && w.from > ended.to {
			from := ended.to
			if running[of] == 0 {
				from = max(from, came[i]+usual-host)
			}
			if at := w.ready(answered); at > from { // until then its requests were on other engines
				if from = at; w.from > from {
					g.List = append(g.List, w.from-from)
					g.NS += w.from - from
				}
			} else if isPause := w.from-came[i] > longer*usual && usual > 0; from == ended.to || isPause || host > 0 && w.from > from {
				g.List = append(g.List, w.from-from)
				if g.NS += w.from - from; from != ended.to && !isPause {
					g.Idle += w.from - from
				}
			}
		}
		for _, r := range w.Requests {
			answered[r] = w.to
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

// Span is the time of a shared execution, or of one of its steps. device is the first one of its operations.
type Span struct {
	*trace.Execution
	from, to, busy int64 // busy of its device
	first, last    int64 // of its operations
	step           int64
	operations     int64 // of its device
	device         int32
}

// ready returns the earliest end of the executions before of its requests, or 0 if one of them is new. New ones join others
// that all come from one execution, as groups of a pipeline do.
func (w *Span) ready(answered map[int32]int64) (at int64) {
	first, last := int64(math.MaxInt64), int64(0)
	isNew := false
	for _, r := range w.Requests {
		end, known := answered[r]
		isNew = isNew || !known
		if known {
			first, last = min(first, end), max(last, end)
		}
	}
	if isNew && first != last {
		return 0
	}
	return first
}

// Spans returns the shared executions of engines by start, without those within others. One of several steps, such as a batch
// that runs to its longest answer, is divided among these.
func Spans(f *trace.Forest) []Span {
	rows := serving.NewRows(f, f.RequestOwners())
	all := make([]Span, len(f.Executions.List))
	at := make([]int, len(all)) // the current step of each execution
	for i := range all {
		x := &f.Executions.List[i]
		from, to := f.Start(x.Row), f.End(x.Row)
		all[i] = Span{Execution: x, from: from, to: to, first: to, last: from, device: math.MaxInt32}
		at[i] = i
	}
	device := make([]int32, len(all))
	for i := range device {
		device[i] = math.MaxInt32
	}
	var parts []int32
	for _, r := range f.Devices.ByStart {
		if x := rows.ExecutionOf(r); x != trace.NoExecution && f.CountsInSums(r) && !f.Has(r, trace.FlagHost) {
			device[x] = min(device[x], f.Device(r))
			parts = append(parts, r)
		}
	}
	for _, r := range parts {
		x := rows.ExecutionOf(r)
		w := &all[at[x]]
		switch {
		case !f.Has(r, trace.FlagStep):
		case w.busy > 0 && f.Step(r) > w.step && f.Start(r) >= w.last:
			next := *w
			w.to = w.last
			next.from, next.first, next.last = f.Start(r), next.to, f.Start(r)
			next.busy, next.operations, next.step = 0, 0, f.Step(r)
			at[x] = len(all)
			all = append(all, next)
			w = &all[at[x]]
		default:
			w.step = max(w.step, f.Step(r))
		}
		w.first = min(w.first, f.Start(r))
		w.last = max(w.last, f.End(r))
		if f.Device(r) == device[x] { // the others work at the same time
			w.busy += f.Duration(r)
			w.operations++
		}
		w.device = min(w.device, f.Device(r))
	}
	all = slices.DeleteFunc(all, func(w Span) bool {
		return rows.Journeys[w.Row] || f.Executions.List[rows.ExecutionOf(w.Row)].Row != w.Row
	})
	slices.SortStableFunc(all, func(a, b Span) int { return cmp.Compare(a.from, b.from) })
	return all
}

// WithinRequests returns the gaps above a threshold in which a device waits for the next operation of a request: behind the
// operation before of this request on any device, or, of one that waited for its first operation, behind other requests. Where
// it was alone, it waits if it takes far longer than others that were.
func WithinRequests(f *trace.Forest, above time.Duration) (g Gaps) {
	owners := f.RequestOwners()
	ended := make([]int64, f.Len()) // of the operations before of the request, by row
	first, last := make(map[int32]int64), make(map[int32]int64)
	for _, r := range f.Devices.ByStart {
		if of := owners[r]; of != trace.NoRow && int(of) < f.Len() {
			ended[r] = last[of]
			if last[of] == 0 {
				first[of] = f.Start(r)
			}
			last[of] = max(last[of], f.End(r))
		}
	}
	came := requests.Came(f, owners, first)
	var alone []int64
	at := make(map[[2]int32]int64) // by the names on both sides
	for _, rows := range f.Devices.All() {
		before, end := trace.NoRow, int64(0)
		for _, r := range rows {
			start, of := f.Start(r), owners[r]
			from := max(end, ended[r])
			isOne := before != trace.NoRow && of != trace.NoRow && int(of) < f.Len()
			if isOne && (ended[r] > 0 || f.Start(of) < end) && start-from > int64(above) {
				g.NS += start - from
				beside := [2]int32{f.Name(before), f.Name(r)}
				at[beside] += start - from
				if at[beside] > g.LongestNS {
					g.LongestNS = at[beside]
					g.After, g.Until = f.RowName(before), f.RowName(r)
				}
				if ended[r] > 0 {
					g.List = append(g.List, start-from)
				} else {
					g.First = append(g.First, start-from)
				}
			} else if isOne && ended[r] == 0 && f.Start(of) >= end {
				alone = append(alone, start-arrival(f, came[of], start))
			}
			g.Steps += max(0, f.End(r)-max(start, end))
			before, end = r, max(end, f.End(r))
		}
	}
	if len(alone) > 0 {
		usual := sketch.Median(alone)
		for _, ns := range alone {
			if ns > longer*usual && ns > int64(above) {
				g.First = append(g.First, ns-usual)
				g.NS += ns - usual
			}
		}
	}
	return g
}

// Waited returns the time in which requests with operations of their own wait for devices that work for others.
func Waited(f *trace.Forest) (ns int64) {
	owners := f.RequestOwners()
	busy := make([]timeline.Times, len(f.Devices.Keys)) // by device
	for _, r := range f.Devices.ByStart {
		busy[f.Device(r)].Add(f.Start(r), f.End(r))
	}
	ended := make(map[int32]int64) // the operation before of each request
	for _, r := range f.Devices.ByStart {
		of := owners[r]
		if of == trace.NoRow || int(of) >= f.Len() {
			continue
		}
		from := max(f.Start(of), ended[of])
		if f.Start(r) > from {
			ns += busy[f.Device(r)].Within(from, f.Start(r))
		}
		ended[of] = max(ended[of], f.End(r))
	}
	return ns
}
