package analyze

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/op"
)

// The causes for which a request waits. Together they make up its duration.
const (
	// CauseCompute, CauseMemory and CauseOther are operations on its critical path.
	CauseCompute = "compute"
	CauseMemory  = "memory"
	CauseOther   = "other"
	// CauseStraggler is the time in a collective until the last device had begun it,
	// CauseCommunication the rest of the time in collectives.
	CauseStraggler     = "straggler"
	CauseCommunication = "communication"
	// CauseLaunch is the time without an operation on the path until the host had launched
	// the next one, CauseQueue the time from there to its start.
	CauseLaunch = "launch"
	CauseQueue  = "queue"
	// CauseBefore, CauseHost and CauseAfter are the time without an operation on the path
	// before the first, between two and behind the last, where no launch is known.
	CauseBefore = "before"
	CauseHost   = "host"
	CauseAfter  = "after"
)

// SlowRequest is the slowest request and what it waited for.
type SlowRequest struct {
	Name    string     `json:"name"`
	Service string     `json:"service"`
	TraceID op.TraceID `json:"trace_id"`
	SpanID  op.SpanID  `json:"span_id"`
	// StartNS is in Unix nanoseconds.
	StartNS    int64 `json:"start_unix_ns"`
	DurationNS int64 `json:"duration_ns"`
	// Alike is how many requests have the name and the service, MedianNS the median of
	// their durations.
	Alike    int64 `json:"alike"`
	MedianNS int64 `json:"median_ns"`
	// Causes divide the duration, the largest first.
	Causes []RequestCause `json:"causes"`
}

// RequestCause is a cause for which a request waited.
type RequestCause struct {
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
	// Operation is the operation or, outside operations, the span.
	Operation string `json:"operation"`
	// DeviceKey is the device that the operation ran on; of a straggler, that which the
	// others waited for. It is the zero DeviceKey outside operations.
	DeviceKey
	TimeNS int64 `json:"ns"`
	// Meanwhile is the operation that ran longest on a device in this time, for MeanwhileNS;
	// "" where none ran. Of a straggler it is the device that the others waited for, and
	// otherwise MeanwhileDevice, that of the next operation, and operations of other traces.
	Meanwhile       string `json:"meanwhile,omitempty"`
	MeanwhileNS     int64  `json:"meanwhile_ns,omitzero"`
	MeanwhileDevice string `json:"meanwhile_device,omitempty"`
}

// slowestRequest returns the slowest request with an operation on its critical path, nil
// if there is none. joins returns the collectives of several devices.
func (f *Forest) slowestRequest(joins func() *joins) *SlowRequest {
	f.build()
	rows := f.requestRows()
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b int32) int {
		return cmp.Or(cmp.Compare(f.duration(b), f.duration(a)), cmp.Compare(f.start(a), f.start(b)), cmp.Compare(a, b))
	})
	finder := &causeFinder{forest: f, joins: joins()}
	for _, r := range rows {
		causes := finder.causes(r)
		if !slices.ContainsFunc(causes, func(c RequestCause) bool { return !c.isOutside() }) {
			continue
		}
		n := f.node(r)
		slow := &SlowRequest{
			Name: n.Name(), Service: n.Service(), TraceID: n.TraceID(), SpanID: n.SpanID(),
			StartNS: f.start(r), DurationNS: f.duration(r), Causes: causes,
		}
		var alike []int64 // the longest first
		for _, other := range rows {
			if f.name(other) == f.name(r) {
				alike = append(alike, f.duration(other))
			}
		}
		slow.Alike, slow.MedianNS = int64(len(alike)), alike[(len(alike)-1)/2]
		return slow
	}
	return nil
}

// requestRows returns the requests that take time: local roots that are no operations and
// no shared executions.
func (f *Forest) requestRows() []int32 {
	var rows []int32
	named := f.stampedSpans()
	for r := range f.rowCount() {
		switch {
		case f.flags(r)&(flagOp|flagDuplicate) != 0 || !f.has(r, flagStart) || f.duration(r) == 0:
		case f.shared.of != nil && f.shared.of[r] != noExecution:
		case f.tree.parent[r] == noRow || f.has(r, flagRemote) || named[r]:
			rows = append(rows, r)
		}
	}
	return rows
}

