// Package attrjson gives JSON values to an op.Builder as attributes, for
// formats whose attributes are plain JSON. What is not valid JSON is the
// lexer's to report.
package attrjson

import (
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// Object gives the members of a JSON object to a builder. l serves to read it,
// and an empty text has no members.
func Object(b *op.Builder, l *jsontext.Lexer, text []byte) {
	if len(text) == 0 {
		return
	}
	l.Reset(text)
	for l.Object(); l.More(); {
		Value(b, l, string(l.Key()))
	}
}

// Value gives the value that comes next in l to a builder; null as if it were
// not there.
func Value(b *op.Builder, l *jsontext.Lexer, key string) {
	switch l.Peek() {
	case '"':
		b.Str(key, string(l.Str()))
	case 't', 'f':
		b.Bool(key, l.Bool())
	case 'n':
		l.Null() // as if it were not there
	case '{':
		l.Skip()
		b.Other(key)
	case '[':
		if b.Wants(key) {
			List(b, l, key)
		} else {
			l.Skip()
			b.Other(key)
		}
	default:
		number := l.Number()
		if n, ok := jsontext.ParseInt(number); ok {
			b.Int(key, n)
		} else if f, ok := jsontext.ParseFloat(number); ok {
			b.Float(key, f)
		} else {
			b.Other(key)
		}
	}
}

// List gives the list that comes next in l to a builder.
func List(b *op.Builder, l *jsontext.Lexer, key string) {
	list := b.BeginList(key)
	l.Array()
	for open := 1; open > 0; {
		if !l.More() {
			open--
			list.End() // the last one ends the attribute
			continue
		}
		switch l.Peek() {
		case '[':
			l.Array()
			open++
			list.Begin()
		case '"':
			list.Str(string(l.Str()))
		case '{', 't', 'f', 'n':
			l.Skip()
			list.Other()
		default:
			number := l.Number()
			if n, ok := jsontext.ParseInt(number); ok {
				list.Int(n)
			} else if f, ok := jsontext.ParseFloat(number); ok {
				list.Float(f)
			} else {
				list.Other()
			}
		}
	}
}
