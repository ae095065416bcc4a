package kineto

import (
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// addArgs gives the members of a JSON object to a builder, as attributes. The
// text is valid JSON; an empty one has no members.
func addArgs(b *op.Builder, l *jsontext.Lexer, text []byte) {
	if len(text) == 0 {
		return
	}
	l.Reset(text)
	for l.Object(); l.More(); {
		addArg(b, l, string(l.Key()))
	}
}

func addArg(b *op.Builder, l *jsontext.Lexer, key string) {
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
			addList(b, l, key)
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

// addList adds a list, which may hold lists.
func addList(b *op.Builder, l *jsontext.Lexer, key string) {
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

// readInt reads a number, or one in quotes; anything else is unknown.
func readInt(l *jsontext.Lexer) op.Int {
	var text []byte
	switch l.Peek() {
	case '"':
		text = l.Str()
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		text = l.Number()
	default:
		l.Skip()
		return op.Int{}
	}
	return parseInt(text)
}

func parseInt(text []byte) op.Int {
	n, ok := jsontext.ParseInt(text)
	if !ok {
		return op.Int{}
	}
	return op.Known(n)
}

// readCount reads an integer that cannot be negative.
func readCount(l *jsontext.Lexer) op.Int {
	n := readInt(l)
	if n.V < 0 {
		return op.Int{}
	}
	return n
}

// readText reads a string; of any other value it takes nothing.
func readText(l *jsontext.Lexer) string {
	if l.Peek() == '"' {
		return strings.ToValidUTF8(string(l.Str()), "\ufffd")
	}
	l.Skip()
	return ""
}
