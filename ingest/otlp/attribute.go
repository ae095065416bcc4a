package otlp

import "github.com/optrace/optrace/op"

// attribute is an attribute that spans have had: what it looks like up to the
// value, and where the value goes.
type attribute struct {
	// text is what stands in front of the value; in protobuf the key.
	text   string
	kind   valueKind // of the value; not used in protobuf
	target op.Target
	wanted bool // the value matters
	// next is the attribute that followed this one in the last span.
	next *attribute
}

// attributeTable holds the attributes that spans have had. Programs write the
// attributes of a span in the same order each time, so that the one that followed
// last is expected first and nothing is looked up.
type attributeTable struct {
	byText map[string]*attribute
	// before is the attribute in front, in a span that starts &first.
	first  attribute
	before *attribute
}

// maxAttributes bounds how many attributes are remembered. There are few, unless
// something writes values into keys.
const maxAttributes = 1 << 12

// start begins with the first attribute of a span.
func (t *attributeTable) start() { t.before = &t.first }

// took notes which attribute came next.
func (t *attributeTable) took(a *attribute) {
	t.before.next = a
	t.before = a
}

// find returns the attribute with the text, nil where there has been none.
func (t *attributeTable) find(text []byte) *attribute { return t.byText[string(text)] }

// add remembers an attribute.
func (t *attributeTable) add(a *attribute) *attribute {
	if t.byText == nil || len(t.byText) >= maxAttributes {
		t.byText = make(map[string]*attribute)
		t.first.next = nil
	}
	a.wanted = a.target.Wanted()
	t.byText[a.text] = a
	return a
}
