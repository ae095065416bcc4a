// Package lexer scans JSON text without reflection and allocation. Every JSON reader of this module uses it; it knows no
// format. A [Lexer] reads any valid text and describes errors. Functions over an index, such as [Literal] and [Digits],
// read text of an expected form fast.
package lexer

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/text/scalar"
)

// MaxDepth bounds the nesting of values. Attributes of OTLP nest deepest.
const MaxDepth = 512

// Lexer reads one JSON text held in memory. Call its methods in the order of the document. The first violation of the
// grammar is final: every later call returns zero values, and the caller checks Err once, at the end.
//
//	for l.Object(); l.More(); {
//		switch string(l.Key()) {
//		case "name":
//			name = string(l.Str())
//		default:
//			l.Skip()
//		}
//	}
//
// A Lexer is not safe for concurrent use. The bytes of Key and Str are valid until the next call.
type Lexer struct {
	buf     []byte
	pos     int
	err     error
	errPos  int
	scratch []byte

	stack []frame // holds every open object or array

	oneLine bool // set if a newline is not white space, see OneLine
}

type frame struct {
	closing byte // the closing delimiter
	first   bool // before its first element
}

// Reset makes l read b from its start. The lexer does not modify b.
func (l *Lexer) Reset(b []byte) {
	l.buf = b
	l.pos = 0
	l.err = nil
	l.errPos = 0
	l.stack = l.stack[:0]
}

// Err returns the first violation of the grammar, or nil.
func (l *Lexer) Err() error { return l.err }

// Offset returns the offset of the error, or else of the unread text.
func (l *Lexer) Offset() int {
	if l.err != nil {
		return l.errPos
	}
	return l.pos
}

// Truncated reports whether the text ended too early.
func (l *Lexer) Truncated() bool { return l.err == errEnd }

var errEnd = errors.New("unexpected end of JSON text")

func (l *Lexer) fail(expected string) {
	if l.pos >= len(l.buf) {
		l.failEnd()
	} else if l.err == nil {
		found, _ := utf8.DecodeRune(l.buf[l.pos:])
		l.failAt(fmt.Sprintf("%s, found %q", expected, found), l.pos)
	}
}

func (l *Lexer) failEnd() { l.stop(errEnd, len(l.buf)) }

func (l *Lexer) failAt(msg string, at int) { l.stop(errors.New(msg), at) }

// stop records the first error. It moves to the end of the text: other methods then need not check for an error.
func (l *Lexer) stop(err error, at int) {
	if l.err == nil {
		l.err = err
		l.errPos = at
		l.pos = len(l.buf)
		l.stack = l.stack[:0]
	}
}

// Peek returns the first byte of the next value, 0 at the end or after an error.
func (l *Lexer) Peek() byte {
	// Small enough for inlining: white space is rare.
	if l.pos < len(l.buf) {
		if c := l.buf[l.pos]; c > ' ' {
			return c
		}
	}
	return l.peekSpace()
}

func (l *Lexer) peekSpace() byte {
	for l.pos < len(l.buf) {
		switch c := l.buf[l.pos]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' && !l.oneLine:
			l.pos++
		default:
			return c
		}
	}
	return 0
}

// Object enters an object. Anything else is an error.
func (l *Lexer) Object() { l.open('{', '}', "expected an object") }

// Array enters an array. Anything else is an error.
func (l *Lexer) Array() { l.open('[', ']', "expected an array") }

func (l *Lexer) open(opening, closing byte, expected string) {
	if l.Peek() != opening {
		l.fail(expected)
		return
	}
	if len(l.stack) >= MaxDepth {
		l.failAt(fmt.Sprintf("nested deeper than %d", MaxDepth), l.pos)
		return
	}
	l.pos++
	l.stack = append(l.stack, frame{closing: closing, first: true})
}

// AnyObject is Object, except that it skips a value of another type and reports false.
func (l *Lexer) AnyObject() bool { return l.openAny('{', l.Object) }

// AnyArray is AnyObject for an array.
func (l *Lexer) AnyArray() bool { return l.openAny('[', l.Array) }

func (l *Lexer) openAny(opening byte, open func()) bool {
	if l.Peek() != opening {
		l.Skip()
		return false
	}
	open()
	return true
}

