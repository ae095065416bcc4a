package op

import (
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
)

// Resource is what is constant for a process: the source of its spans.
type Resource struct {
	Service   string
	Rank      Int
	WorldSize Int
	// Attrs holds the other attributes, values as text.
	Attrs []Attr
}

// Set adds an attribute of the resource, its value as text: service.name,
// tensor.rank and tensor.world_size set their fields, and anything else, also a
// rank that is no number, joins Attrs. Of equal keys the last wins.
func (r *Resource) Set(key, value string) {
	value = validUTF8(value)
	switch key {
	case KeyServiceName:
		r.Service = value
		return
	case KeyRank, KeyWorldSize:
		if n, ok := jsontext.ParseInt([]byte(strings.TrimSpace(value))); ok && n >= 0 {
			if key == KeyRank {
				r.Rank = Known(n)
			} else {
				r.WorldSize = Known(n)
			}
			return
		}
	}
	r.Attrs = setAttr(r.Attrs, key, value)
}

// setAttr sets key among attrs.
func setAttr(attrs []Attr, key, value string) []Attr {
	for i := range attrs {
		if attrs[i].Key == key {
			attrs[i].Value = value
			return attrs
		}
	}
	return append(attrs, Attr{Key: key, Value: value})
}
