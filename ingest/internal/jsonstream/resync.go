package jsonstream

import (
	"bytes"
	"errors"

	"github.com/optrace/optrace/op"
)

// objectHead is how much of an object is shown to tell what it is.
const objectHead = 4 << 10

// Resync goes behind what Err says is wrong with a document, to the next object which
// nesting knows: that returns the delimiters of the objects and arrays that an object with
// such a start stands in, the outermost first, and whether it does. The object is then the
// next element of the innermost. What is passed over, piece by piece, is shown to passed.
// Resync reports false where there is no such object, or nothing is wrong.
//
// A value that seems never to end is entered: it is what lacks a quote or a bracket.
func (r *Reader) Resync(nesting func(object []byte) (closing string, ok bool), passed func(text []byte)) bool {
	damage, ok := errors.AsType[*op.SyntaxError](r.err)
	if !ok {
		return false
	}
	from := damage.Offset
	if damage.Truncated {
		from = r.start + 1
	}
	r.pos = int(min(max(from-r.consumed, 0), int64(r.end)))
	r.err = nil
	return r.find(nesting, passed)
}

// find goes to the next object which nesting knows.
func (r *Reader) find(nesting func(object []byte) (closing string, ok bool), passed func(text []byte)) bool {
	for {
		n := bytes.IndexByte(r.buf[r.pos:r.end], '{')
		if n < 0 {
			n = r.end - r.pos
		}
		passed(r.buf[r.pos : r.pos+n])
		r.pos += n
		for r.end-r.pos < objectHead && r.fill() {
		}
		switch {
		case r.err != nil || r.pos == r.end:
			return false
		case r.buf[r.pos] != '{':
			continue
		}
		if closing, ok := nesting(r.buf[r.pos:min(r.end, r.pos+objectHead)]); ok {
			r.enter(closing)
			return true
		}
		r.pos++
	}
}

// Back goes back to an offset of the value that was returned last, which is taken for the
// next element.
func (r *Reader) Back(offset int) {
	r.pos = int(r.start-r.consumed) + offset
	r.stack[len(r.stack)-1].first = true
}

// enter makes r stand in front of an element.
func (r *Reader) enter(closing string) {
	r.stack = r.stack[:0]
	for i := range len(closing) {
		r.stack = append(r.stack, frame{closing: closing[i], first: i == len(closing)-1})
	}
}