// More reports whether the innermost object or array has another element. At its end it leaves it.
func (l *Lexer) More() bool {
	if len(l.stack) == 0 {
		return false
	}
	top := &l.stack[len(l.stack)-1]
	c := l.Peek()
	switch {
	case c == top.closing:
		l.pos++
		l.stack = l.stack[:len(l.stack)-1]
		return false
	case top.first:
		top.first = false
		return true // reading the element finds its errors
	case c != ',':
		l.fail("expected ',' or '" + string(rune(top.closing)) + "'")
		return false
	}
	l.pos++
	if l.Peek() == top.closing {
		l.fail("expected a value after ','")
		return false
	}
	return true
}

// Key reads a member's name and the colon behind it.
func (l *Lexer) Key() []byte {
	k := l.Str()
	if l.Peek() != ':' {
		l.fail("expected ':'")
		return nil
	}
	l.pos++
	return k
}

// Int reads a number like [scalar.ParseInt]. ok is false for a number outside an int64. Any other value is an error.
func (l *Lexer) Int() (v int64, ok bool) {
	l.Peek()
	v, end := Integer(l.buf, l.pos) // the usual case: no fraction or exponent follows
	if uint(end) >= uint(len(l.buf)) || l.buf[end] == '.' || l.buf[end]|0x20 == 'e' {
		return scalar.ParseInt(l.Number())
	}
	l.pos = end
	return v, true
}

// Micros reads a number like [ParseMicros]. ok is false for a number out of range. Any other value is an error.
func (l *Lexer) Micros() (ns int64, ok bool) {
	l.Peek()
	ns, end := Micros(l.buf, l.pos) // the usual case: no exponent follows
	if uint(end) >= uint(len(l.buf)) || l.buf[end]|0x20 == 'e' {
		return ParseMicros(l.Number())
	}
	l.pos = end
	return ns, true
}

// Number reads a number and returns its text, valid as long as the buffer.
func (l *Lexer) Number() []byte {
	c := l.Peek()
	if c != '-' && (c < '0' || c > '9') {
		l.fail("expected a number")
		return nil
	}
	start := l.pos
	end := passNumber(l.buf, l.pos)
	if end < 0 {
		l.pos = ^end
		l.fail("expected a digit")
		return nil
	}
	l.pos = end
	return l.buf[start:end]
}

// AnyNumber is Number, except that it skips a value of another type and returns nil.
func (l *Lexer) AnyNumber() []byte {
	if c := l.Peek(); c == '-' || '0' <= c && c <= '9' {
		return l.Number()
	}
	l.Skip()
	return nil
}

// QuotedHex reads a string of exactly 2×len(dst) hexadecimal digits into dst, and reports whether there was one.
func (l *Lexer) QuotedHex(dst []byte) bool {
	l.Peek()
	end := QuotedHex(l.buf, l.pos, dst)
	if end < 0 {
		return false
	}
	l.pos = end
	return true
}

// Null consumes null and reports whether it was there.
func (l *Lexer) Null() bool { return l.Peek() == 'n' && l.literal("null") }

// Bool reads true or false.
func (l *Lexer) Bool() bool {
	switch l.Peek() {
	case 't':
		return l.literal("true")
	case 'f':
		l.literal("false")
		return false
	}
	l.fail("expected true or false")
	return false
}

func (l *Lexer) literal(want string) bool {
	rest := l.buf[l.pos:]
	if len(rest) < len(want) && want[:len(rest)] == string(rest) {
		l.failEnd()
		return false
	}
	if len(rest) < len(want) || string(rest[:len(want)]) != want {
		l.fail("expected " + want)
		return false
	}
	l.pos += len(want)
	return true
}

// Skip reads and checks the next value of any type. It does not recurse.
func (l *Lexer) Skip() {
	base := len(l.stack)
	for {
		l.skipToken()
		// Leave the values that end here, and step to the next element.
		for {
			if l.err != nil || len(l.stack) == base {
				return
			}
			inObject := l.stack[len(l.stack)-1].closing == '}'
			if l.More() {
				if inObject {
					l.Key()
				}
				break
			}
		}
	}
}

