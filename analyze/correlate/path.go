package correlate

import (
	"cmp"
	"slices"
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
func pathParts(forest *analyze.Forest, root analyze.Node, links Link) []PathPart {
	parts := []PathPart{}
	path := forest.CriticalPath(root)
	if path == nil {
		return parts
	}
	at := make(map[partKey]int)
	var longest []int64 // segment of each part
	for _, s := range path.Segments {
		k := keyOf(s.Node)
		i, found := at[k]
		if !found {
			i = len(parts)
			at[k] = i
			parts = append(parts, PathPart{Operation: k.operation, Kind: k.kind, DeviceKey: k.device})
			longest = append(longest, 0)
		}
		p := &parts[i]
		p.TimeNS += s.DurationNS
		p.Segments++
		if s.DurationNS > longest[i] {
			longest[i] = s.DurationNS
			p.SpanID = s.Node.SpanID()
			p.Link = links.span(s.Node.TraceID(), p.SpanID)
		}
	}
	slices.SortFunc(parts, func(a, b PathPart) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), a.key().compare(b.key()))
	})
	return parts
}
