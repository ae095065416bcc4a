package stdouttrace

import (
	"bytes"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// readResource reads the attributes of the resource, unless they are those of
// the span before.
func (d *decoder) readResource(text []byte) {
	d.newResource = !bytes.Equal(text, d.resourceText)
	if !d.newResource {
		return
	}
	d.resourceText = append(d.resourceText[:0], text...)
	d.resource = op.Resource{}
	l := &d.lex
	l.Reset(text)
	if l.Peek() != '[' {
		return
	}
	for l.Array(); l.More(); {
		d.addResource(d.next())
	}
}

func (d *decoder) addResource(a attribute) {
	r := &d.resource
	n, isInt := jsontext.ParseInt(bytes.Trim(a.value, `"`))
	switch {
	case a.key == "" || len(a.value) == 0:
	case a.key == attrkey.ServiceName && a.kind == kindString:
		r.Service = d.attr(a).Value
	case a.key == attrkey.Rank && isInt && n >= 0:
		r.Rank = op.Known(n)
	case a.key == attrkey.WorldSize && isInt && n >= 0:
		r.WorldSize = op.Known(n)
	default:
		attr := d.attr(a)
		if attr.Key == attrkey.HostName {
			r.Host = attr.Value
		}
		r.Attrs = append(r.Attrs, attr)
	}
}