func (l *Lexer) skipToken() {
	switch c := l.Peek(); {
	case c == '{':
		l.Object()
	case c == '[':
		l.Array()
	case c == '"':
		l.Str()
	case c == 't' || c == 'f':
		l.Bool()
	case c == 'n':
		l.Null()
	case c == '-' || '0' <= c && c <= '9':
		l.Number()
	default:
		l.fail("expected a value")
	}
}

// Raw reads and checks the next value and returns its text, valid as long as the buffer.
func (l *Lexer) Raw() []byte {
	l.Peek()
	start := l.pos
	l.Skip()
	if l.err != nil {
		return nil
	}
	return l.buf[start:l.pos]
}

// End reports an error unless only white space is left.
func (l *Lexer) End() {
	if l.Peek(); l.err == nil && l.pos < len(l.buf) {
		l.fail("expected the end of the JSON text")
	}
}

// Mark is a place in the text for Rewind.
type Mark struct {
	pos, depth int
	top        frame
}

// Mark returns the current place.
func (l *Lexer) Mark() Mark {
	m := Mark{pos: l.pos, depth: len(l.stack)}
	if m.depth > 0 {
		m.top = l.stack[m.depth-1]
	}
	return m
}

// Rewind returns to m without an error. Meanwhile l must not have left the value around m and entered another.
func (l *Lexer) Rewind(m Mark) {
	l.pos = m.pos
	l.err = nil
	l.errPos = 0
	l.stack = l.stack[:m.depth]
	if m.depth > 0 {
		l.stack[m.depth-1] = m.top
	}
}

// Pos returns the offset of the unread text.
func (l *Lexer) Pos() int { return l.pos }

// Advance skips the next n bytes, known to be a value.
func (l *Lexer) Advance(n int) { l.pos += n }

// Pos returns the mark's offset in the text.
func (m Mark) Pos() int { return m.pos }

// Shift returns the mark for a text without its first n bytes.
func (m Mark) Shift(n int) Mark {
	m.pos -= n
	return m
}

// At returns the mark for the first element, at another offset.
func (m Mark) At(pos int) Mark {
	m.pos = pos
	m.top.first = true
	return m
}

// OneLine makes a newline an error or white space. In JSON Lines, a truncated text then does not swallow the next one.
func (l *Lexer) OneLine(on bool) { l.oneLine = on }

// Replace continues l in buf: the text without its first dropped bytes and with more behind it.
func (l *Lexer) Replace(buf []byte, dropped int) {
	l.buf = buf
	l.pos -= dropped
}

// AtEnd reports whether the whole text has been read.
func (l *Lexer) AtEnd() bool { return l.pos >= len(l.buf) }

// Depth returns the number of open objects and arrays.
func (l *Lexer) Depth() int { return len(l.stack) }

// InObject reports whether the innermost one is an object.
func (l *Lexer) InObject() bool {
	return len(l.stack) > 0 && l.stack[len(l.stack)-1].closing == '}'
}

var (
	tokens    = regexp.MustCompile(`,\s*[}\]]|[{}\[\]]|"(?:[^"\\\n]|\\[^\n])*"|[^\s{}\[\],:"]+`)
	nonFinite = regexp.MustCompile(`^(?i:[-+]?(nan|inf|infinity))$`)
	escaped   = regexp.MustCompile(`\\["\\]|[\\\x00-\x1f]`)
)

// Mend returns text without some faults of writers, and reports whether there were any. A bare word that is no JSON becomes
// a string: NaN, inf and the like anywhere, any other word within so many brackets. In a string with an unknown escape,
// such as a path of Windows, all backslashes but those before a quote or a backslash are plain. A comma in front of a
// closing bracket goes.
func Mend(text []byte, depth int) (mended []byte, found bool) {
	mended = tokens.ReplaceAllFunc(text, func(token []byte) []byte {
		switch c := token[0]; {
		case c == '{', c == '[':
			depth--
		case c == ',', c == '}', c == ']':
			depth++
			return token[len(token)-1:]
		case Value(token, 0) == len(token):
		case c == '"':
			return escaped.ReplaceAllFunc(token, func(part []byte) []byte {
				if len(part) > 1 {
					return part
				}
				return fmt.Appendf(nil, `\u%04x`, part[0])
			})
		case depth <= 0, nonFinite.Match(token):
			return scalar.AppendString(nil, string(token))
		}
		return token
	})
	return mended, !bytes.Equal(mended, text)
}
