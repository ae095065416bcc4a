// Package termtext makes text safe for a terminal: names in traces may contain anything, also sequences that move the
// cursor or reorder the line.
package termtext

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Clean returns s without control characters, escape sequences, bidirectional overrides and other invisible
// formatting. If the rest is empty it returns s quoted.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, escapeSequence.ReplaceAllString(s, ""))
	if clean == "" {
		return strconv.QuoteToASCII(s)
	}
	return clean
}

// escapeSequence is an ANSI escape sequence: CSI with parameters, a string up to BEL or ESC \, or two characters.
var escapeSequence = regexp.MustCompile(`\x1b(?:\[[^@-~]*[@-~]?|[\]P^_X](?s:.*?)(?:\x07|\x1b\\|\z)|[\x00-\x7f])`)

// Escape returns s with control characters, invisible formatting and invalid
// UTF-8 replaced by the escape sequences of Go string literals.
func Escape(s string) string {
	if isPlain(s) {
		return s
	}
	quoted := strconv.Quote(s)
	return unquote.Replace(quoted[1 : len(quoted)-1])
}

var unquote = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// EscapeJSON returns a JSON text of the same value with control characters and invisible formatting in strings
// escaped. The JSON encoder has already escaped characters below U+0020.
func EscapeJSON(text []byte) []byte {
	isSafe := func(r rune) bool { return r == '\n' || r == utf8.RuneError || strconv.IsPrint(r) }
	if bytes.IndexFunc(text, func(r rune) bool { return !isSafe(r) }) < 0 {
		return text
	}
	escaped := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if isSafe(r) {
			escaped = utf8.AppendRune(escaped, r)
		} else {
			escaped = appendEscape(escaped, r)
		}
	}
	return escaped
}

func appendEscape(text []byte, r rune) []byte {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(text, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(text, `\u%04x`, r)
}

func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// Writer writes text to a terminal. It escapes all but printable characters, newlines and tabs.
type Writer struct {
	to   io.Writer
	rest []byte // the beginning of a character
	out  []byte
}

// NewWriter returns a Writer to a terminal.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes text. A character may be divided between two calls.
func (w *Writer) Write(text []byte) (int, error) {
	in := append(w.rest, text...)
	w.out = w.out[:0]
	for len(in) > 0 && utf8.FullRune(in) {
		r, size := utf8.DecodeRune(in)
		switch {
		case r == utf8.RuneError && size == 1:
			w.out = fmt.Appendf(w.out, `\x%02x`, in[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r):
			w.out = append(w.out, in[:size]...)
		default:
			w.out = appendEscape(w.out, r)
		}
		in = in[size:]
	}
	w.rest = append(w.rest[:0], in...)
	if _, err := w.to.Write(w.out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Width returns the columns of s: 0 for combining marks, two for wide East Asian characters and pictographs.
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

// Truncate returns s of at most width columns, ending in an ellipsis if cut. Combining marks stay.
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

// Distinct shortens names by short; different names stay different. Names with equal short forms have at most width
// columns and show the first difference of their long forms, because the ends of kernel names and shapes matter as much
// as the beginnings. If they are still equal, they are numbered.
func Distinct(names []string, width int, short, long func(string) string) []string {
	forms := make(map[string]string, len(names)) // by name
	var different []string
	for _, name := range names {
		if _, ok := forms[name]; !ok {
			forms[name] = short(name)
			different = append(different, name)
		}
	}
	for _, same := range alike(different, forms) {
		showDifferences(same, width, forms, long)
	}
	uses := make(map[string]int) // by short form
	for _, name := range different {
		uses[forms[name]]++
		for n := uses[forms[name]]; n > 1; n++ {
			mark := fmt.Sprintf("…#%d", n)
			if marked := Head(name, width-Width(mark)) + mark; uses[marked] == 0 {
				forms[name] = marked
				uses[marked] = 1
				break
			}
		}
	}
	cut := make([]string, len(names))
	for i, name := range names {
		cut[i] = forms[name]
	}
	return cut
}

func alike(names []string, short map[string]string) map[string][]string {
	lists := make(map[string][]string)
	for _, name := range names {
		lists[short[name]] = append(lists[short[name]], name)
	}
	return lists
}

// showDifferences sets short forms with the first difference for names with equal short forms, again for each group
// with fewer equal ones.
func showDifferences(same []string, width int, short map[string]string, long func(string) string) {
	if len(same) < 2 {
		return
	}
	texts := make([]string, len(same))
	for i, name := range same {
		texts[i] = long(name)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(texts)))) < len(same) {
		texts = same
	}
	differs := commonPrefix(texts)
	for i, name := range same {
		short[name] = showDifference(texts[i], differs, width)
	}
	for _, still := range alike(same, short) {
		if len(still) < len(same) {
			showDifferences(still, width, short, long)
		}
	}
}

// commonPrefix returns the length of the common prefix of names, in bytes, cut at a whole character.
func commonPrefix(names []string) (n int) {
	first, last := slices.Min(names), slices.Max(names)
	for n < len(first) && first[n] == last[n] { // last has not ended, or it would come before first
		n++
	}
	for n > 0 && n < len(first) && !utf8.RuneStart(first[n]) {
		n--
	}
	return n
}

// showDifference returns the beginning and the end of name, and its middle from position differs.
func showDifference(name string, differs, width int) string {
	side := width / 4
	room := width - 2 - 2*side
	if side < 1 || Width(name) <= width {
		return Shorten(name, width)
	}
	head := Head(name, side)
	if rest := name[max(differs, len(head)):]; Width(rest) > room+1+side {
		return head + "…" + Head(rest, room) + "…" + Tail(name, side)
	}
	return head + "…" + Tail(name, width-side-1)
}
