package otlp

import (
	"bytes"
	"fmt"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// element is what a reader may go on with behind what it could not read.
type element uint8

const (
	noElement element = iota
	// aDocument: a line, or what starts like a document.
	aDocument
	// aResource: an element of a list of ResourceSpans.
	aResource
)

// elementHead is how much of an object is looked at to tell what it is.
const elementHead = 256

// next goes to where the next document may start, behind what is wrong with the one
// before, of which it reads what follows the damage. It reports false where nothing
// follows.
func (r *jsonReader) next() bool {
	w := &r.w
	for {
		switch {
		case r.Stopped:
			return false
		case !w.failed():
			return true
		case w.sourceError() != nil:
			return false
		}
		r.Emit(op.Record{}, w.syntaxError())
		r.faults++
		switch w.resync(r.linewise) {
		case noElement:
			return false
		case aDocument:
			if r.faults > maxFaults {
				r.skipShort()
			}
			return true
		default:
			r.restOfDocument()
		}
	}
}

// maxFaults is how many errors are told one by one before lines that are too short for a
// span are passed over together.
const maxFaults = 1 << 16

// skipShort passes over short lines in front of the next document.
func (r *jsonReader) skipShort() {
	w := &r.w
	err := &op.SyntaxError{File: w.name, Offset: w.position(), Line: w.line()}
	if n := w.skipShort(); n > 0 {
		err.Records = n
		err.Msg = fmt.Sprintf("%d lines shorter than %d bytes are passed over", n, shortLine)
		r.Emit(op.Record{}, err)
	}
}

// restOfDocument reads on from an element of a document's list of ResourceSpans.
func (r *jsonReader) restOfDocument() {
	nesting := "}]"
	if r.isResult {
		nesting = "}" + nesting
	}
	r.w.lex.OneLine(r.linewise)
	r.w.lex.Enter(nesting)
	r.found, r.other = true, false
	r.resources()
	if r.isResult {
		r.resultMembers()
	}
	r.documentMembers()
}

// resync goes behind what failed: to the next line where documents are lines, else to the
// next one that starts with a brace, because the lines within a document are indented; or
// to a ResourceSpans object, if one comes first. It returns what it found.
func (w *window) resync(linewise bool) element {
	at := min(w.lex.Offset(), len(w.buf)) // what was wrong may be a brace
	w.tooLong, w.holding, w.limit = false, false, MaxElementBytes
	for {
		brace, newline := bytes.IndexByte(w.buf[at:], '{'), -1
		if linewise {
			newline = bytes.IndexByte(w.buf[at:], '\n')
		}
		switch {
		case newline >= 0 && (brace < 0 || newline < brace):
			w.standAt(at + newline + 1)
			return aDocument
		case brace < 0 && w.err != nil:
			return noElement
		case brace < 0:
			w.slide(max(at, len(w.buf)-1)) // a newline may stand in front of the next brace
			at = 0
			w.read()
			continue
		}
		if at += brace; len(w.buf)-at < elementHead && w.err == nil {
			n := max(0, at-1) // with a newline in front
			w.slide(n)
			at -= n
			for len(w.buf)-at < elementHead && w.err == nil {
				w.read()
			}
		}
		found := elementAt(w.buf[at:min(len(w.buf), at+elementHead)])
		if !linewise && at > 0 && w.buf[at-1] == '\n' {
			found = aDocument
		}
		if found != noElement {
			w.standAt(at)
			return found
		}
		at++
	}
}

// standAt makes the lexer stand at a place of the window.
func (w *window) standAt(at int) {
	w.lex.Reset(w.buf)
	w.lex.Rewind(jsontext.Mark{}.Shift(-at))
}

// elementAt tells by its first member what an object is.
func elementAt(text []byte) element {
	var l jsontext.Lexer
	l.Reset(text)
	if l.Object(); !l.More() {
		return noElement
	}
	key := string(l.Key())
	value := l.Peek()
	switch {
	case l.Err() != nil:
	case (key == "resourceSpans" || key == "result") && (value == '[' || value == '{'):
		return aDocument
	case key == "resource" || key == "scopeSpans":
		return aResource
	}
	return noElement
}
