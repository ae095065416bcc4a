package lexer

import (
	"encoding/binary"
	"math/bits"
)

// The functions in this file skip values of any form, with white space and escapes, for readers of certain members
// only. Like the functions of scan.go, each takes the text and the index to read at, perhaps -1, and returns the index
// behind its value, or -1.

// Space returns the index of the first byte from i on other than white space, or len(b).
func Space(b []byte, i int) int {
	// Small enough for inlining.
	if uint(i) < uint(len(b)) && b[i] > ' ' {
		return i
	}
	return passSpace(b, i)
}

//go:noinline
func passSpace(b []byte, i int) int {
	if i < 0 {
		return -1
	}
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
		// A newline precedes the spaces of an indented line.
		for len(b)-i >= 8 {
			other := binary.LittleEndian.Uint64(b[i:]) ^ ones*' '
			if other != 0 {
				i += bits.TrailingZeros64(other) / 8
				break
			}
			i += 8
		}
	}
	return i
}

// Member reads a member's name without escapes. It returns the name and the index of the value, -1 without one.
func Member(b []byte, i int) (key []byte, value int) {
	key, i = Quoted(b, i)
	return key, Colon(b, i)
}

// Colon reads a colon and the white space around it.
func Colon(b []byte, i int) int {
	if i = Space(b, i); uint(i) >= uint(len(b)) || b[i] != ':' {
		return -1
	}
	if i++; i+1 < len(b) && b[i] == ' ' && b[i+1] > ' ' {
		return i + 1
	}
	return Space(b, i)
}

// Next moves from the end of a value at i to the next element, or behind the closing bracket.
func Next(b []byte, i int, closing byte) (next int, more bool) {
	i = Space(b, i)
	switch {
	case uint(i) >= uint(len(b)):
		return -1, false
	case b[i] == ',':
		if i++; i+1 < len(b) && b[i] == ' ' && b[i+1] > ' ' {
			return i + 1, true
		}
		return Space(b, i), true
	case b[i] == closing:
		return i + 1, false
	}
	return -1, false
}

const maxPassed = 64

// Value skips a value and checks it, like [Lexer.Skip].
func Value(b []byte, i int) int {
	arrays := uint64(0) // a bit per open bracket, the innermost lowest
	depth := 0
	for {
		if uint(i) >= uint(len(b)) {
			return -1
		}
		switch c := b[i]; c {
		case '{', '[':
			if depth == maxPassed {
				return -1
			}
			depth++
			arrays <<= 1
			if c == '[' {
				arrays |= 1
			}
			i = Space(b, i+1)
			if uint(i) >= uint(len(b)) || b[i] != closings[arrays&1] {
				if c == '{' {
					i = passName(b, i)
				}
				continue
			}
			i++
			depth--
			arrays >>= 1
		case '"':
			i = passString(b, i)
		case 't':
			i = Literal(b, i, "true")
		case 'f':
			i = Literal(b, i, "false")
		case 'n':
			i = Literal(b, i, "null")
		default:
			i = max(-1, passNumber(b, i))
		}
		// Leave the brackets that close here, and step to the next element.
		for more := false; !more; {
			if depth == 0 || i < 0 {
				return i
			}
			array := arrays & 1
			if i, more = Next(b, i, closings[array]); !more {
				depth--
				arrays >>= 1
			} else if array == 0 {
				i = passName(b, i)
			}
		}
	}
}

const closings = "}]" // the closing brackets of an object and an array

func passName(b []byte, i int) int {
	return Colon(b, passString(b, i))
}

func passString(b []byte, i int) int {
	if uint(i) >= uint(len(b)) || b[i] != '"' {
		return -1
	}
	for i++; ; {
		i += PlainPrefix(b[i:])
		if i+1 >= len(b) || b[i] != '\\' {
			break
		}
		if i += 2; escapes[b[i-1]] == 0 {
			if _, ok := hex4(b, i); !ok || b[i-1] != 'u' {
				return -1
			}
			i += 4
		}
	}
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	return i + 1
}

// passNumber skips a number. If a digit is missing at an index it returns ^index, which is negative.
func passNumber(b []byte, i int) int {
	if Has(b, i, "-") {
		i++
	}
	if Has(b, i, "0") {
		i++ // a leading zero has no digits behind it
	} else {
		i = passDigits(b, i)
	}
	if Has(b, i, ".") {
		i = passDigits(b, i+1)
	}
	if uint(i) < uint(len(b)) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		i = passDigits(b, i)
	}
	return i
}

func passDigits(b []byte, i int) int {
	start := i
	for uint(i) < uint(len(b)) && b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return ^i
	}
	return i
}
