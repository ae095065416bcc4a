package otlp

import (
	"bytes"
	"encoding/binary"
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

// ProtoWalk cuts a TracesData message into parts. It walks from field to field, and
// enters the messages that a [ProtoReader] enters.
type ProtoWalk struct {
	place  ProtoPlace
	offset int64 // of the text
	pos    int   // of the place in the text
	most   int64 // MaxMessageBytes but in tests
}

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
		for p := &w.place; p.level > levelTraces && w.offset+int64(end) >= p.ends[p.level]; p.level-- {
		}
	}
}

// field returns the end of the field at the place, or of the start of one to enter; 0
// where the text ends before. It is not ok where the field is damaged or none that a
// known writer writes.
func (w *ProtoWalk) field(text []byte) (end int, ok bool) {
	tag, n := binary.Uvarint(text[w.pos:])
	if n <= 0 || tag&7 != wireBytes {
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
	if at > levelTraces && (offset > p.ends[at] || size > uint64(p.ends[at]-offset)) {
		return 0, false
	}
	isHeader, isList := at.header(field), at.list(field)
	if isList && size > uint64(w.most) && at+1 < levelSpan {
		if size > maxEntered {
			return 0, false
		}
		p.listed[at] = true
		p.level++
		p.ends[p.level], p.listed[p.level], p.headers[p.level] = offset+int64(size), false, nil
		p.headers[levelScope] = nil
		return start, true
	}
	if size > uint64(len(text)-start) {
		return 0, true
	}
	end = start + int(size)
	if isHeader {
		if size > maxPlaceBytes {
			return 0, false
		}
		p.headers[at] = bytes.Clone(text[start:end])
	}
	p.listed[at] = p.listed[at] || isList
	return end, true
}

// maxEntered is the largest message that a walk enters.
const maxEntered = 1 << 62
