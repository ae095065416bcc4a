package stdouttrace

import (
	"bytes"

	"github.com/optrace/optrace/internal/opmodel"

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
	var index opmodel.AttrIndex
	for more := l.AnyArray(); more && l.More(); {
		if a := d.next(); a.key != "" && len(a.value) > 0 {
			opmodel.SetResourceAttr(&d.resource, &index, d.attr(a))
		}
	}
}
