package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// errTooLong is the error for an element that does not fit into the window.
var errTooLong = errors.New("element longer than 16 MiB")

// window runs a lexer over a stream. What the lexer looks at is a part of the
// input that slides forward; each step is tried on what is there and, where it
// runs into the end, tried again with more. So nearly everything is read
// once, without a scan for where elements end.
type window struct {
	buffer
	name string
	lex  jsontext.Lexer

	lines int64 // newlines in front of buf[counted]
	// counted is how much of buf the newlines have been counted of: each is
	// looked at once, however many lines are bad.
	counted int
	limit   int // of buf
	// held is a place to come back to, which keeps what is behind it in buf.
	held    jsontext.Mark
	holding bool
	// tooLong is set if the limit ended a step.
	tooLong bool
}

// reset makes w read src, which starts at a position of the file. What is in
// memory already is read where it lies.
func (w *window) reset(src io.Reader, name string, at op.Position) {
	w.buffer.reset(src, at.Offset)
	w.name, w.lines, w.counted = name, at.Lines, 0
	w.limit, w.holding, w.tooLong = MaxElementBytes, false, false
	w.lex.Reset(w.buf)
}

// do runs a step. It may run several times and has to start from scratch each
// time; the last run saw all that it needed, or the end of the input.
func (w *window) do(step func(l *jsontext.Lexer)) {
	if w.tooLong {
		return
	}
	for {
		w.lex.Peek() // what white space there is need not be read again
		m := w.lex.Mark()
		step(&w.lex)
		// A number that ends with the window may go on behind it.
		if !w.lex.Truncated() && (w.lex.Err() != nil || !w.lex.AtEnd()) || w.err != nil {
			return
		}
		if !w.fill(m) {
			return
		}
	}
}

// fill reads more behind the window and takes the lexer back to m. It reports
// false where there is no more to be had: the step stands as it is.
func (w *window) fill(m jsontext.Mark) bool {
	keep := m.Pos()
	if w.holding {
		keep = min(keep, w.held.Pos())
	}
	if len(w.buf)-keep >= w.limit {
		w.tooLong = true
		return false
	}
	w.slide(keep)
	w.held = w.held.Shift(keep)
	n := len(w.buf)
	for n == len(w.buf) && w.err == nil {
		w.read()
	}
	w.lex.Replace(w.buf, keep)
	w.lex.Rewind(m.Shift(keep))
	return true
}

// slide drops the first n bytes of the window and makes room behind the rest.
func (w *window) slide(n int) {
	w.countTo(max(n, w.counted))
	w.counted -= n
	w.buffer.slide(n)
}

// The steps. They return zero values after an error.

func (w *window) peek() (c byte) {
	w.do(func(l *jsontext.Lexer) { c = l.Peek() })
	return c
}

func (w *window) object() { w.do((*jsontext.Lexer).Object) }
func (w *window) array()  { w.do((*jsontext.Lexer).Array) }

func (w *window) more() (more bool) {
	w.do(func(l *jsontext.Lexer) { more = l.More() })
	return more && !w.failed()
}

// key returns a member's name, valid until the next step.
func (w *window) key() (k []byte) {
	w.do(func(l *jsontext.Lexer) { k = l.Key() })
	return k
}

// skip passes over a value of any length.
func (w *window) skip() {
	base := w.lex.Depth()
	for {
		switch w.peek() {
		case '{':
			w.object()
		case '[':
			w.array()
		default:
			w.do((*jsontext.Lexer).Skip)
		}
		for {
			if w.failed() || w.lex.Depth() == base {
				return
			}
			inObject := w.lex.InObject()
			if w.more() {
				if inObject {
					w.key()
				}
				break
			}
		}
	}
}

// failed reports whether the lexer cannot go on.
func (w *window) failed() bool { return w.tooLong || w.lex.Err() != nil }

// sourceError returns the error of the source other than its end.
func (w *window) sourceError() error {
	if w.err == io.EOF {
		return nil
	}
	return w.err
}

