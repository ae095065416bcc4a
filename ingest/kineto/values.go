package kineto

import (
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// readInt reads a number, or one in quotes; anything else is unknown.
func readInt(l *jsontext.Lexer) op.Int {
	if l.Peek() == '"' {
		return parseInt(l.Str())
	}
	return parseInt(l.AnyNumber())
}

func parseInt(text []byte) op.Int {
	n, ok := jsontext.ParseInt(text)
	if !ok {
		return op.Int{}
	}
	return op.Known(n)
}

// readCount reads an integer that cannot be negative.
func readCount(l *jsontext.Lexer) op.Int { return count(readInt(l)) }

// count returns an integer that cannot be negative.
func count(n op.Int) op.Int {
	if n.V < 0 {
		return op.Int{}
	}
	return n
}
