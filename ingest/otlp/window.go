package otlp

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
)

// window runs a lexer over a stream. The lexer sees a part of the input that slides forward. A step that runs into the
// end of the part is repeated with more input. Nearly all input is read once, without a scan for the ends of elements.
type window struct {
	lineio.Buffer
	name string
	lex  lexer.Lexer

	lines int64 // newlines in front of Text[counted]
	// counted is the length of Text with counted newlines. Each byte is counted once.
	counted int
	// held is a place to return to. The window keeps the text behind it.
	held    lexer.Mark
	holding bool
	tooLong bool // set if the limit ended a step
}

// A step that fails within a longer element is repeated with twice the input, so that its time stays linear. Shorter
// elements do not wait for input behind them.
const longElement = 1 << 20

// reset makes w read src, which starts at a position of the file. It reads buffered input in place.
func (w *window) reset(src io.Reader, name string, at op.Position) {
	w.Reset(src, at.Offset)
	w.name, w.lines, w.counted = name, at.Lines, 0
	w.holding = false
	w.tooLong = false
	w.lex.Reset(w.Text)
}

// do runs a step. It may run the step several times, each time from scratch; the last run saw all its input.
func (w *window) do(step func(l *lexer.Lexer)) {
	if w.tooLong {
		return
	}
	for {
		w.lex.Peek() // skips white space once
		m := w.lex.Mark()
		step(&w.lex)
		// A number at the end of the window may go on behind it.
		if !w.lex.Truncated() && (w.lex.Err() != nil || !w.lex.AtEnd()) || w.Err != nil {
			return
		}
		if !w.fill(m) {
			return
		}
	}
}

// fill reads more input and rewinds the lexer to m. It reports false at the end of the input or at the limit.
func (w *window) fill(m lexer.Mark) bool {
	keep := m.Pos()
	if w.holding {
		keep = min(keep, w.held.Pos())
	}
	if len(w.Text)-keep >= MaxElementBytes {
		w.tooLong = true
		return false
	}
	w.slide(keep)
	w.held = w.held.Shift(keep)
	need := len(w.Text) + 1
	if need > longElement {
		need = min(2*need, cap(w.Text))
	}
	for len(w.Text) < need && w.Err == nil {
		w.Read()
	}
	w.lex.Replace(w.Text, keep)
	w.lex.Rewind(m.Shift(keep))
	return true
}

// slide drops the first n bytes of the window and makes room behind the rest.
func (w *window) slide(n int) {
	w.countTo(max(n, w.counted))
	w.counted -= n
	w.Slide(n, math.MaxInt)
}

// The steps. They return zero values after an error.

func (w *window) peek() (c byte) {
	w.do(func(l *lexer.Lexer) { c = l.Peek() })
	return c
}

func (w *window) object() { w.do((*lexer.Lexer).Object) }
func (w *window) array()  { w.do((*lexer.Lexer).Array) }

func (w *window) more() (more bool) {
	w.do(func(l *lexer.Lexer) { more = l.More() })
	return more && !w.failed()
}

// key returns a member's name, valid until the next step.
func (w *window) key() (k []byte) {
	w.do(func(l *lexer.Lexer) { k = l.Key() })
	return k
}

