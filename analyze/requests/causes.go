package requests

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// The causes of waiting. Together they add up to the duration of a request.
const (
	// CauseCompute, CauseMemory and CauseOther are operations on its critical path.
	CauseCompute = "compute"
	CauseMemory  = "memory"
	CauseOther   = "other"
	// CauseStraggler is the time in a collective until the last device arrives, CauseCommunication the rest of it.
	CauseStraggler     = "straggler"
	CauseCommunication = "communication"
	// CauseLaunch is time on the path until the launch of the next operation, CauseQueue from there to its start.
	CauseLaunch = "launch"
	CauseQueue  = "queue"
	// CauseBefore, CauseHost and CauseAfter are time without an operation on the path before the first operation,
	// between two, and after the last, if the launch is unknown.
	CauseBefore = "before"
	CauseHost   = "host"
	CauseAfter  = "after"
)

// Slow is the slowest request with the causes of its duration.
type Slow struct {
	Name       string     `json:"name"`
	Service    string     `json:"service"`
	TraceID    op.TraceID `json:"trace_id"`
	SpanID     op.SpanID  `json:"span_id"`
	StartNS    int64      `json:"start_unix_ns"`
	DurationNS int64      `json:"duration_ns"`
	// Alike is the number of requests of the same name and service, MedianNS the median of their durations.
	Alike    int64 `json:"alike"`
	MedianNS int64 `json:"median_ns"`
	// Causes divide the duration, the largest first.
	Causes []Cause `json:"causes"`
}

// Cause is one reason for the duration of a request.
type Cause struct {
	Cause  string  `json:"cause"`
	TimeNS int64   `json:"ns"`
	Share  float64 `json:"share"`
	// Parts divide the time, the largest first.
	Parts []CausePart `json:"parts"`
	// Text is a sentence with these figures.
	Text string `json:"text"`
}

// CausePart is a part of the time of a cause.
type CausePart struct {
	// Operation is the operation or, outside operations, the span. Key is its device, or for a straggler the late
	// device. It is the zero Key outside operations.
	Operation string `json:"operation"`
	device.Key
	TimeNS int64 `json:"ns"`
	// Meanwhile is the operation with the longest time on a device during this part, for MeanwhileNS, "" if the device
	// was idle. For a straggler it ran on the late device, else on MeanwhileDevice, the device of the next operation,
	// and for another trace.
	Meanwhile       string `json:"meanwhile,omitempty"`
	MeanwhileNS     int64  `json:"meanwhile_ns,omitzero"`
	MeanwhileDevice string `json:"meanwhile_device,omitempty"`
}

// Slowest returns the slowest request with an operation on its path, nil without one. joins returns collectives.
func Slowest(f *trace.Forest, joins func() *collective.Joins) *Slow {
	all := Find(f)
	requests := slices.DeleteFunc(all.List, func(q Request) bool {
		return q.Root.IsZero() || !q.StartNS.Known || q.DurationNS.V == 0
	})
	if len(requests) == 0 {
		return nil
	}
	slices.SortFunc(requests, func(a, b Request) int {
		return cmp.Or(cmp.Compare(b.DurationNS.V, a.DurationNS.V), f.CompareStart(a.Root.Row, b.Root.Row))
	})
	all.causes = newCauseFinder(f, joins())
	for i := range requests {
		q := &requests[i]
		causes := all.Causes(q)
		if !slices.ContainsFunc(causes, func(c Cause) bool { return !c.isOutside() }) {
			continue
		}
		slow := &Slow{
			Name: q.Name, Service: q.Service, TraceID: q.TraceID, SpanID: q.SpanID,
			StartNS: q.StartNS.V, DurationNS: q.DurationNS.V, Causes: causes,
		}
		var alike []int64 // the longest first
		for _, other := range requests {
			if other.Name == q.Name && other.Service == q.Service {
				alike = append(alike, other.DurationNS.V)
			}
		}
		slow.Alike = int64(len(alike))
		slow.MedianNS = alike[(len(alike)-1)/2]
		return slow
	}
	return nil
}

