package opfile

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// emptyEntry is the text of an entry in front of attributes.
var emptyEntry = len((&op.Entry{}).AppendJSON(nil)) - len("}")

// AppendRest appends what of attributes, links and extra a table without types has no
// columns for, as a JSON object; nothing where there is nothing.
func AppendRest(dst []byte, attrs []op.Attr, links []op.Link, x *op.Extra) []byte {
	e := op.Entry{Extra: x}
	for _, a := range attrs {
		if a.Type != op.AttrText {
			e.Attrs = append(e.Attrs, a)
		}
	}
	if slices.ContainsFunc(links, func(l op.Link) bool { return l.Extra != nil || l.Attention.Known }) {
		e.Links = links
	}
	if e.Attrs == nil && e.Links == nil && (x == nil || x.IsZero()) {
		return dst
	}
	start := len(dst)
	dst = e.AppendJSON(dst)
	dst[start+emptyEntry] = '{' // the comma in front of them
	return append(dst[:start], dst[start+emptyEntry:]...)
}
