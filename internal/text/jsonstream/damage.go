package jsonstream

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
)

// Resume makes r go on behind damage at the next match of starts. Group 1 of starts matches the beginning of a document,
// group n+1 an element of [Reader.List] n or the closing bracket in front of a known member. An object behind a colon is
// no match.
//
// r then walks as if the text between did not exist: More, Key, Object and Array leave and enter the values around the
// match. Damage returns the error. Without a match the error is final.
//
// Faults that lexer.Mend mends in an element, within so many brackets, are no damage.
func (r *Reader) Resume(starts *regexp.Regexp, depth int) {
	r.starts = starts
	r.depth = depth
	r.paths = make([][]frame, starts.NumSubexp())
}

// List is Array for list n of those where r can resume, the first one 1.
func (r *Reader) List(n int) {
	r.Array()
	if !r.resuming && r.err == nil && 0 < n && n < len(r.paths) {
		r.paths[n] = append(r.paths[n][:0], r.stack...)
	}
}

// Damage returns the damage in front of the next element or document, nil without damage, and forgets it. The caller asks
// in front of each unless it calls Element.
func (r *Reader) Damage() (err *op.SyntaxError) {
	err, r.damage = r.damage, nil
	return err
}

// Element is Value for an element of a list. If r can resume, the text is valid JSON, perhaps mended. An
// *[op.SyntaxError] is damage, in front of the element too. If a later element begins within the damaged one, that has
// hidden its end, and r goes on there.
func (r *Reader) Element() ([]byte, error) {
	if err := r.Damage(); err != nil {
		if n := len(r.stack); n > 0 {
			r.stack[n-1].first = true // the element is still to come
		}
		return nil, err
	}
	if r.starts == nil {
		return r.Value()
	}
	text := r.Buffered()
	end := lexer.Value(text, 0)
	valid := 0 < end && end <= MaxElement && text[end-1] == '}'
	if valid {
		r.Pass(end)
		text = text[:end]
	} else {
		var err error
		if text, err = r.Value(); err != nil {
			return nil, err
		}
		r.check(text)
	}
	if (len(text) > Large || bytes.HasPrefix(text, []byte("["))) && r.isDocument(text) {
		r.goTo(r.SyntaxError(0, "document in place of an element"), r.start, r.pos-len(text), 0)
		return nil, r.Damage()
	}
	if valid || r.lex.Err() == nil {
		return text, nil
	}
	damage := r.LexerError(&r.lex)
	if mended, found := lexer.Mend(text, r.depth); found {
		if r.check(mended); r.lex.Err() == nil {
			return mended, nil
		}
	}
	end = r.pos
	r.pos = min(int(damage.Offset-r.in.Offset), end)
	size := end - r.pos
	for len(r.in.Text)-r.pos-size < maxStart && r.fill() {
	}
	if r.hidesEnd(damage, r.pos, r.pos+size, maxStart) {
		r.damage = nil // the caller has it
	} else {
		r.pos += size
	}
	return nil, damage
}

// isDocument reports whether text begins like a document: the file was cut off in front of an element, and begun again.
func (r *Reader) isDocument(text []byte) bool {
	m := r.starts.FindSubmatchIndex(append([]byte{'\n'}, text[:min(len(text), 64)]...))
	return m != nil && m[0] <= 1 && m[2] >= 0
}

// check makes the lexer read text.
func (r *Reader) check(text []byte) {
	r.lex.Reset(text)
	r.lex.Skip()
}

// damaged reports whether text, the beginning of the last value, hides its end, and goes on at the next element in it.
// whole is set if the value has no end.
func (r *Reader) damaged(text []byte, whole bool) bool {
	r.check(text)
	l := &r.lex
	switch end := r.pos + len(text); {
	case l.Err() == nil, l.Truncated() && !whole:
		return false
	case l.Truncated():
		return r.hidesEnd(r.SyntaxError(0, "value without an end"), r.pos+1, end, 0)
	default:
		return r.hidesEnd(r.LexerError(l), r.pos+l.Offset(), end, 0)
	}
}

// hidesEnd goes to the first match that begins between two indexes of the buffer. It looks at more bytes behind them.
func (r *Reader) hidesEnd(err *op.SyntaxError, from, to, more int) bool {
	at, list := r.find(from, to, min(to+more, len(r.in.Text)))
	if at >= 0 {
		r.goTo(err, r.start, at, list)
	}
	return at >= 0
}

const maxStart = 4 << 10 // bounds the text of a match

// resume goes to the next match for an error in the structure around the elements, and reports whether there is one.
func (r *Reader) resume(err *op.SyntaxError) bool {
	for from := r.pos; r.starts != nil; from = 0 {
		if at, list := r.find(from, len(r.in.Text), len(r.in.Text)); at >= 0 {
			r.goTo(err, err.Offset, at, list)
			return true
		}
		r.pos = max(from, len(r.in.Text)-maxStart)
		if !r.fill() {
			break
		}
	}
	return false
}

// find returns the index in the buffer of the first match that begins between from and to, and its list, -1 without one.
// The text ends at end.
func (r *Reader) find(from, to, end int) (at, list int) {
	for next := from; r.starts != nil && next < to; next = at + 1 {
		m := r.starts.FindSubmatchIndex(r.in.Text[next:end])
		if m == nil {
			break
		}
		at = next + m[0]
		list = slices.IndexFunc(m[2:], func(i int) bool { return i >= 0 }) / 2
		ahead := bytes.TrimRight(r.in.Text[from:at], " \t\r\n")
		if at < to && (list == 0 || r.paths[list] != nil) && !bytes.HasSuffix(ahead, []byte(":")) {
			return at, list
		}
	}
	return -1, 0
}

// goTo makes the walk resume at an index of the buffer.
func (r *Reader) goTo(err *op.SyntaxError, since int64, at, list int) {
	r.pos = at
	err.Msg += fmt.Sprintf(", bytes passed over: %d", r.Position()-since)
	r.damage = err
	r.resuming = true
	r.path = r.paths[list]
}

// passZeros passes over zero bytes in front of a document. A file truncated under its writer has them.
func (r *Reader) passZeros() {
	r.Peek()
	start := r.Position()
	for r.Peek() == 0 && r.err == nil && r.pos < len(r.in.Text) {
		r.pos = len(r.in.Text) - len(bytes.TrimLeft(r.in.Text[r.pos:], "\x00"))
	}
	if zeros := lineio.Zeros(r.name, 0, start, r.Position()); zeros != nil {
		r.damage = zeros
	}
}
