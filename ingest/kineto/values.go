package kineto

import (
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

func parseInt(text []byte) op.Int {
	n, ok := lexer.ParseInt(text)
	if !ok {
		return op.Int{}
	}
	return op.Known(n)
}

// readCount reads an integer that cannot be negative, or one in quotes; anything else is unknown.
func readCount(l *lexer.Lexer) op.Int {
	if l.Peek() == '"' {
		return count(parseInt(l.Str()))
	}
	return count(parseInt(l.AnyNumber()))
}

// count returns an integer that cannot be negative.
func count(n op.Int) op.Int {
	if n.V < 0 {
		return op.Int{}
	}
	return n
}
