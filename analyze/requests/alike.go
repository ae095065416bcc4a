package requests

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/chance"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Slower is the least ratio to the median of a slow request.
const Slower = 2

// Alike compares the requests with operations of one name and service.
type Alike struct {
	Name, Service string
	// Count is the number of requests, DurationNS the sum of their durations, MedianNS the median and P95NS the 95th
	// percentile.
	Count, DurationNS, MedianNS, P95NS int64
	// QueuedNS is the requests' time in a recorded queue before their first operations. QueuedIn divides it by the names
	// of the spans on the critical paths.
	QueuedNS int64
	QueuedIn map[string]int64
	// IdleNS is the part of QueuedNS with an idle engine, such as a window for batches, beyond the time of its host.
	IdleNS int64
	// BeforeNS is the requests' other time before their first operations: in spans ending before them, or before the
	// engine had the request. BeforeIn divides it by the names of spans. Failed counts failed requests.
	BeforeNS int64
	BeforeIn map[string]int64
	Failed   int64
	// AfterIn has the requests' time in spans that begin after their last operations, by the names of spans.
	AfterIn map[string]int64
	// First is the first request to start, if it takes Slower times the median of at least three others without their time in
	// a recorded queue, else nil.
	First *Standout
	// Slow is the slowest of the others, nil if it takes less than Slower times their median. SlowCount counts the
	// others above this limit. ChanceOf is the probability of the slowest by chance.
	Slow      *Standout
	SlowCount int64
	ChanceOf  float64
}

// Standout is a request slower than others.
type Standout struct {
	TraceID             op.TraceID
	SpanID              op.SpanID
	StartNS, DurationNS int64
	// MedianNS is the median of the others. BeyondNS is the time above it, of Alike.Slow over all slow requests.
	MedianNS, BeyondNS int64
	// Causes divides its time by cause, the largest first.
	Causes []Cause
}

// AlikeOf compares the requests of f, by name and service, the largest sum of durations first.
func AlikeOf(f *trace.Forest) []Alike {
	type name struct{ name, service string }
	all := Find(f)
	byName := make(map[name][]*Request)
	for i := range all.List {
		q := &all.List[i]
		isTop := len(f.Names.Operations.Values) == 0 && f.Tree.Parent[q.Root.Row] == trace.NoRow
		if q.DurationNS.V > 0 && q.StartNS.Known && (q.OwnNS+q.SharedNS > 0 || isTop) {
			byName[name{q.Name, q.Service}] = append(byName[name{q.Name, q.Service}], q)
		}
	}
	if len(byName) == 0 {
		return nil
	}
	queue := all.queueFinder()
	var walk path.Walk
	var list []Alike
	for n, requests := range byName { // each by start
		a := Alike{Name: n.name, Service: n.service, Count: int64(len(requests)), QueuedIn: make(map[string]int64)}
		a.BeforeIn = make(map[string]int64)
		served := make([]int64, len(requests)) // without the queue
		waited := make([]queued, 0, len(requests))
		for i, q := range requests {
			a.DurationNS += q.DurationNS.V
			served[i] = q.DurationNS.V
			if f.Has(q.Root.Row, trace.FlagFailed) {
				a.Failed++
			}
			window := path.Window{Row: q.Root.Row, From: q.StartNS.V, To: q.StartNS.V + q.QueueingNS.V}
			queued := queue.of(q)
			waited = append(waited, queued)
			walk.Run(f, window, nil, nil, func(row int32, from, to int64) {
				ns := queued.within(from, to)
				name := f.Node(row).Name()
				if ns > 0 {
					served[i] -= ns
					a.QueuedNS += ns
					a.QueuedIn[name] += ns
				}
				before := min(to, queued.from) - from
				switch {
				case f.IsDeviceSide(row): // of another engine
					before = 0
				case f.End(row) <= window.To:
					before = to - from - ns
				}
				if before > 0 {
					a.BeforeNS += before
					a.BeforeIn[name] += before
				}
			})
			after := path.Window{Row: q.Root.Row, From: max(q.worked, q.StartNS.V), To: q.StartNS.V + q.DurationNS.V}
			walk.Run(f, after, nil, nil, func(row int32, from, to int64) {
				if from >= after.From && f.Start(row) >= after.From && q.worked > 0 {
					if a.AfterIn == nil {
						a.AfterIn = make(map[string]int64)
					}
					a.AfterIn[f.Node(row).Name()] += to - from
				}
			})
		}
		a.IdleNS = window(waited)
		a.MedianNS = percentileOf(requests, 50)
		a.P95NS = percentileOf(requests, 95)
		const others = 3
		if first, rest := served[0], served[1:]; len(rest) >= others {
			slices.Sort(rest)
			if median := rest[sketch.Place(int64(len(rest)), 50)]; first >= Slower*median {
				a.First = all.standout(requests[0], median)
				requests = requests[1:]
			}
		}
		a.compare(all, requests)
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b Alike) int {
		return cmp.Or(cmp.Compare(b.DurationNS, a.DurationNS),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Service, b.Service))
	})
	return list
}

// compare sets the slowest of requests.
func (a *Alike) compare(all *Requests, requests []*Request) {
	slowest := requests[0]
	median := percentileOf(requests, 50)
	beyond := int64(0)
	durations := make([]float64, len(requests))
	for i, q := range requests {
		durations[i] = float64(q.DurationNS.V)
		if q.DurationNS.V > slowest.DurationNS.V {
			slowest = q
		}
		if q.DurationNS.V >= Slower*median {
			a.SlowCount++
			beyond += q.DurationNS.V - median
		}
	}
	if a.SlowCount == 0 {
		return
	}
	if a.ChanceOf = chance.Outlier(durations, float64(slowest.DurationNS.V)); a.ChanceOf < 1 {
		a.Slow = all.standout(slowest, median)
		a.Slow.BeyondNS = beyond
	}
}

func (r *Requests) standout(q *Request, median int64) *Standout {
	return &Standout{
		TraceID: q.TraceID, SpanID: q.SpanID, StartNS: q.StartNS.V, DurationNS: q.DurationNS.V, MedianNS: median,
		BeyondNS: q.DurationNS.V - median, Causes: r.Causes(q),
	}
}

func percentileOf(requests []*Request, percent int64) int64 {
	durations := make([]int64, len(requests))
	for i, q := range requests {
		durations[i] = q.DurationNS.V
	}
	slices.Sort(durations)
	return durations[sketch.Place(int64(len(durations)), percent)]
}
