package op

import (
	"unicode/utf8"

	"github.com/optrace/optrace/internal/jsontext"
)

// is reports whether the next value starts with opening. It passes over any
// other value, which is a warning unless it is null.
func (d *decoder) is(opening byte) bool {
	l := &d.lex
	if l.Peek() == opening {
		return true
	}
	if !l.Null() {
		d.entry.Warn |= WarnBadValue
		l.Skip()
	}
	return false
}

// text reads a string; null is "".
func (d *decoder) text() string {
	if !d.is('"') {
		return ""
	}
	return d.valid(d.lex.Str())
}

// valid returns b as a string of valid UTF-8.
func (d *decoder) valid(b []byte) string {
	if s, ok := d.strings.Find(b); ok {
		return s // the table holds valid text only
	}
	if !utf8.Valid(b) {
		d.entry.Warn |= WarnInvalidUTF8
		return validUTF8(string(b))
	}
	return d.strings.String(b)
}

// number reads the text of a number or of a number in quotes; false leaves any
// other value unread.
func (d *decoder) number() (text []byte, ok bool) {
	l := &d.lex
	switch c := l.Peek(); {
	case c == '-' || '0' <= c && c <= '9':
		text = l.Number()
	case c == '"':
		text = l.Str()
	default:
		return nil, false
	}
	return text, l.Err() == nil
}

// integer reads an integer, also in quotes; null is unknown, and so is anything
// else, which adds warning.
func (d *decoder) integer(warning Warning) Int {
	n, ok := int64(0), false
	switch c := d.lex.Peek(); {
	case c == '-' || '0' <= c && c <= '9':
		n, ok = d.lex.Int()
	case c == '"':
		n, ok = jsontext.ParseInt(d.lex.Str())
	case d.lex.Null():
		return Int{}
	default:
		d.lex.Skip()
	}
	if !ok {
		d.entry.Warn |= warning
		return Int{}
	}
	return Known(n)
}

// amount reads an integer that cannot be negative.
func (d *decoder) amount(warning Warning) Int {
	n := d.integer(warning)
	if n.V < 0 {
		d.entry.Warn |= warning
		return Int{}
	}
	return n
}

// traceID reads an id. One that is zero or not hexadecimal is unknown.
func (d *decoder) traceID() (id TraceID) {
	if !d.is('"') {
		return TraceID{}
	}
	given := true
	if !d.lex.QuotedHex(id[:]) {
		text := d.lex.Str()
		id, _ = ParseTraceID(text)
		given = len(text) > 0
	}
	if id.IsZero() && given {
		d.entry.Warn |= WarnBadID
	}
	return id
}

func (d *decoder) spanID() SpanID {
	id, given := d.id()
	if id.IsZero() && given {
		d.entry.Warn |= WarnBadID
	}
	return id
}

// parentID is spanID for a parent or root, where zero means that there is none.
func (d *decoder) parentID() SpanID {
	id, _ := d.id()
	return id
}

// id reads a span id and whether there was one.
func (d *decoder) id() (id SpanID, given bool) {
	if d.lex.QuotedHex(id[:]) {
		return id, true
	}
	if !d.is('"') {
		return SpanID{}, false
	}
	text := d.lex.Str()
	id, ok := ParseSpanID(text)
	if !ok && len(text) > 0 {
		d.entry.Warn |= WarnBadID
	}
	return id, len(text) > 0
}

// attributes appends the members of an object.
func (d *decoder) attributes(dst []Attr) []Attr {
	l := &d.lex
	if !d.is('{') {
		return nil
	}
	for l.Object(); l.More(); {
		a := Attr{Key: d.valid(l.Key())}
		switch c := l.Peek(); {
		case c == '"':
			a.Value = d.valid(l.Str())
		case c == '-' || '0' <= c && c <= '9':
			a.setNumber(l.Number())
		default:
			a.setRaw(d.valid(l.Raw()))
		}
		dst = setAttr(dst, a)
	}
	if len(dst) == 0 {
		return nil
	}
	return dst
}
