package timeline

import (
	"cmp"
	"iter"
	"math"
	"unsafe"

	"github.com/optrace/optrace/op"
)

// Timeline collects operations and spans and needs memory for each. The zero value is ready to use. It is not safe for
// concurrent use.
type Timeline struct {
	Slices []Slice         // the events: in order of addition at first, in order of tracks after Arrange
	bare   map[Group]int64 // the start of the next operation without a start, by group
	bytes  int64           // the memory of the texts and links of the slices
}

// Group is a device or a service, the owner of tracks.
type Group struct {
	IsService bool // set if Name is the name of a service, not of a device
	Rank      op.Int
	Name      string
	// Bare is set if the events have no starts. They follow one another from 0.
	Bare bool
}

// Slice is one event of the timeline.
type Slice struct {
	Group
	Stream op.Int
	// Start and Duration are in nanoseconds. Start is Unix time unless Bare is set.
	Start, Duration int64
	Label           string
	Category        string
	Args            string // the arguments as the format has them
	// Launch is the launch time of the operation, Bytes its memory.
	Launch, Bytes op.Int
	OnHost        bool // set for the host's view of an operation
	Lane          int  // the number of its track, set by Arrange

	trace        op.TraceID
	span, parent op.SpanID
	links        []op.Link
	again        bool // an earlier slice has its ids, set by Arrange
}

// End returns the end, at most math.MaxInt64.
func (s *Slice) End() int64 {
	if s.Start > math.MaxInt64-s.Duration {
		return math.MaxInt64
	}
	return s.Start + s.Duration
}

// Add adds an operation with its arguments. It retains only the strings of e.
func (t *Timeline) Add(e *op.Entry, args string) {
	t.add(Slice{
		Group:  Group{Rank: e.Rank, Name: cmp.Or(e.DeviceID, "unknown"), Bare: !e.Start.Known},
		Stream: e.Stream, Start: e.Start.V, Duration: e.Duration, Label: e.Operation, Category: e.Kind.String(),
		Args: args, Launch: e.Launch, Bytes: e.MemoryBytes, OnHost: e.Side == op.SideHost,
		trace: e.TraceID, span: e.SpanID, parent: e.ParentSpanID, links: withoutExtra(e.Links),
	})
}

// AddSpan adds a span that is not an operation, with its arguments.
func (t *Timeline) AddSpan(s *op.Span, args string) {
	t.add(Slice{
		Group: Group{IsService: true, Name: cmp.Or(s.Service, "unknown"), Bare: !s.Start.Known},
		Start: s.Start.V, Duration: s.Duration, Label: s.Name, Category: "span", Args: args,
		trace: s.TraceID, span: s.SpanID, parent: s.ParentSpanID, links: withoutExtra(s.Links),
	})
}

// withoutExtra returns a copy of links with only their ids.
func withoutExtra(links []op.Link) []op.Link {
	var list []op.Link
	for _, l := range links {
		list = append(list, op.Link{TraceID: l.TraceID, SpanID: l.SpanID})
	}
	return list
}

// add adds a slice. A slice without a start follows the others of its group.
func (t *Timeline) add(s Slice) {
	if s.Bare {
		if t.bare == nil {
			t.bare = make(map[Group]int64)
		}
		s.Start = t.bare[s.Group]
		t.bare[s.Group] = s.End()
	}
	t.bytes += int64(len(s.Label)+len(s.Args)) + int64(cap(s.links))*int64(unsafe.Sizeof(op.Link{}))
	t.Slices = append(t.Slices, s)
}

// Bytes returns about how much memory the operations and spans take.
func (t *Timeline) Bytes() int64 {
	return t.bytes + int64(cap(t.Slices))*int64(unsafe.Sizeof(Slice{}))
}

// Base returns the first known start, or 0.
func (t *Timeline) Base() int64 {
	base := int64(math.MaxInt64)
	for i := range t.Slices {
		if !t.Slices[i].Bare {
			base = min(base, t.Slices[i].Start)
		}
	}
	if base == math.MaxInt64 {
		return 0
	}
	return base
}

func (t *Timeline) markAgain() {
	seen := make(map[spanKey]struct{}, len(t.Slices))
	for i := range t.Slices {
		s := &t.Slices[i]
		if s.trace.IsZero() || s.span.IsZero() {
			continue
		}
		before := len(seen)
		seen[spanKey{s.trace, s.span}] = struct{}{}
		s.again = len(seen) == before
	}
}

// Passes returns the slices to write with their indexes, track by track, in two passes: slices with repeated ids come
// last, so that readers meet the first slice of an id first.
func (t *Timeline) Passes() [2]iter.Seq2[int, *Slice] {
	pass := func(again bool) iter.Seq2[int, *Slice] {
		return func(yield func(int, *Slice) bool) {
			for i := range t.Slices {
				if t.Slices[i].again == again && !yield(i, &t.Slices[i]) {
					return
				}
			}
		}
	}
	return [2]iter.Seq2[int, *Slice]{pass(false), pass(true)}
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func compareInts(a, b op.Int) int {
	return cmp.Or(compareBools(a.Known, b.Known), cmp.Compare(a.V, b.V))
}