// Causes divides the duration of a request, one of r, by what it waited for, the largest
// part first. A request without a start has none.
func (r *Requests) Causes(q *Request) []RequestCause {
	if !q.StartNS.Known || q.Root.IsZero() {
		return nil
	}
	if r.causes == nil {
		r.causes = &causeFinder{forest: r.forest, joins: r.forest.findJoins()}
	}
	return r.causes.causes(q.Root.row)
}

// causeFinder finds what requests waited for.
type causeFinder struct {
	forest *Forest
	walk   pathWalk
	joins  *joins
}

// last returns the part that began last of the collective that the operation in row r is a
// part of; ok is false unless r waited for it.
func (c *causeFinder) last(r int32) (last int32, ok bool) {
	f, number := c.forest, c.joins.number(r)
	if number == noRow || !f.has(r, flagStart) {
		return noRow, false
	}
	last = r
	for _, part := range c.joins.of(number) {
		if f.has(part, flagStart) && f.compareStart(last, part) < 0 {
			last = part
		}
	}
	return last, f.start(r) < f.start(last) && f.start(last) < f.end(r)
}

// causes divides the critical path of the request in row r.
func (c *causeFinder) causes(r int32) []RequestCause {
	f := c.forest
	var path []rowSegment // the last first
	c.walk.run(f, window{row: r, from: f.start(r), to: f.end(r)}, nil, nil, func(row int32, from, to int64) {
		path = append(path, rowSegment{row, from, to})
	})
	slices.Reverse(path)
	sums := causeSums{forest: f, parts: make(map[causeKey]*CausePart)}
	cause := CauseBefore
	for len(path) > 0 {
		outside := 0
		for outside < len(path) && !f.isDeviceSide(path[outside].row) {
			outside++
		}
		if outside == 0 {
			c.addOperation(&sums, path[0])
			path, cause = path[1:], CauseHost
			continue
		}
		next := noRow
		if outside == len(path) {
			cause = CauseAfter
		} else {
			next = path[outside].row
		}
		c.addOutside(&sums, path[:outside], next, cause, f.duration(r)/minMeanwhile)
		path = path[outside:]
	}
	return sums.causes(f.duration(r))
}

// addOperation adds the time of an operation.
func (c *causeFinder) addOperation(sums *causeSums, s rowSegment) {
	f := c.forest
	switch classOf(f.kind(s.row)) {
	case classCompute:
		sums.add(CauseCompute, s)
	case classMemory:
		sums.add(CauseMemory, s)
	case classCommunication:
		if last, ok := c.last(s.row); ok && s.from < f.start(last) {
			waited := rowSegment{s.row, s.from, min(s.to, f.start(last))}
			c.addStraggler(sums, waited, last)
			s.from = waited.to
		}
		sums.add(CauseCommunication, s)
	default:
		sums.add(CauseOther, s)
	}
}

// minMeanwhile is which part of a request its waiting must take at least for what ran
// meanwhile to be looked up.
const minMeanwhile = 1000

// addOutside adds time in which the path lies in no operation, next is the operation
// behind it. What ran meanwhile is looked up for segments of least ns or more.
func (c *causeFinder) addOutside(sums *causeSums, spans []rowSegment, next int32, cause string, least int64) {
	f := c.forest
	if next != noRow && f.has(next, flagLaunch) {
		from, to := spans[0].from, spans[len(spans)-1].to
		launch := min(max(f.launch(next), from), to)
		sums.add(CauseLaunch, rowSegment{next, from, launch})
		c.addWaiting(sums, CauseQueue, rowSegment{next, launch, to}, next, least)
		return
	}
	for _, s := range spans {
		c.addWaiting(sums, cause, s, next, least)
	}
}

// addWaiting adds a segment at whose end, or later, the operation in row next began, and what
// its device ran of other traces.
func (c *causeFinder) addWaiting(sums *causeSums, cause string, s rowSegment, next int32, least int64) {
	part := sums.add(cause, s)
	if part == nil || next == noRow || s.to-s.from < least {
		return
	}
	f := c.forest
	device := f.deviceKey(next).Label(f.onDevice.ranks)
	for name, ns := range c.meanwhile(next, s, true) {
		sums.addMeanwhile(part, meanwhileKey{name, device}, ns)
	}
}

