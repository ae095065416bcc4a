package perfetto

import "github.com/optrace/optrace/render/internal/timeline"

// MaxFlows is how many flows may start, and how many may end, at one slice. Further ones
// are left out.
const MaxFlows = 1 << 12

// flowEnds are the flows at a slice, or at a launch.
type flowEnds struct{ starts, ends []uint64 }

// flows are the flows of a timeline, by the place of a slice.
type flows struct {
	last     uint64 // the number of the last flow
	slices   map[int]*flowEnds
	launches map[int]*flowEnds
}

// flowsOf numbers the flows of a timeline. A flow leads forward in time, which viewers
// expect, whatever says that the two slices have to do with each other.
func flowsOf(t *timeline.Timeline) *flows {
	f := &flows{slices: make(map[int]*flowEnds), launches: make(map[int]*flowEnds)}
	for flow := range t.Flows() {
		from, to := flow.From, flow.To
		if t.Slices[to].Start < t.Slices[from].Start || t.Slices[to].Start == t.Slices[from].Start && to < from {
			from, to = to, from
		}
		f.connect(at(f.slices, from), at(f.slices, to))
	}
	for i := range t.Slices {
		s := &t.Slices[i]
		if !hasLaunch(s) {
			continue
		}
		launch, run := at(f.launches, i), at(f.slices, i)
		if s.Launch.V > s.Start {
			launch, run = run, launch
		}
		f.connect(launch, run)
	}
	return f
}

func at(all map[int]*flowEnds, place int) *flowEnds {
	e := all[place]
	if e == nil {
		e = new(flowEnds)
		all[place] = e
	}
	return e
}

func (f *flows) connect(from, to *flowEnds) {
	if len(from.starts) >= MaxFlows || len(to.ends) >= MaxFlows {
		return
	}
	f.last++
	from.starts = append(from.starts, f.last)
	to.ends = append(to.ends, f.last)
}

// appendTo appends the flows to an event.
func (e *flowEnds) appendTo(b []byte) []byte {
	if e == nil {
		return b
	}
	for _, id := range e.starts {
		b = appendFixed(b, eventFlowIDs, id)
	}
	for _, id := range e.ends {
		b = appendFixed(b, eventTerminatingFlowIDs, id)
	}
	return b
}
