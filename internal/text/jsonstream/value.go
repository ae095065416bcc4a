package jsonstream

import (
	"fmt"
	"iter"
	"slices"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Elements enters an array and yields the text of each element, or an *[op.SyntaxError] for one longer than
// MaxElement. Err returns the error that ends the walk early.
func (r *Reader) Elements() iter.Seq2[[]byte, error] { return r.values(r.Array, r.More) }

// Documents yields the text of each document on the top level, like Elements. An opening brace at the start of a line
// starts a document: a truncated document does not swallow later ones, if documents are lines or indented. Text other
// than an object or array is a document up to the end of its line, for one error per line.
func (r *Reader) Documents() iter.Seq2[[]byte, error] {
	return r.values(func() { r.linewise = true }, r.Next)
}

func (r *Reader) values(enter func(), more func() bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for enter(); more(); {
			text, err := r.Value()
			if r.err != nil || !yield(text, err) {
				return
			}
		}
	}
}

// Key reads a member's name and the colon behind it.
func (r *Reader) Key() []byte {
	if r.Peek() != '"' {
		r.fail("expected a string")
		return nil
	}
	text, err := r.Value()
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		return nil
	}
	var key []byte
	if n := len(text); n >= 2 && text[n-1] == '"' {
		key = text[1 : n-1]
	}
	if slices.Contains(key, '\\') { // rare
		var l lexer.Lexer
		l.Reset(text)
		key = l.Str()
	}
	// The search for the colon may move the buffer.
	r.key = append(r.key[:0], key...)
	if r.Peek() != ':' {
		r.fail("expected ':'")
		return nil
	}
	r.pos++
	return r.key
}

// Value reads the next value and returns its text. Its brackets match, but the text is not checked otherwise. The
// error is an *[op.SyntaxError] for a value longer than MaxElement, after which reading goes on, or else the error of
// Err.
func (r *Reader) Value() ([]byte, error) {
	text, tooLong := r.scan(MaxElement)
	switch {
	case r.err != nil:
		return nil, r.err
	case tooLong:
		err := r.SyntaxError(0, fmt.Sprintf("value longer than %d MiB", MaxElement>>20))
		err.Class = op.ErrorLimit
		return nil, err
	}
	return text, nil
}

// Buffered returns the buffered input from the next value on: often the whole value and later ones. A caller that
// finds the value's end there moves behind it with Pass. Otherwise it takes the value by Value or Skip.
func (r *Reader) Buffered() []byte {
	if r.Peek() == 0 {
		return nil
	}
	r.start = r.Position()
	return r.in.Text[r.pos:]
}

// Pass moves behind the next value, the first n bytes of Buffered.
func (r *Reader) Pass(n int) { r.pos += n }

// Skip skips the next value of any length.
func (r *Reader) Skip() { r.scan(0) }

// scan delimits the next value. It keeps up to limit bytes of it and skips a longer one.
func (r *Reader) scan(limit int) (text []byte, tooLong bool) {
	first := r.Peek()
	r.start = r.Position()
	if first == 0 && (r.err != nil || r.pos == len(r.in.Text) || !r.linewise) {
		r.fail("expected a value")
		return nil, false
	}
	switch first {
	case ',', ':', '}', ']':
		if r.linewise && len(r.stack) == 0 {
			break
		}
		r.fail("expected a value")
		return nil, false
	}
	s := scanner{lines: r.linewise && len(r.stack) == 0}
	s.line = s.lines && first != '{' && first != '['
	n := 0 // bytes of the unread part scanned
	for {
		m, done := s.scan(r.in.Text[r.pos:], n)
		if done {
			text = r.in.Text[r.pos : r.pos+m]
			r.pos += m
			return text, tooLong || m > limit
		}
		n = len(r.in.Text) - r.pos
		if n > limit {
			tooLong = true
			r.pos = len(r.in.Text)
			n = 0
		}
		if r.fill() {
			continue
		}
		if r.err == nil && s.bare {
			text = r.in.Text[r.pos:] // the input's end delimits a number
			r.pos = len(r.in.Text)
			return text, tooLong
		}
		r.pos = len(r.in.Text)
		r.fail("")
		return nil, tooLong
	}
}
