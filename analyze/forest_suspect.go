package analyze

import "github.com/optrace/optrace/op"

// clockSlack is by how much the clocks of hosts that are kept in step over a
// network may differ, in nanoseconds: a millisecond. A child that starts less
// than that before its parent started or after it ended may well be on time.
const clockSlack = 1_000_000

// suspects are the rows of a [Forest] whose times cannot be right, each list in
// the order of the input.
type suspects struct {
	// durations are the operations that are still running when a later
	// operation of their stream has ended.
	durations []int32
	// clock are the operations and spans that start too long before their
	// parent starts or after it ends.
	clock []int32
	// repeats are the operations and spans that repeat one before.
	repeats []int32
}

// suspects finds the rows whose times cannot be right.
func (f *Forest) suspects() *suspects {
	f.build()
	s := &suspects{durations: f.suspectDurations(), clock: f.clockProblems()}
	if f.counts.Repeated > 0 {
		for r := range f.rowCount() {
			if f.has(r, flagRepeat) {
				s.repeats = append(s.repeats, r)
			}
		}
	}
	return s
}

// clockProblems returns the rows that start more than clockSlack before their
// parent starts or after it ends.
func (f *Forest) clockProblems() []int32 {
	var found []int32
	for r := range f.rowCount() {
		if off := f.clockOffset(r); off < -clockSlack || off > clockSlack {
			found = append(found, r)
		}
	}
	return found
}

// clockOffset returns for how long row r starts after the end of its parent,
// negative for how long before the parent's start, in nanoseconds; 0 within the
// parent's time, without a parent and where one of the two has no start. An
// operation that the host launched while its parent ran may run at any later time:
// its launch counts.
func (f *Forest) clockOffset(r int32) int64 {
	parent := f.tree.parent[r]
	if parent == noRow || !f.has(r, flagStart) || !f.has(parent, flagStart) {
		return 0
	}
	begun := f.start(r)
	if f.has(r, flagLaunch) {
		begun = min(begun, f.launch(r))
	}
	return min(f.start(r)-f.start(parent), max(0, begun-f.end(parent)))
}

// SuspectKind says what is wrong with a record.
type SuspectKind string

// The kinds of suspect records.
const (
	// SuspectDuration: an operation is still running when a later operation of
	// its stream has ended.
	SuspectDuration SuspectKind = "duration"
	// SuspectClock: an operation or span starts before its parent started, or
	// after it ended, by more than clocks differ.
	SuspectClock SuspectKind = "clock"
	// SuspectCycle: an operation or span lies below itself.
	SuspectCycle SuspectKind = "cycle"
	// SuspectRepeat: the record was there before, with the same ids and times.
	// It counts once.
	SuspectRepeat SuspectKind = "repeated"
)

// Suspect is an example of the records with times or parents that cannot be right.
type Suspect struct {
	What SuspectKind `json:"what"`
	// Operation is the name of the operation or span. DeviceID, Rank, Service,
	// Host (as in [DeviceKey]) and Stream are an operation's. A span has no device,
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

// examples returns the worst suspect of each kind that there is: the longest
// duration, the start that is farthest off, the cycle that was cut first and
// the longest repeat. Of several it is the first in the input.
func (f *Forest) examples(s *suspects) []Suspect {
	list := []Suspect{}
	add := func(rows []int32, what SuspectKind, size func(r int32) int64) {
		if len(rows) == 0 {
			return
		}
		worst := rows[0]
		for _, r := range rows[1:] {
			if size(r) > size(worst) {
				worst = r
			}
		}
		list = append(list, f.suspect(worst, what))
	}
	add(s.durations, SuspectDuration, f.duration)
	add(s.clock, SuspectClock, func(r int32) int64 { return max(f.clockOffset(r), -f.clockOffset(r)) })
	add(f.tree.cut, SuspectCycle, func(int32) int64 { return 0 })
	add(s.repeats, SuspectRepeat, f.duration)
	return list
}

// suspect describes row r.
func (f *Forest) suspect(r int32, what SuspectKind) Suspect {
	n := f.node(r)
	device := n.Device()
	s := Suspect{
		What: what, Operation: n.Name(), DeviceID: device.DeviceID, Rank: device.Rank, Service: device.Service, Host: device.Host,
		Stream:      n.Stream(),
		StartUnixNS: n.Start(), DurationNS: n.Duration(), TraceID: n.TraceID(), SpanID: n.SpanID(),
	}
	if what == SuspectClock {
		s.OffNS = op.Known(f.clockOffset(r))
	}
	return s
}
