package kineto

import (
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

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
func readCount(l *jsontext.Lexer) op.Int { return count(readInt(l)) }

// count returns an integer that cannot be negative.
func count(n op.Int) op.Int {
	if n.V < 0 {
		return op.Int{}
	}
	return n
}
