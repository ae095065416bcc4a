package profiler

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Call is a runtime call of a process.
type Call struct {
	Process int64
	Name    string
	Start   int64
	// Matched is set if the recording has an operation of the call. End is the end of the last one, or 0.
	Matched bool
	End     int64
}

// Gaps counts the launches among calls that have no operation in the recording. Launches during a capture count
// separately: they do not run. Without any match the calls and operations cannot be joined, and nothing is counted
// unless the recording has no operation.
//
// Launches that were still queued when the recording of a process ended count only if Call.End is 0.
func Gaps(calls iter.Seq[Call], operations bool) (gaps []op.Gap) {
	captures := make(map[int64][]Call)
	last := make(map[int64]Call) // the last matched launch of each process, with the end of all its operations
	for c := range calls {
		if strings.Contains(c.Name, "StreamBeginCapture") || strings.Contains(c.Name, "StreamEndCapture") {
			captures[c.Process] = append(captures[c.Process], c)
		}
		if l, ok := last[c.Process]; c.Matched {
			c.End = max(c.End, l.End)
			if ok {
				c.Start = max(c.Start, l.Start)
			}
			last[c.Process] = c
		}
	}
	if operations && len(last) == 0 {
		return nil
	}
	for _, list := range captures {
		slices.SortFunc(list, func(a, b Call) int { return cmp.Compare(a.Start, b.Start) })
	}
	queued := make(map[int64]bool)
	for c := range calls {
		l := last[c.Process]
		queued[c.Process] = queued[c.Process] || isLost(&c) && l.End != 0 && l.Start < c.Start && c.Start < l.End
	}
	counts := make(map[string]int64)
	for c := range calls {
		switch {
		case !isLost(&c):
		case isCaptured(captures[c.Process], c.Start):
			counts[opmodel.CapturedLaunch]++
		case queued[c.Process] && last[c.Process].Start < c.Start:
		case attrkey.IsGraphLaunch(c.Name):
			counts[opmodel.LostGraphLaunch]++
		default:
			counts[opmodel.LostLaunch]++
		}
	}
	for _, reason := range []string{opmodel.LostLaunch, opmodel.LostGraphLaunch, opmodel.CapturedLaunch} {
		if n := counts[reason]; n > 0 {
			gaps = append(gaps, op.Gap{Dropped: n, Reason: reason})
		}
	}
	return gaps
}

func isLost(c *Call) bool { return !c.Matched && attrkey.IsLaunch(c.Name) }

// isCaptured reports whether a capture is open at a time, given the beginnings and ends of captures in order.
func isCaptured(marks []Call, at int64) bool {
	i := sort.Search(len(marks), func(i int) bool { return marks[i].Start > at })
	if i == 0 { // the recording may begin within a capture
		return len(marks) > 0 && strings.Contains(marks[0].Name, "EndCapture")
	}
	return strings.Contains(marks[i-1].Name, "BeginCapture")
}