// Causes divides the duration of a request of r, the largest part first. A request without a start has no causes.
func (r *Requests) Causes(q *Request) []Cause {
	if !q.StartNS.Known || q.Root.IsZero() {
		return nil
	}
	if r.causes == nil {
		r.causes = newCauseFinder(r.forest, collective.FindJoins(r.forest))
	}
	return r.causes.causes(q.Root.Row)
}

type causeFinder struct {
	forest *trace.Forest
	walk   path.Walk
	joins  *collective.Joins
	latest map[int32]int32       // part to begin, by collective
	parts  map[causeKey]*partSum // of the current request
}

func newCauseFinder(f *trace.Forest, joins *collective.Joins) *causeFinder {
	return &causeFinder{forest: f, joins: joins, latest: make(map[int32]int32)}
}

// last returns the last part to begin of the collective in row r. ok is false unless r waited for it.
func (c *causeFinder) last(r int32) (last int32, ok bool) {
	f := c.forest
	number := c.joins.Number(r)
	if number == trace.NoRow || !f.Has(r, trace.FlagStart) {
		return trace.NoRow, false
	}
	last, ok = c.latest[number]
	if !ok {
		last = r
		for _, part := range c.joins.Of(number) {
			if f.Has(part.Row, trace.FlagStart) && f.CompareStart(last, part.Row) < 0 {
				last = part.Row
			}
		}
		c.latest[number] = last
	}
	return last, f.Start(r) < f.Start(last) && f.Start(last) < f.End(r)
}

// causes divides the critical path of the request in row r.
func (c *causeFinder) causes(r int32) []Cause {
	f := c.forest
	var segments []path.Window // the last first
	c.walk.Run(f, path.Window{Row: r, From: f.Start(r), To: f.End(r)}, nil, nil, func(row int32, from, to int64) {
		segments = append(segments, path.Window{Row: row, From: from, To: to})
	})
	slices.Reverse(segments)
	c.parts = make(map[causeKey]*partSum)
	cause := CauseBefore
	for len(segments) > 0 {
		next := trace.NoRow
		outside := slices.IndexFunc(segments, func(s path.Window) bool { return f.IsDeviceSide(s.Row) })
		switch outside {
		case 0:
			c.addOperation(segments[0])
			segments = segments[1:]
			cause = CauseHost
			continue
		case -1:
			outside = len(segments)
			cause = CauseAfter
		default:
			next = segments[outside].Row
		}
		c.addOutside(segments[:outside], next, cause, f.Duration(r)/minMeanwhile)
		segments = segments[outside:]
	}
	return c.largestFirst(f.Duration(r))
}

func (c *causeFinder) addOperation(s path.Window) {
	f := c.forest
	switch timeline.ClassOf(f.Kind(s.Row)) {
	case timeline.ClassCompute:
		c.add(CauseCompute, s)
	case timeline.ClassMemory:
		c.add(CauseMemory, s)
	case timeline.ClassCommunication:
		if last, ok := c.last(s.Row); ok && s.From < f.Start(last) {
			until := min(s.To, f.Start(last))
			part := c.part(CauseStraggler, s.Row, f.DeviceKey(last))
			part.TimeNS += until - s.From
			c.addMeanwhile(part, last, path.Window{Row: s.Row, From: s.From, To: until}, "", false)
			s.From = until
		}
		c.add(CauseCommunication, s)
	default:
		c.add(CauseOther, s)
	}
}

// minMeanwhile is the least waiting time, as the inverse of its fraction of the request, for a look at its device.
const minMeanwhile = 1000

// addOutside adds time before operation next. Segments of least ns or more name the operation meanwhile.
func (c *causeFinder) addOutside(spans []path.Window, next int32, cause string, least int64) {
	f := c.forest
	if next != trace.NoRow && f.Has(next, trace.FlagLaunch) {
		from := spans[0].From
		to := spans[len(spans)-1].To
		launch := min(max(f.Launch(next), from), to)
		c.add(CauseLaunch, path.Window{Row: next, From: from, To: launch})
		c.addWaiting(CauseQueue, path.Window{Row: next, From: launch, To: to}, next, least)
		return
	}
	for _, s := range spans {
		c.addWaiting(cause, s, next, least)
	}
}

