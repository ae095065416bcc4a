package chrome

import (
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/timeline"
)

// Timeline collects operations and spans and needs memory for each. The zero value is ready to use. It is not safe for
// concurrent use.
type Timeline struct{ events timeline.Timeline }

// Add adds an operation. It retains only the strings of e.
func (t *Timeline) Add(e *op.Entry) {
	t.events.Add(e, string(timeline.AppendObject(nil, timeline.EntryArguments(e))))
}

// AddSpan adds a span that is not an operation.
func (t *Timeline) AddSpan(s *op.Span) {
	t.events.AddSpan(s, string(timeline.AppendObject(nil, timeline.SpanArguments(s))))
}

// Bytes returns about how much memory the operations and spans take.
func (t *Timeline) Bytes() int64 { return t.events.Bytes() }

// track is a thread with its name, or a process if tid is 0.
type track struct {
	pid, tid int
	title    string
}

// tracks returns the processes and threads, and the thread of each lane.
func tracks(lanes []timeline.Lane) (all, threads []track) {
	pid := 0
	tid := 0
	for i := range lanes {
		l := &lanes[i]
		if i == 0 || l.Group != lanes[i-1].Group {
			pid++
			tid = 0
			all = append(all, track{pid: pid, title: l.Group.Title()})
		}
		tid++
		thread := track{pid, tid, l.Title()}
		all = append(all, thread)
		threads = append(threads, thread)
	}
	return all, threads
}
