package otlp

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
)

// ProtoPlace is a place between two fields of a TracesData message, or of the messages
// in it that are too large to be read as a whole. The zero ProtoPlace is the start.
type ProtoPlace struct {
	// Cut is set where the input does not end with the part that starts here.
	Cut bool

	level level
	// What follows is by level, of the messages that the place lies in: where each ends
	// in the file, whether there was an element of its list, and its header.
	ends    [levelSpan]int64
	listed  [levelSpan]bool
	headers [levelSpan][]byte
}

// level is a message that may be entered.
type level uint8

const (
	levelTraces level = iota
	levelResource
	levelScope
	levelSpan // never entered
)

// header and list report whether a field of a message of the level is its header, or an
// element of its list.
func (at level) header(field uint64) bool { return at != levelTraces && field == spans.FieldHeader }
func (at level) list(field uint64) bool {
	return at == levelTraces && field == spans.FieldResourceSpans || at != levelTraces && field == spans.FieldList
}

// end returns where the message ends that p lies in.
func (p *ProtoPlace) end() int64 {
	if p.level == levelTraces {
		return math.MaxInt64
	}
	return p.ends[p.level]
}

// enter makes p lie in an element, with an end, of the list of its message.
func (p *ProtoPlace) enter(end int64) {
	p.listed[p.level] = true
	p.level++
	p.ends[p.level], p.listed[p.level], p.headers[p.level] = end, false, nil
	p.headers[levelScope] = nil
}

// leave makes p lie outside the messages that end at an offset.
func (p *ProtoPlace) leave(offset int64) {
	for p.level > levelTraces && offset >= p.ends[p.level] {
		p.level--
	}
}

// ProtoWalk cuts a TracesData message into parts. It walks from field to field, and
// enters the messages that a [ProtoReader] enters.
type ProtoWalk struct {
	place  ProtoPlace
	offset int64 // of the text
	pos    int   // of the place in the text
	most   int64 // MaxMessageBytes but in tests
}

// maxHeaderBytes is the longest header that is kept with a place.
const maxHeaderBytes = 256 << 10

// NewProtoWalk returns a walk from the start of a file.
func NewProtoWalk() *ProtoWalk { return &ProtoWalk{most: MaxMessageBytes} }

// Place returns the place where the text of the next calls of Cut starts: that of the
// last one's result.
func (w *ProtoWalk) Place() ProtoPlace {
	w.offset += int64(w.pos)
	w.pos = 0
	return w.place
}

// Cut returns how many of the first bytes of text are whole fields, and whether the walk
// goes on. text starts with that of the call before, unless Place was called in between.
func (w *ProtoWalk) Cut(text []byte) (n int, ok bool) {
	for {
		end, ok := w.field(text)
		if !ok || end == 0 {
			return w.pos, ok
		}
		w.pos = end
		w.place.leave(w.offset + int64(end))
	}
}

// field returns the end of the field at the place, or of the start of one to enter; 0
// where the text ends before. It is not ok where the field is damaged or none that a
// known writer writes.
func (w *ProtoWalk) field(text []byte) (end int, ok bool) {
	tag, n := binary.Uvarint(text[w.pos:])
	if n <= 0 || tag&7 != spans.WireBytes {
		return 0, n == 0
	}
	start := w.pos + n
	size, n := binary.Uvarint(text[start:])
	if n <= 0 {
		return 0, n == 0
	}
	start += n
	p, at, field := &w.place, w.place.level, tag>>3
	offset := w.offset + int64(start)
	if offset > p.end() || size > uint64(p.end()-offset) {
		return 0, false
	}
	isHeader, isList := at.header(field), at.list(field)
	if isList && size > uint64(w.most) && at+1 < levelSpan {
		p.enter(offset + int64(size))
		return start, true
	}
	if size > uint64(len(text)-start) {
		return 0, true
	}
	end = start + int(size)
	if isHeader {
		if size > maxHeaderBytes {
			return 0, false
		}
		p.headers[at] = bytes.Clone(text[start:end])
	}
	p.listed[at] = p.listed[at] || isList
	return end, true
}
