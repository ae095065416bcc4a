package chrome

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"github.com/optrace/optrace/op"
)

// Timeline collects operations and spans and needs memory for each. The zero
// value is ready to use. It is not safe for concurrent use.
type Timeline struct {
	slices []slice
	// bare is the start of the next operation without a start, by process.
	bare map[process]int64
	// texts is how long the texts of the slices are, in bytes.
	texts int64
}

// process is a device or a service: a group of tracks.
type process struct {
	// isService is set if name is that of a service and not of a device.
	isService bool
	rank      op.Int
	name      string
	// bare is set if the operations have no starts.
	bare bool
}

// slice is one event of the timeline.
type slice struct {
	process
	stream          op.Int
	start, duration int64
	label           string
	category        string
	args            string // the members of a JSON object
	trace           op.TraceID
	span, parent    op.SpanID
	// pid and tid are set by arrange.
	pid, tid int
}

func (s *slice) end() int64 {
	if s.start > math.MaxInt64-s.duration {
		return math.MaxInt64
	}
	return s.start + s.duration
}

// Add adds an operation. It retains the strings of e only.
func (t *Timeline) Add(e *op.Entry) {
	var args arguments
	args.entry(e)
	t.add(slice{
		process: process{rank: e.Rank, name: cmp.Or(e.DeviceID, "unknown"), bare: !e.Start.Known},
		stream:  e.Stream, start: e.Start.V, duration: e.Duration, label: e.Operation,
		category: e.Kind.String(), args: string(args.buf), trace: e.TraceID, span: e.SpanID, parent: e.ParentSpanID,
	})
}

// AddSpan adds a span that is not an operation.
func (t *Timeline) AddSpan(sp *op.Span) {
	var args arguments
	args.span(sp)
	t.add(slice{
		process: process{isService: true, name: cmp.Or(sp.Service, "unknown"), bare: !sp.Start.Known},
		start:   sp.Start.V, duration: sp.Duration, label: sp.Name, category: "span",
		args: string(args.buf), trace: sp.TraceID, span: sp.SpanID, parent: sp.ParentSpanID,
	})
}

// add adds a slice. One without a start follows the others of its process.
func (t *Timeline) add(s slice) {
	if s.bare {
		if t.bare == nil {
			t.bare = make(map[process]int64)
		}
		s.start = t.bare[s.process]
		t.bare[s.process] = s.end()
	}
	t.texts += int64(len(s.label) + len(s.args))
	t.slices = append(t.slices, s)
}

// Bytes returns about how much memory the operations and spans take.
func (t *Timeline) Bytes() int64 {
	return t.texts + int64(cap(t.slices))*int64(unsafe.Sizeof(slice{}))
}

// base returns the first start, which times are relative to.
func (t *Timeline) base() int64 {
	base := int64(math.MaxInt64)
	for i := range t.slices {
		if !t.slices[i].bare {
			base = min(base, t.slices[i].start)
		}
	}
	if base == math.MaxInt64 {
		return 0
	}
	return base
}

// track is a thread with its name, or a process if tid is 0.
type track struct {
	pid, tid int
	title    string
}

// arrange sorts the slices by process, stream and start, enclosing slices first,
// assigns each to a track, and returns the tracks.
func (t *Timeline) arrange() (tracks []track) {
	slices.SortStableFunc(t.slices, func(a, b slice) int {
		return cmp.Or(a.process.compare(b.process), compareInts(a.stream, b.stream),
			cmp.Compare(a.start, b.start), cmp.Compare(b.end(), a.end()))
	})
	pid, tid := 0, 0
	for from := 0; from < len(t.slices); {
		first := &t.slices[from]
		if from == 0 || first.process != t.slices[from-1].process {
			pid++
			tid = 1
			tracks = append(tracks, track{pid: pid, title: first.process.title()})
		}
		to := from + 1
		for to < len(t.slices) && t.slices[to].process == first.process && t.slices[to].stream == first.stream {
			to++
		}
		lanes := divide(t.slices[from:to], pid, tid)
		for lane := range lanes {
			tracks = append(tracks, track{pid, tid + lane, first.laneTitle(lane)})
		}
		tid += lanes
		from = to
	}
	return tracks
}

func (p process) title() string {
	title := p.name
	switch {
	case p.isService:
		title = "service " + p.name
	case p.rank.Known:
		title = "rank " + p.rank.String() + " " + p.name
	}
	if p.bare {
		title += " (no start times: in order)"
	}
	return title
}

// laneTitle names the lane-th thread of the slice's stream.
func (s *slice) laneTitle(lane int) string {
	title := "operations"
	switch {
	case s.isService:
		title = "spans"
	case s.stream.Known:
		title = "stream " + s.stream.String()
	}
	if lane > 0 {
		title += " (overlap " + strconv.Itoa(lane) + ")"
	}
	return title
}

// divide assigns each slice of a stream to a thread, numbered from tid, such that
// slices of a thread overlap only if one encloses the other. It returns the
// number of threads. The slices are sorted by start.
//
//	a ----------
//	b   ----        within a
//	c        -----  on another thread
func divide(stream []slice, pid, tid int) (lanes int) {
	var open [][]int64 // by lane, the ends of the enclosing slices, innermost last
	for i := range stream {
		s := &stream[i]
		lane := 0
		for ; lane < len(open); lane++ {
			ends := open[lane]
			for len(ends) > 0 && ends[len(ends)-1] <= s.start {
				ends = ends[:len(ends)-1]
			}
			open[lane] = ends
			if len(ends) == 0 || s.end() <= ends[len(ends)-1] {
				break
			}
		}
		if lane == len(open) {
			open = append(open, nil)
		}
		open[lane] = append(open[lane], s.end())
		s.pid, s.tid = pid, tid+lane
	}
	return len(open)
}

// compare orders services before devices, and devices by rank and name.
func (p process) compare(o process) int {
	return cmp.Or(compareBools(o.isService, p.isService), compareInts(p.rank, o.rank), cmp.Compare(p.name, o.name),
		compareBools(p.bare, o.bare))
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
