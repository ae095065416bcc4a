package spans

import "github.com/optrace/optrace/internal/model/attrmap"

// attribute is an attribute key that spans have had, with the place that its values go to.
type attribute struct {
	// text is the key in protobuf, and in JSON all of the text in front of the value.
	text   string
	kind   valueKind // of the value, in JSON
	target attrmap.Target
	wanted bool // the value matters
	// next is the attribute that followed this one last, and other an earlier one.
	next, other *attribute
}

// valueKind is the type of an attribute's value.
type valueKind uint8

const (
	kindString valueKind = iota
	kindInt
	kindList
)

// attributeTable holds the attributes that spans have had. Programs write the attributes of a span in few orders: the
// attributes that have followed the previous one are tried first, and hardly any has to be looked up.
type attributeTable struct {
	byText map[string]*attribute
	// first stands in front of the first attribute of a span.
	first attribute
	// before is the previous attribute.
	before *attribute
}

// The bounds of a table. Keys are few and short, unless something writes values into them.
const (
	maxAttributes    = 1 << 12
	maxAttributeText = 1 << 9
)

// start begins a span.
func (t *attributeTable) start() { t.before = &t.first }

// find returns the attribute with the text, nil where there has been none.
func (t *attributeTable) find(text []byte) *attribute { return t.byText[string(text)] }

// add remembers an attribute, whose text is at most maxAttributeText long.
func (t *attributeTable) add(a *attribute) *attribute {
	if t.byText == nil || len(t.byText) >= maxAttributes {
		t.byText = make(map[string]*attribute)
		t.first.next = nil
		t.first.other = nil
	}
	a.wanted = a.target.Wanted()
	t.byText[a.text] = a
	return a
}

// expect notes that next, which was not expected first, follows a.
func (a *attribute) expect(next *attribute) { a.next, a.other = next, a.next }
