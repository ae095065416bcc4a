package suspects

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// clockSlack is the normal difference, in nanoseconds, between clocks kept in step over a network.
const clockSlack = 1_000_000

// Found has the rows of a [trace.Forest] with impossible times, each list in input order.
type Found struct {
	// Durations are operations still running when a later operation of their stream has ended.
	Durations []int32
	// Clock are operations and spans that start too long before their parent starts or after it ends.
	Clock   []int32
	repeats []int32 // operations and spans that repeat an earlier one
}

// Find finds the rows with impossible times.
func Find(f *trace.Forest) *Found {
	f.Build()
	s := &Found{Durations: suspectDurations(f)}
	for r := range f.Rows() {
		if off := clockOffset(f, r); off < -clockSlack || off > clockSlack {
			s.Clock = append(s.Clock, r)
		}
		if f.Has(r, trace.FlagRepeat) {
			s.repeats = append(s.repeats, r)
		}
	}
	return s
}

// clockOffset returns the nanoseconds from the end of the parent to the start or launch of row r, negative from the
// start of the parent back to the row's. It returns 0 within the parent's time, and if a start is unknown.
func clockOffset(f *trace.Forest, r int32) int64 {
	parent := f.Tree.Parent[r]
	if parent == trace.NoRow || !f.Has(r, trace.FlagStart) || !f.Has(parent, trace.FlagStart) {
		return 0
	}
	begun := f.Start(r)
	if f.Has(r, trace.FlagLaunch) {
		begun = min(begun, f.Launch(r))
	}
	return min(f.Start(r)-f.Start(parent), max(0, begun-f.End(parent)))
}

// Kind is the kind of a suspect record.
type Kind string

// The kinds of suspect records.
const (
	// Duration: an operation is still running when a later operation of its stream has ended.
	Duration Kind = "duration"
	// Clock: a span starts before its parent starts or after it ends, by more than clocks differ.
	Clock Kind = "clock"
	// Cycle: a span is below itself.
	Cycle Kind = "cycle"
	// Repeat: the record repeats the ids and times of an earlier one. It counts once.
	Repeat Kind = "repeated"
)

// Suspect is an example of the records with impossible times or parents.
type Suspect struct {
	What Kind `json:"what"`
	// Operation is the name of the operation or span. DeviceID, Rank, Service, Host (as in [device.Key]) and Stream
	// describe an operation. Spans have no device. Zero ids are left out.
	Operation   string     `json:"operation"`
	DeviceID    string     `json:"device_id"`
	Rank        op.Int     `json:"rank"`
	Service     string     `json:"service,omitempty"`
	Host        string     `json:"host,omitempty"`
	Stream      op.Int     `json:"stream"`
	StartUnixNS op.Int     `json:"start_unix_ns"`
	DurationNS  int64      `json:"duration_ns"`
	TraceID     op.TraceID `json:"trace_id,omitzero"`
	SpanID      op.SpanID  `json:"span_id,omitzero"`
	// OffNS is a clock problem's time after the end of its parent, negative before the parent's start.
	OffNS op.Int `json:"off_ns"`
}

// Reason says why n durations are suspect, given an example of each kind.
func Reason(examples []Suspect, n int64) string {
	const outlasts = "still running when a later operation of the stream had ended"
	const year = "longer than a year"
	i := slices.IndexFunc(examples, func(s Suspect) bool { return s.What == Duration })
	switch {
	case i < 0 || examples[i].StartUnixNS.Known || examples[i].DurationNS <= tooLong:
		return outlasts
	case n == 1:
		return year
	}
	return year + " or " + outlasts
}

// Examples returns the worst suspect of each kind: the longest duration, the largest clock offset, the first cycle and
// the longest repeat. Of equals it returns the first by [trace.Forest.CompareStart].
func Examples(f *trace.Forest, s *Found) []Suspect {
	list := []Suspect{}
	add := func(rows []int32, what Kind, size func(r int32) int64) {
		if len(rows) == 0 {
			return
		}
		worst := rows[0]
		for _, r := range rows[1:] {
			if d := cmp.Compare(size(r), size(worst)); d > 0 || d == 0 && f.CompareStart(r, worst) < 0 {
				worst = r
			}
		}
		n := f.Node(worst)
		device := n.Device()
		s := Suspect{
			What: what, Operation: n.Name(), DeviceID: device.DeviceID, Rank: device.Rank, Service: device.Service,
			Host: device.Host, Stream: n.Stream(), StartUnixNS: n.Start(), DurationNS: n.Duration(),
			TraceID: n.TraceID(), SpanID: n.SpanID(),
		}
		if what == Clock {
			s.OffNS = op.Known(clockOffset(f, worst))
		}
		list = append(list, s)
	}
	add(s.Durations, Duration, f.Duration)
	add(s.Clock, Clock, func(r int32) int64 { return max(clockOffset(f, r), -clockOffset(f, r)) })
	add(f.Tree.Cut, Cycle, func(int32) int64 { return 0 })
	add(s.repeats, Repeat, f.Duration)
	return list
}

// Without marks rows with a suspect duration, and rows at and below a clock problem: a branch has one clock.
func Without(f *trace.Forest, s *Found) []bool {
	out := make([]bool, f.Len())
	for pending := slices.Clone(s.Clock); len(pending) > 0; {
		r := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if !out[r] {
			out[r] = true
			pending = append(pending, f.Tree.Children(r)...)
		}
	}
	for _, r := range s.Durations {
		out[r] = true
	}
	return out
}
