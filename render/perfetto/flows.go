package perfetto

import (
	"github.com/optrace/optrace/render/internal/timeline"
	"github.com/optrace/optrace/render/internal/wire"
)

// maxFlows bounds the flows that start, and the flows that end, at one slice. Further ones are left out.
const maxFlows = 1 << 12

// flows are the flows of a timeline, numbered from 1. The node of a slice is its index; the node of its launch is the
// index plus the number of slices.
type flows struct {
	slices       int
	count        wire.Fixed64
	starts, ends [][]wire.Fixed64 // by node
}

// flowsOf returns the flows of a timeline. A flow always leads forward in time, as viewers expect.
func flowsOf(t *timeline.Timeline) *flows {
	n := len(t.Slices)
	f := &flows{slices: n, starts: make([][]wire.Fixed64, 2*n), ends: make([][]wire.Fixed64, 2*n)}
	for flow := range t.Flows() {
		from, to := flow.From, flow.To
		if t.Slices[to].Start < t.Slices[from].Start || t.Slices[to].Start == t.Slices[from].Start && to < from {
			from, to = to, from
		}
		f.connect(from, to)
	}
	for i := range t.Slices {
		switch s := &t.Slices[i]; {
		case !hasLaunch(s):
		case s.Launch.V <= s.Start:
			f.connect(f.launch(i), i)
		default:
			f.connect(i, f.launch(i))
		}
	}
	return f
}

// connect adds a flow unless one of its nodes is full.
func (f *flows) connect(from, to int) {
	if len(f.starts[from]) < maxFlows && len(f.ends[to]) < maxFlows {
		f.count++
		f.starts[from], f.ends[to] = append(f.starts[from], f.count), append(f.ends[to], f.count)
	}
}

// launch returns the node of the launch of a slice.
func (f *flows) launch(slice int) int { return f.slices + slice }