// syntaxError describes what failed.
func (w *window) syntaxError() *op.SyntaxError {
	err, class := w.lex.Err(), op.ErrorSyntax
	if w.tooLong {
		err, class = errTooLong, op.ErrorLimit
	}
	at := min(w.lex.Offset(), len(w.buf))
	return &op.SyntaxError{
		File: w.name, Offset: w.offset + int64(at),
		Line: w.line(),
		Msg:  err.Error(), Truncated: w.lex.Truncated() && !w.tooLong, Class: class,
	}
}

// shortLine is the length from which on a line may hold a span.
const shortLine = 8

// skipShort goes behind the shorter lines that are buffered in front of the lexer, at the
// start of a line, and returns how many of them are not blank.
func (w *window) skipShort() (n int64) {
	at := w.lex.Pos()
	for at < len(w.buf) {
		i := bytes.IndexByte(w.buf[at:min(at+shortLine-1, len(w.buf))], '\n')
		if i < 0 {
			break
		}
		if len(bytes.TrimSpace(w.buf[at:at+i])) > 0 {
			n++
		}
		at += i + 1
	}
	w.standAt(at)
	return n
}

// hold keeps the place where the lexer stands, for release to come back to.
func (w *window) hold() {
	w.held, w.holding, w.limit = w.lex.Mark(), true, MaxLookAheadBytes
}

// release comes back to the place that was held.
func (w *window) release() {
	w.lex.Rewind(w.held)
	w.holding, w.tooLong, w.limit = false, false, MaxElementBytes
}

// null consumes null and reports whether it stood there.
func (w *window) null() (null bool) {
	w.do(func(l *jsontext.Lexer) { null = l.Null() })
	return null
}

// peekKey returns the name of the next member without consuming it.
func (w *window) peekKey() (k []byte) {
	w.do(func(l *jsontext.Lexer) {
		m := l.Mark()
		if k = l.Key(); l.Err() == nil {
			l.Rewind(m)
		}
	})
	return k
}

// startsLines reports whether the lexer stands in front of a line that is a
// document, as far as the window shows: the next line starts with the same
// member. Within a document that is spread over lines none does.
func (w *window) startsLines() bool {
	rest := w.buf[min(w.lex.Offset(), len(w.buf)):]
	line, next, ok := bytes.Cut(rest, []byte{'\n'})
	if !ok || !bytes.HasPrefix(line, []byte(`{"`)) {
		return false
	}
	key, _, ok := bytes.Cut(line[2:], []byte{'"'})
	return ok && bytes.HasPrefix(next, line[:2+len(key)+1])
}

// startsSpread reports whether the lexer stands in front of an object whose first line is
// a brace alone, and whose next line goes on with it.
func (w *window) startsSpread() (spread bool) {
	w.do(func(l *jsontext.Lexer) {
		m := l.Mark()
		l.Object()
		from := l.Pos()
		next := l.Peek()
		spread = (next == '"' || next == '}') && bytes.IndexByte(w.buf[from:l.Pos()], '\n') >= 0
		if next != 0 || l.Err() != nil || w.err != nil { // else it is tried again with more
			l.Rewind(m)
		}
	})
	return spread
}

// position returns where the lexer stands in the input.
func (w *window) position() int64 { return w.offset + int64(w.lex.Pos()) }

// line returns the number of the line where the lexer stands, from 1.
func (w *window) line() int64 {
	w.countTo(min(w.lex.Offset(), len(w.buf)))
	return w.lines + 1
}

// countTo makes lines the number of newlines in front of buf[at].
func (w *window) countTo(at int) {
	newline := []byte{'\n'}
	if at >= w.counted {
		w.lines += int64(bytes.Count(w.buf[w.counted:at], newline))
	} else {
		w.lines -= int64(bytes.Count(w.buf[at:w.counted], newline))
	}
	w.counted = at
}

// limitErrorf returns an error for a limit that is exceeded at the current position.
func (w *window) limitErrorf(format string, args ...any) *op.SyntaxError {
	return &op.SyntaxError{
		File: w.name, Offset: w.offset + int64(w.lex.Offset()), Line: w.line(),
		Msg: fmt.Sprintf(format, args...), Class: op.ErrorLimit,
	}
}
