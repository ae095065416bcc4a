package analyze

import (
	"cmp"
	"slices"
	"strings"
)

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
			TimeNS: share.time.Int64(), Segments: share.segments, Longest: r.forest.node(share.longest.row),
		})
	}
	slices.SortFunc(parts, func(a, b PathPart) int {
		return cmp.Or(
			cmp.Compare(b.TimeNS, a.TimeNS),
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
