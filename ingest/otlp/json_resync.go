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
	// aResource, aScope and aSpan: an element of a list of ResourceSpans, ScopeSpans or
	// spans.
	aResource
	aScope
	aSpan
)

// elementHead is how much of an object is looked at to tell what it is.
const elementHead = 4 << 10

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
		switch found, known := w.resync(r.linewise, r.known); found {
		case noElement:
			return false
		case aDocument:
			if r.faults > maxFaults {
				r.skipShort()
			}
			return true
		default:
			r.restart(found, known)
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

// restart reads on from an element of a document. known is what holds for it of what has
// been read before.
func (r *jsonReader) restart(at element, known element) {
	if r.Stopped {
		return
	}
	nesting := map[element]string{aResource: "}]", aScope: "}]}]", aSpan: "}]}]}]"}[at]
	if r.isResult {
		nesting = "}" + nesting
	}
	r.w.lex.OneLine(r.linewise)
	r.w.lex.Enter(nesting)
	if at > aResource && known < aResource {
		r.Resource = op.Resource{}
		r.Emit(op.Record{Resource: &r.Resource}, nil)
	}
	if known < aScope {
		r.Scope = op.Scope{}
	}
	r.found, r.other = true, false
	if at == aSpan {
		r.spans()
		r.scopeMembers(&group{r: r, header: isScope, parse: r.ReadScope, done: true})
	}
	if at >= aScope {
		r.scopes()
		r.resourceMembers(&group{r: r, header: isResource, parse: r.ReadResource, done: true})
	}
	r.resources()
	if r.isResult {
		r.resultMembers()
	}
	r.documentMembers()
}

// resync goes behind what failed: to the next line where documents are lines, else to the
// next one that starts with a brace, because the lines within a document are indented; or
// to an element of the document, if one comes first. It returns what it found, and whether
// that is within the resource and the scope that were known.
func (w *window) resync(linewise bool, known element) (found, still element) {
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
			return aDocument, noElement
		case brace < 0 && w.err != nil:
			return noElement, noElement
		case brace < 0:
			const overlap = 16 // of a key, or the newline in front of a brace
			n := max(at, len(w.buf)-overlap)
			known = within(known, w.buf[at:])
			w.slide(n)
			at = 0
			w.read()
			continue
		}
		known = within(known, w.buf[at:at+brace])
		if at += brace; len(w.buf)-at < elementHead && w.err == nil {
			n := max(0, at-1) // with a newline in front
			w.slide(n)
			at -= n
			for len(w.buf)-at < elementHead && w.err == nil {
				w.read()
			}
		}
		if !linewise && at > 0 && w.buf[at-1] == '\n' {
			w.standAt(at)
			return aDocument, noElement
		}
		if found = elementAt(w.buf[at:min(len(w.buf), at+elementHead)]); found != noElement {
			w.standAt(at)
			return found, known
		}
		at++
	}
}

// standAt makes the lexer stand at a place of the window.
func (w *window) standAt(at int) {
	w.lex.Reset(w.buf)
	w.lex.Rewind(jsontext.Mark{}.Shift(-at))
}

// within returns what is still known of the groups that the text behind some text is in,
// if what was passed over says nothing of others.
func within(known element, passed []byte) element {
	if bytes.Contains(passed, []byte(`"scopeSpans"`)) || bytes.Contains(passed, []byte(`"resource"`)) {
		return noElement
	}
	if bytes.Contains(passed, []byte(`"spans"`)) || bytes.Contains(passed, []byte(`"scope"`)) {
		return min(known, aResource)
	}
	return known
}

// elementAt tells by its first members what an object is.
func elementAt(text []byte) element {
	var l jsontext.Lexer
	l.Reset(text)
	first := true
	for l.Object(); l.More(); l.Skip() {
		switch string(l.Key()) {
		case "resourceSpans", "result":
			if first && l.Err() == nil && (l.Peek() == '[' || l.Peek() == '{') {
				return aDocument
			}
		case "resource", "scopeSpans":
			if first && l.Err() == nil {
				return aResource
			}
		case "scope", "spans":
			if first && l.Err() == nil {
				return aScope
			}
		case "traceId", "spanId", "traceState", "flags":
			// of a span or a link
		case "name", "kind", "parentSpanId", "startTimeUnixNano":
			if !first && l.Err() == nil {
				return aSpan
			}
			return noElement
		default:
			return noElement
		}
		first = false
	}
	return noElement
}
