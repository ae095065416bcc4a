package profiler

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Call is a runtime call of a process. Matched is set if the recording has an operation of the call. End is the end of
// the last one, or 0 in a recording that waits for all operations.
type Call struct {
	Process, Start int64
	Name           string
	Matched        bool
	End            int64
}

// Calls finds the launches without an operation among the runtime calls of a recording.
type Calls struct {
	lost, captures []Call         // launches, and beginnings and ends of captures
	last           map[int64]Call // the last start and end of matched calls, by process
}

// Add adds a call.
func (s *Calls) Add(c Call) {
	switch {
	case c.Matched:
		if s.last == nil {
			s.last = make(map[int64]Call)
		}
		l := s.last[c.Process]
		s.last[c.Process] = Call{Start: max(l.Start, c.Start), End: max(l.End, c.End)}
	case strings.Contains(c.Name, "StreamBeginCapture"), strings.Contains(c.Name, "StreamEndCapture"):
		s.captures = append(s.captures, c)
	case attrkey.IsLaunch(c.Name):
		s.lost = append(s.lost, c)
	}
}

func compareCalls(a, b Call) int {
	return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Start, b.Start))
}

// Gaps counts launches without an operation, and emptySteps. Launches during a capture do not run and count apart, and
// launches still queued when the recording ended do not count. No launch counts if none matches any of the operations.
func (s *Calls) Gaps(operations bool, emptySteps int64) (gaps []op.Gap) {
	if operations && len(s.last) == 0 {
		s.lost = nil
	}
	slices.SortFunc(s.captures, compareCalls)
	slices.SortFunc(s.lost, compareCalls)
	counts := make(map[string]int64)
	queued := make(map[int64]bool) // by process
	for _, c := range s.lost {
		l := s.last[c.Process]
		isLast := c.Start > l.Start
		if _, known := queued[c.Process]; isLast && !known {
			queued[c.Process] = c.Start < l.End
		}
		switch {
		case s.IsCaptured(c):
			counts[opmodel.CapturedLaunch]++
		case isLast && queued[c.Process]:
		case attrkey.IsGraphLaunch(c.Name):
			counts[opmodel.LostGraphLaunch]++
		default:
			counts[opmodel.LostLaunch]++
		}
	}
	if operations {
		counts[opmodel.EmptyStep] = emptySteps
	}
	for _, reason := range opmodel.Unrecorded {
		if n := counts[reason]; n > 0 {
			gaps = append(gaps, op.Gap{Dropped: n, Reason: reason})
		}
	}
	return gaps
}

// IsCaptured reports, behind Gaps, whether a capture is open at a call. The recording may begin or end within a capture.
func (s *Calls) IsCaptured(c Call) bool {
	i := sort.Search(len(s.captures), func(i int) bool { return compareCalls(s.captures[i], c) > 0 })
	if i > 0 && s.captures[i-1].Process == c.Process {
		return strings.Contains(s.captures[i-1].Name, "Begin")
	}
	return i < len(s.captures) && s.captures[i].Process == c.Process && strings.Contains(s.captures[i].Name, "End")
}

// HasTime reports whether an event of a device has a time. CUPTI leaves start and duration 0 where it knows neither.
// A start more than an hour before the launch is wrong. All times are nanoseconds of one clock.
func HasTime(start, duration int64, launch op.Int) bool {
	if start == 0 && duration == 0 {
		return false
	}
	return !launch.Known || launch.V-start < int64(time.Hour)
}

// Eras counts the starts of a recording by spans of 104 days. A start months away from most others is wild: a fault of
// the profiler, such as one in 1970. The zero value is ready for use.
type Eras struct {
	counts map[int64]int64
	usual  int64
}

// Add counts a Unix time.
func (e *Eras) Add(start op.Int) {
	if e.counts == nil {
		e.counts = make(map[int64]int64)
	}
	era := start.V >> 53
	e.counts[era]++
	if n := e.counts[e.usual]; n < e.counts[era] || n == e.counts[era] && e.usual < era {
		e.usual = era
	}
}

// Tame returns a Unix time, unknown if it is wild. All starts must have been added.
func (e *Eras) Tame(start op.Int) op.Int {
	if far := start.V>>53 - e.usual; far < -1 || far > 1 {
		return op.Int{}
	}
	return start
}

// Check takes a wild start from an entry.
func (e *Eras) Check(entry *op.Entry) {
	if start := e.Tame(entry.Start); start != entry.Start {
		entry.Start = start
		entry.Warn |= op.WarnBadTime
	}
}

// SetEvent adds to the entry of a call that waits for an event the stream of the event and the Unix time of its
// recording. The stream is the one that a call such as cudaEventSynchronize waits for.
func SetEvent(e *op.Entry, stream, recorded op.Int) {
	add := func(key string, n op.Int) {
		if n.Known {
			e.Attrs = append(e.Attrs, op.Attr{Key: key, Value: strconv.FormatInt(n.V, 10), Type: op.AttrInt})
		}
	}
	if attrkey.IsStreamWait(e.Operation) {
		add(attrkey.WaitStream, stream)
	} else if stream.Known {
		e.Stream = stream
	}
	add(attrkey.WaitRecorded, recorded)
}

// Index returns n if it can number a device or stream, and else an unknown one: profilers write -1 or 1<<32-1.
func Index(n op.Int) op.Int {
	if n.V < 0 || n.V > math.MaxInt32 {
		return op.Int{}
	}
	return n
}