// addStraggler adds time in which a collective waited for the operation in row last.
func (c *causeFinder) addStraggler(sums *causeSums, s rowSegment, last int32) {
	part := sums.part(CauseStraggler, s.row, c.forest.deviceKey(last))
	part.TimeNS += s.to - s.from
	for name, ns := range c.meanwhile(last, s, false) {
		sums.addMeanwhile(part, meanwhileKey{operation: name}, ns)
	}
}

// maxMeanwhile bounds how many operations are looked at that began before a time.
const maxMeanwhile = 256

// meanwhile returns how long operations ran on the device of the operation in row last
// before it, while s waited for it, by name; where others is set, only those of other traces.
func (c *causeFinder) meanwhile(last int32, s rowSegment, others bool) map[string]int64 {
	f := c.forest
	rows := f.onDevice.of(f.device(last))
	i := sort.Search(len(rows), func(i int) bool { return f.start(rows[i]) >= s.to })
	times := make(map[string]int64)
	for first := max(0, i-maxMeanwhile); i > first; i-- {
		r := rows[i-1]
		if ns := min(s.to, f.end(r)) - max(s.from, f.start(r)); ns > 0 && r != last && !(others && f.trace(r) == f.trace(last)) {
			times[f.rowName(r)] += ns
		}
	}
	return times
}

// causeKey identifies a part of a cause.
type causeKey struct {
	cause, operation string
	device           DeviceKey
}

// causeSums sums up times by cause.
type causeSums struct {
	forest    *Forest
	parts     map[causeKey]*CausePart
	meanwhile map[*CausePart]map[meanwhileKey]int64
}

// meanwhileKey is an operation that ran meanwhile, and the device if it is not the part's.
type meanwhileKey struct{ operation, device string }

func (k meanwhileKey) compare(o meanwhileKey) int {
	return cmp.Or(strings.Compare(k.operation, o.operation), strings.Compare(k.device, o.device))
}

// add adds a segment, if it takes time, and returns its part.
func (s *causeSums) add(cause string, segment rowSegment) *CausePart {
	if segment.from == segment.to {
		return nil
	}
	var device DeviceKey
	if s.forest.has(segment.row, flagOp) {
		device = s.forest.deviceKey(segment.row)
	}
	part := s.part(cause, segment.row, device)
	part.TimeNS += segment.to - segment.from
	return part
}

// part returns the part of a cause that the row belongs to.
func (s *causeSums) part(cause string, row int32, device DeviceKey) *CausePart {
	key := causeKey{cause, s.forest.rowName(row), device}
	part := s.parts[key]
	if part == nil {
		part = &CausePart{Operation: key.operation, DeviceKey: device}
		s.parts[key] = part
	}
	return part
}

// addMeanwhile adds the time that an operation ran meanwhile.
func (s *causeSums) addMeanwhile(part *CausePart, key meanwhileKey, ns int64) {
	if s.meanwhile == nil {
		s.meanwhile = make(map[*CausePart]map[meanwhileKey]int64)
	}
	if s.meanwhile[part] == nil {
		s.meanwhile[part] = make(map[meanwhileKey]int64)
	}
	s.meanwhile[part][key] += ns
}

// causes returns the sums, the largest first.
func (s *causeSums) causes(duration int64) []RequestCause {
	byCause := make(map[string]*RequestCause)
	for key, part := range s.parts {
		cause := byCause[key.cause]
		if cause == nil {
			cause = &RequestCause{Cause: key.cause}
			byCause[key.cause] = cause
		}
		for k, ns := range s.meanwhile[part] {
			if ns > part.MeanwhileNS || ns == part.MeanwhileNS && k.compare(meanwhileKey{part.Meanwhile, part.MeanwhileDevice}) < 0 {
				part.Meanwhile, part.MeanwhileDevice, part.MeanwhileNS = k.operation, k.device, ns
			}
		}
		cause.TimeNS += part.TimeNS
		cause.Parts = append(cause.Parts, *part)
	}
	causes := []RequestCause{}
	for _, cause := range byCause {
		slices.SortFunc(cause.Parts, func(a, b CausePart) int {
			return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), strings.Compare(a.Operation, b.Operation), a.DeviceKey.Compare(b.DeviceKey))
		})
		cause.Share = float64(cause.TimeNS) / float64(duration)
		cause.Text = cause.sentence(s.forest.onDevice.ranks)
		causes = append(causes, *cause)
	}
	slices.SortFunc(causes, func(a, b RequestCause) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), strings.Compare(a.Cause, b.Cause))
	})
	return causes
}
