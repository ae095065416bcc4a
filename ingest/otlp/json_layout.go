package otlp

import (
	"bytes"
	"slices"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// knownAttributes is what is known of attributes that came before.
type knownAttributes struct {
	template op.Template
	// layouts are those of JSON spans that had them, nil behind the last.
	layouts [maxSpanLayouts]*spanLayout
}

// spanLayout is what the JSON spans of an operation have in common: all of the
// text but ids, times and attributes. A span whose layout is known is not taken
// apart: its pieces of text are compared, which takes half of the time.
//
//	{"traceId":"4d02…","spanId":"ca97…","name":"relu","kind":1,"startTimeUnixNano":"1760…",…,"attributes":[…],"status":{}}
//	^^^^^^^^^^^        ^^^^^^^^^^        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
//	a piece, with the key that it ends with
type spanLayout struct {
	pieces []spanPiece
	rest   string // behind the last value
	fields spanFields
}

// spanLayouts are the layouts of a reader, by their texts. There are few, and
// many attributes share them: those that are used are in the near cache.
type spanLayouts map[string]*spanLayout

// spanPiece is text up to a value that differs, and whose value that is.
type spanPiece struct {
	text string
	key  int
}

// maxSpanLayouts bounds the layouts of spans with the same attributes, and
// maxLayoutText their length without those.
const (
	maxSpanLayouts = 3
	maxLayoutText  = 1 << 10
)

// maxLayouts bounds the layouts of a reader. Beyond it they are forgotten.
const maxLayouts = 1 << 12

// spanMember is a member of a span that has been read.
type spanMember struct{ key, value, end int }

// differs tells which members have other values in every span, and the
// attributes, which are compared by themselves.
func differs(key int) bool {
	switch key {
	case memberTraceID, memberSpanID, memberParent, memberStart, memberEnd, memberAttributes:
		return true
	}
	return false
}

// recallSpan reads a span as the one that is expected next, and reports whether
// it was. Otherwise the lexer stands where it did.
func (r *jsonReader) recallSpan(l *jsontext.Lexer) bool {
	known, attributes := r.templates.Expected()
	if known == nil {
		return false
	}
	start := l.Mark()
	for _, y := range known.layouts {
		if y == nil {
			break
		}
		if r.follow(l, y, attributes) {
			r.templates.Right()
			r.builder.SetTemplate(&known.template)
			r.attributed = true
			return true
		}
		l.Rewind(start)
	}
	return false
}

// follow reads the values between the pieces of y and reports whether the span
// has that layout.
func (r *jsonReader) follow(l *jsontext.Lexer, y *spanLayout, attributes []byte) bool {
	r.fields = y.fields
	for i := range y.pieces {
		if !l.Accept(y.pieces[i].text) {
			return false
		}
		if key := y.pieces[i].key; key != memberAttributes {
			r.readMember(l, key)
		} else if !l.AcceptBytes(attributes) {
			return false
		}
	}
	return l.Accept(y.rest)
}

// learnLayout keeps the layout of the span that has been read from start on.
func (r *jsonReader) learnLayout(l *jsontext.Lexer, start int) {
	f := r.fields
	if r.known == nil || r.known.layouts[maxSpanLayouts-1] != nil || r.repeatedMember || f.badID || f.invalidTimes {
		return
	}
	// The texts are told apart by what stands for the values that differ.
	key := r.layoutKey[:0]
	at := start
	for _, m := range r.members {
		if differs(m.key) {
			key = append(append(key, l.Text(at, m.value)...), 0, byte(m.key))
			at = m.end
		}
	}
	key = append(key, l.Text(at, l.Pos())...)
	r.layoutKey = key
	if len(key) > maxLayoutText || bytes.IndexByte(key, '\n') >= 0 { // see parseAttributes
		return
	}
	y, ok := r.layouts[string(key)]
	if !ok {
		y = r.newLayout(l, start)
		if r.layouts == nil || len(r.layouts) >= maxLayouts {
			r.layouts = make(spanLayouts)
		}
		r.layouts[string(key)] = y
	}
	free := slices.Index(r.known.layouts[:], nil)
	if !slices.Contains(r.known.layouts[:free], y) {
		r.known.layouts[free] = y
	}
}

// newLayout returns the layout of the span that has been read from start on.
func (r *jsonReader) newLayout(l *jsontext.Lexer, start int) *spanLayout {
	y := &spanLayout{fields: r.fields}
	at := start
	for _, m := range r.members {
		if differs(m.key) {
			y.pieces = append(y.pieces, spanPiece{text: string(l.Text(at, m.value)), key: m.key})
			at = m.end
		}
	}
	y.rest = string(l.Text(at, l.Pos()))
	f := &y.fields
	f.trace, f.id, f.parent, f.start, f.end = op.TraceID{}, op.SpanID{}, op.SpanID{}, 0, 0
	return y
}
