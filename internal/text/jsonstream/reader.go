// Package jsonstream walks JSON documents too large for memory, such as one object with an array of millions of events. The
// caller enters the outer structure step by step, as with [lexer.Lexer], and gets the elements as text for a Lexer.
//
//	r := jsonstream.NewReader(src, name)
//	for r.Object(); r.More(); {
//		switch string(r.Key()) {
//		case "traceEvents":
//			for event, err := range r.Elements() {
//				…
//			}
//		default:
//			r.Skip()
//		}
//	}
//	return r.Err()
//
// Brackets and strings alone delimit elements; the Lexer checks their grammar. A bad element costs only itself, also where
// it hides its end, see [Reader.Resume]. The largest element taken as text bounds the memory, and nesting costs memory only
// where the caller enters it.
package jsonstream

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"slices"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
)

// Sizes of elements in bytes.
const (
	// MaxElement is the longest element taken as text. A longer one is skipped and reported.
	MaxElement = 16 << 20
	// Large elements are checked for damage that hides their end.
	Large = 4 << 10
)

// Reader walks a sequence of JSON documents. Call its methods in the order of the document. The first error is final:
// a violation of the outer structure, the end of the input within it, or a failure of the source. Every later call
// returns zero values, and the caller checks Err once, at the end.
//
// A Reader is not safe for concurrent use. Returned bytes are valid until the next call.
type Reader struct {
	name string
	in   lineio.Buffer
	pos  int // of the unread part of the buffer

	stack []frame
	key   []byte
	start int64 // start of the last value
	err   error

	linewise bool // set if an opening brace at the start of a line always starts a document

	// Behind damage the walk goes from stack to path, see Resume.
	starts   *regexp.Regexp
	paths    [][]frame // the stack within each list, as far as known; the first is that of a document
	path     []frame
	resuming bool
	damage   *op.SyntaxError
	depth    int // for lexer.Mend
	lex      lexer.Lexer
}

type frame struct {
	closing byte
	first   bool   // before its first element
	key     string // of the member with this value
}

// NewReader returns a Reader of src. name stands for src in errors.
func NewReader(src io.Reader, name string) *Reader {
	r := &Reader{name: name}
	r.in.Reset(src, 0)
	return r
}

// Err returns the error that ended the walk early, or nil: an *[op.SyntaxError], or the source's error.
func (r *Reader) Err() error { return r.err }

// Offset returns the start of the last value, in bytes from the start of the input.
func (r *Reader) Offset() int64 { return r.start }

// Position returns the reader's position, in bytes from the start of the input.
func (r *Reader) Position() int64 { return r.in.Offset + int64(r.pos) }

// SyntaxError returns an error about the last value, at an offset within it.
func (r *Reader) SyntaxError(offset int, msg string) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Offset: r.start + int64(offset), Msg: msg}
}

// LexerError returns the error of a lexer on the last value.
func (r *Reader) LexerError(l *lexer.Lexer) *op.SyntaxError {
	return r.SyntaxError(l.Offset(), l.Err().Error())
}

// Next reports whether another document follows on the top level. It passes over zero bytes in front of it.
func (r *Reader) Next() bool {
	if r.resuming {
		r.resuming = len(r.path) > 0
		return true
	}
	r.passZeros()
	c := r.Peek()
	if c == '{' || c == '[' {
		clear(r.paths) // of another document
	}
	return c != 0
}

// End reports an error unless only white space is left.
func (r *Reader) End() {
	if r.Next() {
		r.fail("expected the end of the document")
	} else if zeros := r.Damage(); zeros != nil && r.err == nil {
		r.err = zeros
	}
}

// Peek returns the first byte of the next value, 0 at the end of the input or after an error.
func (r *Reader) Peek() byte {
	if r.err != nil {
		return 0
	}
	if r.resuming {
		if d := len(r.stack); d < len(r.path) {
			return r.path[d].closing - 2 // '{' of '}', '[' of ']'
		}
		return 0
	}
	for {
		for r.pos < len(r.in.Text) {
			switch c := r.in.Text[r.pos]; c {
			case ' ', '\t', '\n', '\r':
				r.pos++
			default:
				if c == bom[0] && r.in.Offset == 0 && r.skipBOM() {
					continue
				}
				return c
			}
		}
		if !r.fill() {
			return 0
		}
	}
}

const bom = "\xef\xbb\xbf"

func (r *Reader) skipBOM() bool {
	for r.pos == 0 && len(r.in.Text) < len(bom) && r.fill() {
	}
	if r.pos != 0 || len(r.in.Text) < len(bom) || string(r.in.Text[:len(bom)]) != bom {
		return false
	}
	r.pos = len(bom)
	return true
}

// Object enters an object. Anything else is an error.
func (r *Reader) Object() { r.open('{', '}', "expected an object") }

// Array enters an array. Anything else is an error.
func (r *Reader) Array() { r.open('[', ']', "expected an array") }

func (r *Reader) open(opening, closing byte, msg string) {
	if r.Peek() != opening {
		r.fail(msg)
	} else if !r.resuming {
		r.pos++
	}
	if d := len(r.stack); r.resuming && d < len(r.path) && r.path[d].closing != closing {
		r.err = r.SyntaxError(0, msg)
	}
	if r.err != nil {
		return
	}
	r.stack = append(r.stack, frame{closing: closing, first: true, key: string(r.key)})
}

