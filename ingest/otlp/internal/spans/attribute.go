package spans

import "github.com/optrace/optrace/internal/attrmap"

// attribute is an attribute key that spans have had, with the place that its values
// go to.
type attribute struct {
	kind   valueKind // of the value, in JSON
	size   int       // of the text in front of the value, in JSON
	target attrmap.Target
	wanted bool // the value matters
}

// valueKind is the type of an attribute's value.
type valueKind uint8

const (
	kindString valueKind = iota
	kindInt
	kindList
)

// attributeTable holds the attributes that spans have had, in protobuf by the key and in JSON by all
// of the text in front of the value.
type attributeTable map[string]*attribute

// The bounds of a table. Keys are few and short, unless something writes values into
// them.
const (
	maxAttributes    = 1 << 12
	maxAttributeText = 1 << 9
)

// add remembers an attribute, whose text is at most maxAttributeText long.
func (t *attributeTable) add(text []byte, kind valueKind, target attrmap.Target) *attribute {
	if *t == nil || len(*t) >= maxAttributes {
		*t = make(attributeTable)
	}
	a := &attribute{kind: kind, size: len(text), target: target, wanted: target.Wanted()}
	(*t)[string(text)] = a
	return a
}
