package correlate

import (
	"cmp"
	"strings"

	"github.com/optrace/optrace/analyze"
)

// partKey identifies a part of critical paths.
type partKey struct {
	operation, kind string
	device          analyze.DeviceKey
}

func (k partKey) compare(other partKey) int {
	return cmp.Or(
		strings.Compare(k.operation, other.operation),
		k.device.Compare(other.device),
		strings.Compare(k.kind, other.kind),
	)
}

func (p *PathPart) key() partKey { return partKey{p.Operation, p.Kind, p.DeviceKey} }

// keyOf returns the part that a segment in n belongs to.
func keyOf(n analyze.Node) partKey {
	k := partKey{operation: n.Name(), kind: analyze.KindHost}
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
func pathParts(all *analyze.Requests, q *analyze.Request, links Link) []PathPart {
	parts := []PathPart{}
	for _, p := range all.PathParts(q) {
		id := p.Longest.SpanID()
		parts = append(parts, PathPart{
			Operation: p.Operation, Kind: p.Kind, DeviceKey: p.DeviceKey, TimeNS: p.TimeNS, Segments: p.Segments,
			SpanID: id, Link: links.span(p.Longest.TraceID(), id),
		})
	}
	return parts
}
