package opfile

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// emptyEntry is the length of an entry's text in front of attributes.
var emptyEntry = len((&op.Entry{}).AppendJSON(nil)) - len("}")

// AppendRest appends the parts of attributes, links and extra without a column in a table of texts, as a JSON object.
// It appends no text if there are no such parts.
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
	dst[start+emptyEntry] = '{' // in place of their comma
	return append(dst[:start], dst[start+emptyEntry:]...)
}
