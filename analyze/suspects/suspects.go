package suspects

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// clockSlack is by how much the clocks of hosts that are kept in step over a network may differ, in nanoseconds.
const clockSlack = 1_000_000

// Found are the rows of a [trace.Forest] whose times cannot be right, each list in
// the order of the input.
type Found struct {
	// Durations are the operations that are still running when a later
	// operation of their stream has ended.
	Durations []int32
	// Clock are the operations and spans that start too long before their
	// parent starts or after it ends.
	Clock []int32
	// repeats are the operations and spans that repeat one before.
	repeats []int32
}

// Find finds the rows whose times cannot be right.
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

// clockOffset returns for how long row r, or its launch, starts after the end of its parent, negative for how long before
// the parent's start, in nanoseconds; 0 within the parent's time, and where one of the two has no start.
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

// Kind says what is wrong with a record.
type Kind string

// The kinds of suspect records.
const (
	// Duration: an operation is still running when a later operation of its stream has ended.
	Duration Kind = "duration"
	// Clock: an operation or span starts before its parent started, or after it ended, by more than clocks differ.
	Clock Kind = "clock"
	// Cycle: an operation or span lies below itself.
	Cycle Kind = "cycle"
	// Repeat: the record was there before, with the same ids and times. It counts once.
	Repeat Kind = "repeated"
)

// Suspect is an example of the records with times or parents that cannot be right.
type Suspect struct {
	What Kind `json:"what"`
	// Operation is the name of the operation or span. DeviceID, Rank, Service,
	// Host (as in [device.Key]) and Stream are an operation's. A span has no device,
	// and the ids are left out where there are none.
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
	// OffNS is for how long a clock problem starts after the end of its parent,
	// negative for how long before the parent's start; nil for the others.
	OffNS op.Int `json:"off_ns"`
}

// Examples returns the worst suspect of each kind that there is: the longest
// duration, the start that is farthest off, the first cycle and the longest repeat.
// Of several it is the first by [trace.Forest.CompareStart].
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
			What: what, Operation: n.Name(), DeviceID: device.DeviceID, Rank: device.Rank, Service: device.Service, Host: device.Host,
			Stream: n.Stream(), StartUnixNS: n.Start(), DurationNS: n.Duration(), TraceID: n.TraceID(), SpanID: n.SpanID(),
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

// Without reports for each row whether it has a suspect duration, is a clock
// problem or lies below one: the times of a whole branch come from the same
// clock.
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
