package attrmap

import (
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// List takes the elements of an attribute that is a list. Adapters whose
// source nests values call it element by element, in order:
//
//	[[64,784],[784,256]]   Begin Int(64) Int(784) End, Begin Int(784) Int(256) End, End
//	["64x784","784x256"]   Str("64x784") Str("784x256") End
//
// It is valid until End.
type List struct {
	b     *Builder
	key   string
	to    *target
	field Field // that takes the elements
	text  bool  // the list is wanted as JSON: shapes are read from that
	depth int   // of lists that are open in this one
	ended bool
}

// BeginList starts an attribute with a list value.
func (b *Builder) BeginList(key string) List { return b.SetList(b.Target(key)) }

// SetList is [Builder.BeginList] for a target.
func (b *Builder) SetList(to Target) List {
	t := to.to
	b.seen |= t.says
	l := List{b: b, key: to.key, to: t, field: t.field, text: t.keep || t.field.isShape()}
	if l.text {
		b.listText.start()
	}
	switch {
	case t.field.isShape():
	case t.field != FieldInputDTypes:
		b.bad(t.field)
	case b.claim(t):
		b.dtypes = b.dtypes[:0]
	default:
		l.field = FieldNone
	}
	return l
}

// Int adds an integer.
func (l *List) Int(v int64) {
	if l.text {
		l.b.listText.int(v)
	}
	l.noDType()
}

// Float adds a floating-point number, which stands for an integer where it is
// integral.
func (l *List) Float(v float64) {
	if l.text {
		l.b.listText.float(v)
	}
	l.noDType()
}

// Str adds a string.
func (l *List) Str(v string) {
	if l.text {
		l.b.listText.str(v)
	}
	if l.field == FieldInputDTypes && l.depth == 0 {
		l.b.addDType(v)
	} else {
		l.noDType()
	}
}

// Null adds an element without a value. Among the shapes of the inputs it stands
// for a shape that is not known.
func (l *List) Null() {
	if l.text {
		l.b.listText.null()
	}
	l.noDType()
}

// Other adds an element of any other type.
func (l *List) Other() {
	switch {
	case l.to.keep:
		l.b.listText.null()
		l.b.bad(l.field)
	case l.text:
		l.b.listText.str("") // which is no shape
	}
	l.noDType()
}

// Bool adds a boolean, which no field takes.
func (l *List) Bool(v bool) {
	if l.text {
		l.b.listText.raw(strconv.AppendBool(nil, v))
	}
	l.noDType()
}

// Keeps reports whether the text of elements matters.
func (l *List) Keeps() bool { return l.to.keep }

// JSON adds an element of any other type with its text, as [op.AttrJSON] describes. It
// matters where Keeps reports so.
func (l *List) JSON(text []byte) {
	if l.text {
		l.b.listText.raw(text)
	}
	l.noDType()
}

// noDType handles an element that is no element type, where the list has those.
func (l *List) noDType() {
	if l.field == FieldInputDTypes {
		l.b.bad(l.field)
		if l.depth == 0 {
			l.b.addDType("") // the others keep their places
		}
	}
}

// Begin starts an element that is a list itself.
func (l *List) Begin() {
	if l.text {
		l.b.listText.open()
	}
	l.noDType()
	l.depth++
}

// End ends the innermost list. Once all are ended it does nothing.
func (l *List) End() {
	if l.ended {
		return
	}
	if l.text {
		l.b.listText.close()
	}
	if l.depth > 0 {
		l.depth--
		return
	}
	l.ended = true
	if !l.text {
		return
	}
	text := l.b.listTexts.String(l.b.listText.buf)
	if l.field.isShape() {
		l.b.setShapes(l.to, text)
	}
	if l.to.keep {
		l.b.keep(op.Attr{Key: l.key, Value: text, Type: op.AttrJSON})
	}
}

// listText is the JSON of a list that is also wanted as text.
type listText struct{ buf []byte }

func (w *listText) start() { w.buf = append(w.buf[:0], '[') }

// next puts a comma behind the element before.
func (w *listText) next() []byte {
	if w.buf[len(w.buf)-1] != '[' {
		w.buf = append(w.buf, ',')
	}
	return w.buf
}

func (w *listText) int(v int64)     { w.buf = strconv.AppendInt(w.next(), v, 10) }
func (w *listText) float(v float64) { w.buf = jsontext.AppendDouble(w.next(), v) }
func (w *listText) str(v string)    { w.buf = jsontext.AppendString(w.next(), v) }
func (w *listText) raw(text []byte) { w.buf = append(w.next(), text...) }
func (w *listText) null()           { w.buf = append(w.next(), "null"...) }
func (w *listText) open()           { w.buf = append(w.next(), '[') }
func (w *listText) close()          { w.buf = append(w.buf, ']') }