// More reports whether the innermost object or array has another element. At its end it leaves it, also behind a comma.
func (r *Reader) More() bool {
	if r.err != nil || len(r.stack) == 0 {
		return false
	}
	top := &r.stack[len(r.stack)-1]
	if r.resuming {
		if len(r.stack) > len(r.path) {
			r.stack = r.stack[:len(r.stack)-1]
			return false
		} else if len(r.stack) < len(r.path) {
			return true
		}
		r.resuming = false
		top.first = true
	}
	c := r.Peek()
	if c == ',' && !top.first {
		r.pos++
		if c = r.Peek(); c != top.closing && c != 0 {
			return true
		}
	}
	switch {
	case c == top.closing:
		r.pos++
		r.stack = r.stack[:len(r.stack)-1]
		return false
	case top.first && c != 0:
		top.first = false
		return true
	}
	r.fail("expected ',' or '" + string(top.closing) + "'")
	return r.resuming && r.More()
}

// fail records an error at the current position: the end of the input, or else msg.
func (r *Reader) fail(msg string) {
	if r.err != nil || r.resuming {
		return
	}
	e := &op.SyntaxError{File: r.name, Offset: r.Position(), Msg: msg}
	if r.pos < len(r.in.Text) {
		e.Msg = fmt.Sprintf("%s, found %q", msg, rune(r.in.Text[r.pos]))
		if r.resume(e) || r.err != nil {
			return
		}
	} else {
		e.Msg = "unexpected end of JSON text"
		e.Truncated = true
	}
	r.err = e
}

// fill reads more input behind the unread part, and reports whether it got any.
func (r *Reader) fill() bool {
	if r.in.Err != nil || r.err != nil {
		return false
	}
	r.in.Slide(r.pos, math.MaxInt)
	r.pos = 0
	unread := len(r.in.Text)
	r.in.Read()
	if err := r.in.Err; err != nil && err != io.EOF {
		r.err = fmt.Errorf("reading JSON: %w", err)
	}
	return len(r.in.Text) > unread && r.err == nil
}

// Elements enters an array, the innermost list of those where r can resume, and yields the text of each element, or an
// *[op.SyntaxError] for damage and for an element longer than MaxElement. Err returns the error that ends the walk early.
func (r *Reader) Elements() iter.Seq2[[]byte, error] {
	return r.values(func() { r.List(len(r.paths) - 1) }, r.More)
}

// Documents yields the text of each document on the top level, like Elements. An opening brace at the start of a line
// starts a document: a truncated one does not swallow the next. Other text is a document up to the end of its line.
func (r *Reader) Documents() iter.Seq2[[]byte, error] {
	return r.values(func() { r.linewise = true }, r.Next)
}

func (r *Reader) values(enter func(), more func() bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for enter(); more(); {
			text, err := r.Element()
			if r.err != nil || !yield(text, err) {
				return
			}
		}
		if err := r.Damage(); err != nil {
			yield(nil, err)
		}
	}
}

// Key reads a member's name and the colon behind it.
func (r *Reader) Key() []byte {
	if d := len(r.stack); r.resuming && d < len(r.path) {
		r.key = append(r.key[:0], r.path[d].key...)
		return r.key
	}
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
	before := r.damage
	text, tooLong := r.scan(MaxElement)
	switch {
	case r.err != nil:
		return nil, r.err
	case r.damage != before:
		return nil, r.Damage()
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
	if r.Peek() == 0 || r.damage != nil {
		return nil
	}
	r.start = r.Position()
	return r.in.Text[r.pos:]
}

// OpensObjects reports whether the next value begins like an array of objects.
func (r *Reader) OpensObjects() bool {
	for r.Peek() == '[' {
		ahead := bytes.TrimLeft(r.in.Text[r.pos+1:], " \t\r\n")
		if len(ahead) > 0 || len(r.in.Text)-r.pos > Large || !r.fill() {
			return bytes.HasPrefix(ahead, []byte{'{'})
		}
	}
	return false
}

// Pass moves behind the next value, the first n bytes of Buffered.
func (r *Reader) Pass(n int) { r.pos += n }

// Skip skips the next value of any length.
func (r *Reader) Skip() { r.scan(0) }

// scan delimits the next value. It keeps up to limit bytes of it and skips a longer one.
func (r *Reader) scan(limit int) (text []byte, tooLong bool) {
	if r.resuming {
		return nil, false
	}
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
	check := math.MaxInt
	if r.starts != nil && limit > 0 && first != '"' {
		check = Large
	}
	for {
		unread := r.in.Text[r.pos:]
		part := unread[:min(len(unread), check)]
		m, done := s.scan(part, n)
		if done {
			text = r.in.Text[r.pos : r.pos+m]
			r.pos += m
			return text, tooLong || m > limit
		}
		n = len(part)
		if n == check && !tooLong {
			if r.damaged(part, n >= limit) {
				return nil, false
			}
			check *= 2
		}
		if n < len(unread) {
			continue
		}
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
		if check < math.MaxInt && !tooLong && r.damaged(r.in.Text[r.pos:], true) {
			return nil, false
		}
		r.pos = len(r.in.Text)
		r.fail("")
		return nil, tooLong
	}
}
