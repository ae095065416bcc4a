package otlp

import (
	"bytes"
	"io"
	"sync"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op/attr"
)

// jsonDocument is a document that is read in parts. It starts with a list of
// ResourceSpans, and may be followed by others. Its methods may be called concurrently.
type jsonDocument struct {
	src      io.ReaderAt
	size     int64
	name     string
	mapping  *attr.Mapping
	thorough bool
	// isResult is set if the document is the result of an answer.
	isResult bool
	// nesting is what ends the objects and lists that a span stands in.
	nesting string

	// piece is the distance of the places. The one of number i is that of the first span
	// found behind i pieces, if any is found before the next.
	piece  int64
	places []jsonPlace
	// first is where the document's first list of spans stands.
	first jsonPlace

	mu   sync.Mutex // guards free
	free []*jsonReader
	// counting guards counted and lines, the newlines in front of it.
	counting       sync.Mutex
	counted, lines int64
}

// How much is read at a time to find a place. A header that is longer than the last
// amount is not found.
const (
	placeBytes    = 16 << 10
	maxPlaceBytes = 256 << 10
)

// begin looks at the start of the file. It reports false where that is not the start of
// a document that may be read in parts.
func (d *jsonDocument) begin() bool {
	text := d.text(section{0, min(d.size, maxPlaceBytes)})
	if startsDocument(text) || d.isLines(int64(len(text))) {
		return false
	}
	var l jsontext.Lexer
	l.Reset(text)
	l.Object()
	if !l.More() {
		return false
	}
	key := string(l.Key())
	if d.isResult = key == "result"; d.isResult {
		l.Object()
		if !l.More() {
			return false
		}
		key = string(l.Key())
	}
	if key != "resourceSpans" {
		return false
	}
	d.nesting = "}]}]}]"
	if d.isResult {
		d.nesting = "}" + d.nesting
	}
	// The groups of the first span are those of the places before which none start.
	list := bytes.IndexByte(text, '[')
	for i := list; i >= 0; {
		if isList(text[:i], `"spans"`) {
			d.first.found = d.context(&d.first, int64(i)+1, int64(i)+1)
			return d.first.found
		}
		n := bytes.IndexByte(text[i+1:], '[')
		if n < 0 {
			break
		}
		i += n + 1
	}
	return false
}

// startsDocument reports whether a line of text but the first starts with a document.
func startsDocument(text []byte) bool { return bytes.Contains(text, []byte("\n{")) }

// isLines reports whether a line starts with a document behind an offset, in the first
// piece of the file: a batch of some hundred spans is a long line.
func (d *jsonDocument) isLines(from int64) bool {
	buf := make([]byte, 4*placeBytes)
	size := int64(len(buf))
	for from--; from < d.piece; from += size - 1 { // a newline may be the last byte
		if startsDocument(d.readAt(buf, section{from, min(d.size, from+size)})) {
			return true
		}
	}
	return false
}

// place returns the place of number i.
func (d *jsonDocument) place(i int) *jsonPlace {
	p := &d.places[i]
	p.once.Do(func() {
		if i == 0 {
			p.found, p.resource, p.scope = true, d.first.resource, d.first.scope
			return
		}
		if p.offset = d.findSpan(int64(i) * d.piece); p.offset < 0 {
			return
		}
		before := d.before(i)
		limit := p.offset - before.offset
		if !d.thorough {
			limit = min(limit, max(d.piece/8, placeBytes))
		}
		p.resource, p.scope = before.resource, before.scope
		p.found = d.context(p, p.offset, limit)
	})
	return p
}

// before returns the place in front of that of number i.
func (d *jsonDocument) before(i int) *jsonPlace {
	for i--; ; i-- {
		if p := d.place(i); p.found {
			return p
		}
	}
}

// findSpan returns where the first span starts that is found in the piece at from, -1 for
// none.
func (d *jsonDocument) findSpan(from int64) int64 {
	end := min(d.size, from+d.piece)
	for n := int64(placeBytes); ; n *= 4 {
		to := min(from+n, end)
		if at := spanStart(d.text(section{from, to})); at >= 0 {
			return from + int64(at)
		}
		if to == end || n >= maxPlaceBytes*4 {
			return -1
		}
	}
}

// maxCandidates is how many objects that turn out to be no span are looked at to find one:
// each may be most of the text.
const maxCandidates = 16