// addWaiting adds a segment before operation next, and operations of other traces on its device meanwhile.
func (c *causeFinder) addWaiting(cause string, s path.Window, next int32, least int64) {
	part := c.add(cause, s)
	if part == nil || next == trace.NoRow || s.To-s.From < least {
		return
	}
	device := c.forest.DeviceKey(next).Label(c.forest.Devices.Ranks)
	c.addMeanwhile(part, next, s, device, true)
}

const maxMeanwhile = 256

// addMeanwhile adds the times of operations on the device of row last during s, only of other traces if others is set.
func (c *causeFinder) addMeanwhile(part *partSum, last int32, s path.Window, device string, others bool) {
	f := c.forest
	rows := f.Devices.Of(f.Device(last))
	i := sort.Search(len(rows), func(i int) bool { return f.Start(rows[i]) >= s.To })
	for first := max(0, i-maxMeanwhile); i > first; i-- {
		r := rows[i-1]
		ns := min(s.To, f.End(r)) - max(s.From, f.Start(r))
		if ns > 0 && r != last && !(others && f.Trace(r) == f.Trace(last)) {
			part.meanwhile[meanwhileKey{f.RowName(r), device}] += ns
		}
	}
}

type causeKey struct {
	cause, operation string
	device           device.Key
}

// partSum is a part with the times of operations meanwhile.
type partSum struct {
	CausePart
	meanwhile map[meanwhileKey]int64
}

// meanwhileKey is an operation meanwhile, with its device unless it is the part's.
type meanwhileKey struct{ operation, device string }

func (k meanwhileKey) compare(o meanwhileKey) int {
	return cmp.Or(strings.Compare(k.operation, o.operation), strings.Compare(k.device, o.device))
}

// add adds a segment and returns its part, nil for an empty segment.
func (c *causeFinder) add(cause string, s path.Window) *partSum {
	if s.From == s.To {
		return nil
	}
	var device device.Key
	if c.forest.Has(s.Row, trace.FlagOp) {
		device = c.forest.DeviceKey(s.Row)
	}
	part := c.part(cause, s.Row, device)
	part.TimeNS += s.To - s.From
	return part
}

func (c *causeFinder) part(cause string, row int32, device device.Key) *partSum {
	key := causeKey{cause, c.forest.RowName(row), device}
	part := c.parts[key]
	if part == nil {
		part = &partSum{CausePart{Operation: key.operation, Key: device}, make(map[meanwhileKey]int64)}
		c.parts[key] = part
	}
	return part
}

func (c *causeFinder) largestFirst(duration int64) []Cause {
	byCause := make(map[string]*Cause)
	for key, part := range c.parts {
		cause := order.At(byCause, key.cause)
		cause.Cause = key.cause
		for k, ns := range part.meanwhile {
			known := meanwhileKey{part.Meanwhile, part.MeanwhileDevice}
			if ns > part.MeanwhileNS || ns == part.MeanwhileNS && k.compare(known) < 0 {
				part.Meanwhile = k.operation
				part.MeanwhileDevice = k.device
				part.MeanwhileNS = ns
			}
		}
		cause.TimeNS += part.TimeNS
		cause.Parts = append(cause.Parts, part.CausePart)
	}
	causes := []Cause{}
	for _, cause := range byCause {
		slices.SortFunc(cause.Parts, func(a, b CausePart) int {
			return cmp.Or(
				cmp.Compare(b.TimeNS, a.TimeNS), strings.Compare(a.Operation, b.Operation), a.Key.Compare(b.Key),
			)
		})
		cause.Share = float64(cause.TimeNS) / float64(duration)
		cause.Text = cause.sentence(c.forest.Devices.Ranks)
		causes = append(causes, *cause)
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), strings.Compare(a.Cause, b.Cause))
	})
	return causes
}
