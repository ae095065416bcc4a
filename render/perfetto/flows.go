package perfetto

import "github.com/optrace/optrace/render/internal/timeline"

// maxFlows is how many flows may start, and how many may end, at one slice. Further ones
// are left out.
const maxFlows = 1 << 12

// flow leads from one node to another. A slice is the node of its place, and its launch the
// node as many further as there are slices.
type flow struct{ from, to int32 }

// flows are the flows of a timeline. Their numbers are their places in the list, from 1.
type flows struct {
	slices       int
	list         []flow
	starts, ends index
}

// flowsOf returns the flows of a timeline. A flow leads forward in time, which viewers
// expect, whatever says that the two nodes have to do with each other.
func flowsOf(t *timeline.Timeline) *flows {
	f := &flows{slices: len(t.Slices)}
	out, in := make([]int32, 2*f.slices), make([]int32, 2*f.slices)
	connect := func(from, to int) {
		if out[from] < maxFlows && in[to] < maxFlows {
			out[from]++
			in[to]++
			f.list = append(f.list, flow{int32(from), int32(to)})
		}
	}
	for flow := range t.Flows() {
		from, to := flow.From, flow.To
		if t.Slices[to].Start < t.Slices[from].Start || t.Slices[to].Start == t.Slices[from].Start && to < from {
			from, to = to, from
		}
		connect(from, to)
	}
	for i := range t.Slices {
		switch s := &t.Slices[i]; {
		case !hasLaunch(s):
		case s.Launch.V <= s.Start:
			connect(f.launch(i), i)
		default:
			connect(i, f.launch(i))
		}
	}
	f.starts = newIndex(f.list, out, func(f flow) int32 { return f.from })
	f.ends = newIndex(f.list, in, func(f flow) int32 { return f.to })
	return f
}

// launch returns the node of the launch of a slice.
func (f *flows) launch(slice int) int { return f.slices + slice }

// appendTo appends the flows of a node to an event.
func (f *flows) appendTo(b []byte, node int) []byte {
	for _, i := range f.starts.of(node) {
		b = appendFixed(b, eventFlowIDs, uint64(i)+1)
	}
	for _, i := range f.ends.of(node) {
		b = appendFixed(b, eventTerminatingFlowIDs, uint64(i)+1)
	}
	return b
}

// index lists flows by their nodes.
type index struct {
	list []int32
	ends []int32 // of each node in the list
}

// newIndex returns the index of flows by the node that at returns. counts is how many each
// node has, and is the index's from then on.
func newIndex(list []flow, counts []int32, at func(flow) int32) index {
	sum := int32(0)
	for node, n := range counts {
		counts[node] = sum
		sum += n
	}
	x := index{list: make([]int32, len(list)), ends: counts}
	for i, f := range list {
		node := at(f)
		x.list[x.ends[node]] = int32(i)
		x.ends[node]++
	}
	return x
}

func (x *index) of(node int) []int32 {
	from := int32(0)
	if node > 0 {
		from = x.ends[node-1]
	}
	return x.list[from:x.ends[node]]
}
