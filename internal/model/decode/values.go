package decode

import (
	"slices"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Is reports whether the next value starts with opening. It skips any other value, with a warning unless it is null.
func (d *Decoder) Is(opening byte) bool { return d.is(opening, op.WarnBadValue) }

func (d *Decoder) is(opening byte, warning op.Warning) bool {
	l := &d.Lex
	if l.Peek() == opening {
		return true
	}
	if !l.Null() {
		d.Entry.Warn |= warning
		l.Skip()
	}
	return false
}

func (d *Decoder) text() string {
	if !d.Is('"') {
		return ""
	}
	return d.valid(d.Lex.Str())
}

func (d *Decoder) valid(b []byte) string {
	if s, ok := d.strings.Find(b); ok {
		return s // the table holds valid text only
	}
	if !utf8.Valid(b) {
		d.Entry.Warn |= op.WarnInvalidUTF8
		return lexer.ValidUTF8(string(b))
	}
	return d.strings.String(b)
}

// Number reads the text of a number, also in quotes. Any other value stays unread.
func (d *Decoder) Number() (text []byte, ok bool) {
	l := &d.Lex
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

// Integer reads an integer, also in quotes. null is unknown; any other value is unknown with a warning.
func (d *Decoder) Integer(warning op.Warning) op.Int {
	n, ok := int64(0), false
	switch c := d.Lex.Peek(); {
	case c == '-' || '0' <= c && c <= '9':
		n, ok = d.Lex.Int()
	case c == '"':
		n, ok = lexer.ParseInt(d.Lex.Str())
	case d.Lex.Null():
		return op.Int{}
	default:
		d.Lex.Skip()
	}
	if !ok {
		d.Entry.Warn |= warning
		return op.Int{}
	}
	return op.Known(n)
}

func (d *Decoder) amount(warning op.Warning) op.Int { return d.known(false, warning) }

func (d *Decoder) known(signed bool, warning op.Warning) op.Int {
	n := d.Integer(warning)
	if n.V < 0 && !signed {
		d.Entry.Warn |= warning
		return op.Int{}
	}
	return n
}

// id reads an id of the length of to. Text that is not hexadecimal is unknown. Zero is a bad id unless none allows it.
func (d *Decoder) id(to []byte, none bool) {
	ok := d.Lex.QuotedHex(to)
	if !ok {
		clear(to)
		if !d.Is('"') {
			return
		}
		text := d.Lex.Str()
		if ok = lexer.ParseID(to, text); len(text) == 0 {
			return
		}
	}
	if !ok || !none && !slices.ContainsFunc(to, func(b byte) bool { return b != 0 }) {
		d.Entry.Warn |= op.WarnBadID
	}
}

// Attributes appends the members of an object.
func (d *Decoder) Attributes(dst []op.Attr) []op.Attr {
	l := &d.Lex
	if !d.Is('{') {
		return nil
	}
	for l.Object(); l.More(); {
		a := op.Attr{Key: d.valid(l.Key())}
		switch c := l.Peek(); {
		case c == '"':
			a.Value = d.valid(l.Str())
		case c == '-' || '0' <= c && c <= '9':
			opmodel.SetNumber(&a, l.Number())
		default:
			opmodel.SetRaw(&a, d.valid(l.Raw()))
		}
		dst = d.Index.Set(dst, a)
	}
	if len(dst) == 0 {
		return nil
	}
	return dst
}
