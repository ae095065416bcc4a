package correlate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/path"
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

// pathParts divides the critical path of a request, the largest part first; sum is nil where there is none.
func pathParts(f *trace.Forest, sum *path.Sum, links Link) []PathPart {
	parts := []PathPart{}
	if sum == nil {
		return parts
	}
	for row, share := range sum.Rows() {
		longest := f.Node(share.Longest.Row)
		parts = append(parts, PathPart{
			Operation: row.Operation, Kind: row.Kind, Key: row.Key, TimeNS: share.Time.Int64(), Segments: share.Segments,
			SpanID: longest.SpanID(), Link: links.span(longest.TraceID(), longest.SpanID()),
		})
	}
	slices.SortFunc(parts, func(a, b PathPart) int { return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), a.key().compare(b.key())) })
	return parts
}
