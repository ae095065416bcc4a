package opmodel

import (
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// SetResourceAttr adds an attribute to the resource: service.name, tensor.rank and tensor.world_size set their fields.
// Any other attribute, and a rank other than a number, joins Attrs. Of equal keys the last wins. index must be the one
// for all attributes of r.
func SetResourceAttr(r *op.Resource, index *AttrIndex, a op.Attr) {
	a = ValidAttr(a)
	switch a.Key {
	case attrkey.ServiceName:
		r.Service = a.Value
		return
	case attrkey.Rank, attrkey.WorldSize:
		if n, ok := lexer.ParseInt([]byte(strings.TrimSpace(a.Value))); ok && n >= 0 {
			if a.Key == attrkey.Rank {
				r.Rank = op.Known(n)
			} else {
				r.WorldSize = op.Known(n)
			}
			return
		}
	}
	if a.Key == attrkey.HostName {
		r.Host = a.Value
	}
	r.Attrs = index.Set(r.Attrs, a)
}

// ResourceBytes returns about the memory of a resource's attributes; r may be nil.
func ResourceBytes(r *op.Resource) (bytes int64) {
	if r != nil {
		for i := range r.Attrs {
			bytes += int64(attrBytes + len(r.Attrs[i].Key) + len(r.Attrs[i].Value))
		}
	}
	return bytes
}
