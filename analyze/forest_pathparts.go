package analyze

import (
	"cmp"
	"slices"
	"strings"
)

// pathWalks sums up critical paths. What lies within an execution that works for several
// requests is walked once.
type pathWalks struct {
	forest *Forest
	walk   pathWalk
	inner  pathWalk
	// within has the sums of whole executions, by their rows.
	within map[int32]*pathSum
}

func newPathWalks(f *Forest) *pathWalks {
	return &pathWalks{forest: f, within: make(map[int32]*pathSum)}
}

// addPath adds the critical path of a window to sum.
func (p *pathWalks) addPath(sum *pathSum, w window, roots []int32) {
	sum.begin(w.to - w.from)
	p.walk.edges = PathEdges{}
	var pass func(window) bool
	if len(p.forest.shared.list) > 0 {
		pass = func(child window) bool {
			inside := p.inside(child)
			if inside != nil {
				sum.merge(inside)
			}
			return inside != nil
		}
	}
	p.walk.run(p.forest, w, roots, pass, sum.add)
	sum.edges.Tree += p.walk.edges.Tree
	sum.edges.Links += p.walk.edges.Links
}

// inside returns the sum of the path within an execution that several requests share, nil
// where w is none, or a part of one.
func (p *pathWalks) inside(w window) *pathSum {
	f := p.forest
	of := f.shared.of[w.row]
	if of == noExecution || f.shared.list[of].row != w.row || len(f.shared.list[of].requests) < 2 || !f.isWhole(w) {
		return nil
	}
	if sum, ok := p.within[w.row]; ok {
		return sum
	}
	sum := newPathSum(f)
	p.inner.edges = PathEdges{}
	p.inner.run(f, w, nil, nil, sum.add)
	sum.edges = p.inner.edges
	p.within[w.row] = sum
	return sum
}

// isWhole reports whether w is all of the time of its row.
func (f *Forest) isWhole(w window) bool { return w.from == f.start(w.row) && w.to == f.end(w.row) }

// PathPart is the part of a request's critical path that lies in one operation, or in a
// span that is none.
type PathPart struct {
	// Operation is the name of the operation or span.
	Operation string
	// Kind is the kind of the operation, or KindHost.
	Kind string
	// DeviceKey is the zero DeviceKey outside operations.
	DeviceKey
	// TimeNS is in nanoseconds, Segments how many times the path came by.
	TimeNS   int64
	Segments int64
	// Longest is where the path was longest, the first such place in time.
	Longest Node
}

// PathParts divides the critical path of a request, one of r, by operation, kind and
// device, the largest part first. A request without a start has none.
func (r *Requests) PathParts(q *Request) []PathPart {
	if !q.StartNS.Known {
		return nil
	}
	sum := newPathSum(r.forest)
	r.pathWalks().addPath(sum, q.window(), nil)
	parts := make([]PathPart, 0, len(sum.shares))
	for row, share := range sum.rows() {
		parts = append(parts, PathPart{
			Operation: row.Operation, Kind: row.Kind, DeviceKey: row.DeviceKey,
			TimeNS: share.time.Int64(), Segments: share.segments, Longest: Node{r.forest, share.longest.row},
		})
	}
	slices.SortFunc(parts, func(a, b PathPart) int {
		return cmp.Or(
			compareInt(b.TimeNS, a.TimeNS),
			strings.Compare(a.Operation, b.Operation),
			a.DeviceKey.Compare(b.DeviceKey),
			strings.Compare(a.Kind, b.Kind),
		)
	})
	return parts
}

// window returns the window of the critical path of a request that has a start.
func (r *Request) window() window {
	return window{row: r.Root.row, from: r.StartNS.V, to: r.StartNS.V + r.DurationNS.V}
}

// pathWalks returns the walks along the paths of the requests.
func (r *Requests) pathWalks() *pathWalks {
	if r.walks == nil {
		r.walks = newPathWalks(r.forest)
	}
	return r.walks
}