// spanStart returns where the first object that looks like a span starts which follows
// another element of a list, -1 for none.
func spanStart(text []byte) int {
	key := []byte(`"traceId"`)
	for at, candidates := 0, 0; candidates < maxCandidates; at += len(key) {
		n := bytes.Index(text[at:], key)
		if n < 0 {
			return -1
		}
		at += n
		object := trimSpace(text[:at])
		if !bytes.HasSuffix(object, []byte("{")) {
			continue
		}
		object = object[:len(object)-1]
		list := trimSpace(object)
		if !bytes.HasSuffix(list, []byte(",")) || !bytes.HasSuffix(trimSpace(list[:len(list)-1]), []byte("}")) {
			continue
		}
		if isSpan(text[len(object):]) {
			return len(object)
		}
		candidates++
	}
	return -1
}

// isSpan reports whether text starts with an object that has the start of a span.
func isSpan(text []byte) bool {
	var l jsontext.Lexer
	l.Reset(text)
	for l.Object(); l.More(); l.Skip() {
		if string(l.Key()) == "startTimeUnixNano" {
			return l.Err() == nil
		}
	}
	return false
}

// context finds the ScopeSpans and the ResourceSpans object that the place at an offset
// stands in, as far as their lists start less than limit in front of it, and keeps those
// of p otherwise. It reports false where they are not as expected.
func (d *jsonDocument) context(p *jsonPlace, offset, limit int64) bool {
	spans := d.lastList(`"spans"`, offset, offset-limit)
	if spans < 0 {
		return true // and none of scopes without one of spans
	}
	start := d.header(`"scope"`, `"spans"`, spans)
	if start < 0 {
		return false
	}
	p.scope = section{start, spans}
	scopes := d.lastList(`"scopeSpans"`, offset, offset-limit)
	if scopes < 0 {
		return true
	}
	if start = d.header(`"resource"`, `"scopeSpans"`, scopes); start < 0 {
		return false
	}
	p.resource = section{start, scopes}
	return true
}

// lastList returns where the last list starts that is the value of a key, between two
// offsets, -1 for none.
func (d *jsonDocument) lastList(key string, before, from int64) int64 {
	const overlap = 64 // between a key and its list is no more white space
	buf := make([]byte, min(before-from, placeBytes)+overlap)
	for end := before; end > from; end -= placeBytes {
		start := max(from, end-placeBytes)
		s := section{max(0, start-overlap), end}
		text := d.readAt(buf, s)
		last := -1
		for i := int(start - s.start); i < len(text); i++ {
			n := bytes.IndexByte(text[i:], '[')
			if n < 0 {
				break
			}
			if i += n; isList(text[:i], key) {
				last = i
			}
		}
		if last >= 0 {
			return s.start + int64(last)
		}
	}
	return -1
}

// isList reports whether text ends with a key and a colon.
func isList(text []byte, key string) bool {
	text, ok := bytes.CutSuffix(trimSpace(text), []byte(":"))
	return ok && bytes.HasSuffix(trimSpace(text), []byte(key))
}

// header returns where an object starts whose first member is key and whose list starts at
// an offset, -1 for none.
func (d *jsonDocument) header(key, list string, at int64) int64 {
	for n := int64(placeBytes) / 4; ; n *= 4 {
		s := section{max(0, at-n), at}
		text := d.text(s)
		end := bytes.LastIndex(text, []byte(list))
		if end > 0 && bytes.HasSuffix(trimSpace(text[:end]), []byte("{")) {
			return -1
		}
		for end > 0 {
			if end = bytes.LastIndex(text[:end], []byte(key)); end <= 0 {
				break
			}
			object, ok := bytes.CutSuffix(trimSpace(text[:end]), []byte("{"))
			if ok && bytes.HasPrefix(bytes.TrimLeft(text[end+len(key):], jsonSpace), []byte(":")) {
				return s.start + int64(len(object))
			}
		}
		if s.start == 0 || n >= maxPlaceBytes {
			return -1
		}
	}
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// trimSpace returns text without the white space at its end.
func trimSpace(text []byte) []byte { return bytes.TrimRight(text, jsonSpace) }

// text reads a section, as far as it can be read.
func (d *jsonDocument) text(s section) []byte { return d.readAt(make([]byte, s.end-s.start), s) }

// readAt reads a section to buf, as far as it can be read.
func (d *jsonDocument) readAt(buf []byte, s section) []byte {
	n, _ := d.src.ReadAt(buf[:s.end-s.start], s.start)
	return buf[:n]
}
