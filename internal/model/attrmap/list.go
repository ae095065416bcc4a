package attrmap

import (
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// SetList adds a list, given as valid JSON in the form of [op.AttrJSON]:
//
//	[[64,784],[784,256]]   ["64x784","784x256"]   [[64,784],null]
func (b *Builder) SetList(to Target, text []byte) {
	t := to.to
	b.seen |= t.says
	value := ""
	if t.keep || t.field.isShape() {
		value = b.listTexts.String(text)
	}
	switch {
	case t.field.isShape():
		b.setShapes(t, value)
	case t.field != FieldInputDTypes:
		b.bad(t.field)
	case b.claim(t):
		b.setDTypes(text)
	}
	if t.keep {
		b.keep(op.Attr{Key: to.key, Value: value, Type: op.AttrJSON})
	}
}

// setDTypes reads the element types of the inputs from JSON. Any other value keeps its place.
func (b *Builder) setDTypes(text []byte) {
	b.dtypes = b.dtypes[:0]
	l := &b.lex
	l.Reset(text)
	for l.Array(); l.More(); {
		if l.Peek() == '"' {
			b.addDType(b.listTexts.String(l.Str()))
			continue
		}
		l.Skip()
		b.bad(FieldInputDTypes)
		b.addDType("")
	}
}

// SetStrs adds an attribute with a list of strings.
func (b *Builder) SetStrs(t Target, v []string) {
	if t.to.field != FieldInputDTypes || t.to.keep {
		b.listText = appendStrs(b.listText[:0], v)
		b.SetList(t, b.listText)
		return
	}
	b.seen |= t.to.says
	if b.claim(t.to) {
		b.dtypes = b.dtypes[:0]
		for _, s := range v {
			b.addDType(s)
		}
	}
}

func appendInts(dst []byte, v []int64) []byte {
	if v == nil {
		v = []int64{}
	}
	return op.Shape(v).AppendJSON(dst)
}

func appendStrs[S ~string](dst []byte, list []S) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = lexer.AppendString(dst, string(s))
	}
	return append(dst, ']')
}
