package correlate

import (
	"cmp"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
)

// partKey identifies a part of critical paths.
type partKey struct {
	operation, kind string
	device          device.Key
}

func (k partKey) compare(other partKey) int {
	return cmp.Or(
		strings.Compare(k.operation, other.operation),
		k.device.Compare(other.device),
		strings.Compare(k.kind, other.kind),
	)
}

func (p *PathPart) key() partKey { return partKey{p.Operation, p.Kind, p.Key} }

// keyOf returns the part that a segment in n belongs to.
func keyOf(n trace.Node) partKey {
	k := partKey{operation: n.Name(), kind: path.KindHost}
	if !n.IsOp() {
		return k
	}
	k.device = n.Device()
	if n.Side() == 0 {
		k.kind = n.Kind().String()
	}
	return k
}

// pathParts divides the critical path of a request, the largest part first.
func pathParts(all *requests.Requests, q *requests.Request, links Link) []PathPart {
	parts := []PathPart{}
	for _, p := range all.PathParts(q) {
		id := p.Longest.SpanID()
		parts = append(parts, PathPart{
			Operation: p.Operation, Kind: p.Kind, Key: p.Key, TimeNS: p.TimeNS, Segments: p.Segments,
			SpanID: id, Link: links.span(p.Longest.TraceID(), id),
		})
	}
	return parts
}
