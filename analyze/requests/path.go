package requests

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/trace"
)

// PathPart is the part of a request's critical path that lies in one operation, or in a
// span that is none.
type PathPart struct {
	// Operation is the name of the operation or span.
	Operation string
	// Kind is the kind of the operation, or KindHost.
	Kind string
	// DeviceKey is the zero Key outside operations.
	device.Key
	// TimeNS is in nanoseconds, Segments how many times the path came by.
	TimeNS   int64
	Segments int64
	// Longest is where the path was longest, the first such place in time.
	Longest trace.Node
}

// PathParts divides the critical path of a request, one of r, by operation, kind and
// device, the largest part first. A request without a start has none.
func (r *Requests) PathParts(q *Request) []PathPart {
	if !q.StartNS.Known {
		return nil
	}
	sum := path.NewSum(r.forest)
	r.pathWalks().AddPath(sum, q.window(), nil)
	parts := make([]PathPart, 0, len(sum.Shares))
	for row, share := range sum.Rows() {
		parts = append(parts, PathPart{
			Operation: row.Operation, Kind: row.Kind, Key: row.Key,
			TimeNS: share.Time.Int64(), Segments: share.Segments, Longest: r.forest.Node(share.Longest.Row),
		})
	}
	slices.SortFunc(parts, func(a, b PathPart) int {
		return cmp.Or(
			cmp.Compare(b.TimeNS, a.TimeNS),
			strings.Compare(a.Operation, b.Operation),
			a.Key.Compare(b.Key),
			strings.Compare(a.Kind, b.Kind),
		)
	})
	return parts
}

// window returns the window of the critical path of a request that has a start.
func (r *Request) window() path.Window {
	return path.Window{Row: r.Root.Row, From: r.StartNS.V, To: r.StartNS.V + r.DurationNS.V}
}

// pathWalks returns the walks along the paths of the requests.
func (r *Requests) pathWalks() *path.Walks {
	if r.walks == nil {
		r.walks = path.NewWalks(r.forest)
	}
	return r.walks
}
