package termtext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width returns the columns of s: none for combining marks, two for wide East Asian characters and pictographs.
func Width(s string) int {
	w := 0
	for _, r := range s {
		w += runeWidth(r)
	}
	return w
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1160 && r <= 0x11ff: // vowels and finals joining Hangul syllables
		return 0
	}
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Head returns the longest beginning of s of at most width columns. A combining mark stays with its character.
func Head(s string, width int) string {
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > width {
			return s[:i]
		}
	}
	return s
}

// Tail returns the longest end of s of at most width columns. It does not begin with a combining mark, unless s does.
func Tail(s string, width int) string {
	start := len(s)
	at := len(s)
	for at > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:at])
		w := runeWidth(r)
		if width -= w; width < 0 {
			break
		}
		at -= n
		if w > 0 || at == 0 {
			start = at
		}
	}
	return s[start:]
}

// Truncate returns s of at most width columns, ending in an ellipsis if cut. A combining mark stays with its
// character.
func Truncate(s string, width int) string {
	switch {
	case Width(s) <= width:
		return s
	case width < 1:
		return ""
	}
	return Head(s, width-1) + "…"
}

// Shorten returns s of at most width columns, with an ellipsis in its middle if cut.
func Shorten(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 3 {
		return Truncate(s, width)
	}
	tail := Tail(s, (width-1)/2)
	return Truncate(s, width-Width(tail)) + tail
}

// Wrap returns s in lines, broken at spaces, and within words wider than a line. A number stays with its unit, the
// next word. The first line has at most first columns, the others further.
func Wrap(s string, first, further int) []string {
	var lines []string
	width := first
	line := ""
	put := func(full string) {
		lines = append(lines, full)
		width = further
		line = ""
	}
	words := strings.Fields(s)
	for i := 0; i < len(words); i++ {
		word := words[i]
		if isNumber(word) && i+1 < len(words) && Width(word)+1+Width(words[i+1]) <= further {
			i++
			word += " " + words[i]
		}
		if line != "" {
			if Width(line)+1+Width(word) <= width {
				line += " " + word
				continue
			}
			put(line)
		}
		for Width(word) > width {
			piece := Head(word, max(width, 2)) // a character at least
			word = word[len(piece):]
			put(piece)
		}
		line = word
	}
	return append(lines, line)
}

func isNumber(word string) bool {
	return strings.IndexFunc(strings.TrimPrefix(word, "("), func(r rune) bool {
		return (r < '0' || r > '9') && r != '.' && r != ','
	}) < 0
}