func (w *window) skip() {
	base := w.lex.Depth()
	for {
		switch w.peek() {
		case '{':
			w.object()
		case '[':
			w.array()
		default:
			w.do((*lexer.Lexer).Skip)
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

func (w *window) failed() bool { return w.tooLong || w.lex.Err() != nil }

func (w *window) sourceError() error {
	if w.Err == io.EOF {
		return nil
	}
	return w.Err
}

func (w *window) syntaxError() *op.SyntaxError {
	if w.tooLong {
		return w.errorAt(fmt.Sprintf("element longer than %d MiB", MaxElementBytes>>20), op.ErrorLimit)
	}
	err := w.errorAt(w.lex.Err().Error(), op.ErrorSyntax)
	err.Truncated = w.lex.Truncated()
	return err
}

func (w *window) errorAt(msg string, class op.ErrorClass) *op.SyntaxError {
	at := min(w.lex.Offset(), len(w.Text))
	return &op.SyntaxError{File: w.name, Offset: w.Offset + int64(at), Line: w.line(), Msg: msg, Class: class}
}

// The places to resume behind damage. A document starts with a line if documents are lines, else with a line that
// starts with a brace: the lines within a document are indented. A span is known from a link by its name behind the
// members that writers put first.
var (
	lineStart      = regexp.MustCompile(`\n`)
	documentStart  = regexp.MustCompile(`\n\{`)
	lineOrSpan     = regexp.MustCompile(`\n|` + groupOrSpan)
	documentOrSpan = regexp.MustCompile(`\n\{|` + groupOrSpan)
)

const groupOrSpan = `"(?:resource|scope)"\s*:|\{\s*"trace_?[iI]d"\s*:\s*"[0-9a-fA-F]*"\s*,\s*` +
	`(?:"(?:span_?[iI]d|trace_?[sS]tate|parent_?[sS]pan_?[iI]d|flags)"\s*:\s*(?:"[^"\\\n]*"|[0-9]+)\s*,\s*)*"name"\s*:`

const maxStart = 4 << 10 // bounds the beginning of a span in a search

// passZeros passes over zero bytes in front of a document. It returns an error about them, nil if there are none.
func (w *window) passZeros() *op.SyntaxError {
	at := func() int64 { return w.Offset + int64(w.lex.Pos()) }
	w.peek()
	from := at()
	for w.peek() == 0 && !w.failed() && !w.lex.AtEnd() {
		rest := w.Text[w.lex.Pos():]
		w.lex.Advance(len(rest) - len(bytes.TrimLeft(rest, "\x00")))
	}
	if at() == from {
		return nil
	}
	return lineio.Zeros(w.name, w.line(), from, at())
}

// seek returns the index in the window of the first match from an offset in the input on. It reports false if there is
// none.
func (w *window) seek(offset int64, places *regexp.Regexp) (at int, ok bool) {
	w.tooLong = false
	w.holding = false
	at = min(max(0, int(offset-w.Offset)), len(w.Text))
	for {
		if found := places.FindIndex(w.Text[at:]); found != nil {
			return at + found[0], true
		}
		if w.Err != nil {
			return 0, false
		}
		w.slide(max(at, len(w.Text)-maxStart))
		at = 0
		w.Read()
	}
}

func (w *window) hold() {
	w.held = w.lex.Mark()
	w.holding = true
}

func (w *window) release() {
	w.lex.Rewind(w.held)
	w.holding = false
	w.tooLong = false
}

// null consumes null and reports whether it did.
func (w *window) null() (null bool) {
	w.do(func(l *lexer.Lexer) { null = l.Null() })
	return null
}

// startsLines reports whether the lexer is in front of a document on one line, as far as the window shows: the next
// line starts with the same member. No line within a document does.
func (w *window) startsLines() bool {
	rest := w.Text[min(w.lex.Offset(), len(w.Text)):]
	line, next, ok := bytes.Cut(rest, []byte{'\n'})
	if !ok || !bytes.HasPrefix(line, []byte(`{"`)) {
		return false
	}
	key, _, ok := bytes.Cut(line[2:], []byte{'"'})
	return ok && bytes.HasPrefix(next, line[:2+len(key)+1])
}

// startsSpread reports whether the lexer is in front of an object whose first line is only a brace.
func (w *window) startsSpread() (spread bool) {
	w.do(func(l *lexer.Lexer) {
		m := l.Mark()
		l.Object()
		from := l.Pos()
		next := l.Peek()
		spread = (next == '"' || next == '}') && bytes.IndexByte(w.Text[from:l.Pos()], '\n') >= 0
		if next != 0 || l.Err() != nil || w.Err != nil { // else it is tried again with more
			l.Rewind(m)
		}
	})
	return spread
}

func (w *window) line() int64 {
	w.countTo(min(w.lex.Offset(), len(w.Text)))
	return w.lines + 1
}

func (w *window) countTo(at int) {
	newline := []byte{'\n'}
	if at >= w.counted {
		w.lines += int64(bytes.Count(w.Text[w.counted:at], newline))
	} else {
		w.lines -= int64(bytes.Count(w.Text[at:w.counted], newline))
	}
	w.counted = at
}
