package jsonstream

import "bytes"

// scanner finds the end of one value in text that comes in pieces.
type scanner struct {
	depth    int
	inString bool
	escaped  bool // the byte before was a backslash within a string
	bare     bool // a number, a literal or garbage: any delimiter ends the value, and so does the input
	line     bool // only a newline ends the value
	lines    bool // an opening brace at the start of a line starts another value
	newline  bool // the byte before was a newline
}

type class uint8

const (
	classOther class = iota
	classQuote
	classOpen
	classClose
	classDelimiter
	classNewline
)

var classes = [256]class{
	'"': classQuote,
	'{': classOpen, '[': classOpen,
	'}': classClose, ']': classClose,
	',': classDelimiter, ':': classDelimiter, ' ': classDelimiter, '\t': classDelimiter, '\r': classDelimiter,
	'\n': classNewline,
}

// special marks the bytes with a meaning within a string.
var special = [256]bool{'"': true, '\\': true, '\n': true}

// scan scans text[from:] and reports whether the value ends there, and its end. The text before from has been scanned.
//
// A string cannot contain a newline: a newline ends a string without a closing quote. The value is then bad, but later
// ones are not.
func (s *scanner) scan(text []byte, from int) (end int, done bool) {
	if s.line {
		s.bare = true
		i := bytes.IndexByte(text[from:], '\n')
		return from + i, i >= 0
	}
	for i := from; i < len(text); i++ {
		if s.inString && !s.escaped {
			// Most of a document is the plain inside of strings.
			for i < len(text) && !special[text[i]] {
				i++
			}
			if i == len(text) {
				break
			}
		}
		c := text[i]
		if s.inString && s.stringByte(c) {
			if !s.inString && s.depth == 0 {
				return i + 1, true
			}
			continue
		}
		k := classes[c]
		switch {
		case k == classOther:
			s.bare = s.depth == 0
		case s.bare:
			return i, true
		case k == classQuote:
			s.inString = true
		case k == classOpen:
			if s.newline && s.lines && c == '{' {
				return i, true
			}
			s.depth++
		case k == classClose:
			s.depth--
			if s.depth == 0 {
				return i + 1, true
			}
		case k == classNewline && s.depth == 0:
			return i, true // end of a string without a closing quote
		}
		s.newline = k == classNewline
	}
	return 0, false
}

// stringByte takes a byte of a string and reports whether it belongs there.
func (s *scanner) stringByte(c byte) bool {
	switch {
	case c == '\n':
		s.inString = false
		s.escaped = false
		return false
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inString = false
	}
	return true
}
