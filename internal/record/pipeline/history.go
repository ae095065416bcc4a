package pipeline

import (
	"unsafe"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/op"
)

// history holds the last records of one kind. It frees them in parts, each with its last record.
type history struct {
	partSize int
	parts    []*part // oldest first
	records  int
	bytes    int   // of the parts
	spare    *part // empty; a full history then does not allocate
}

type part struct {
	text    []byte
	records []recordAt
	first   int // index of the oldest record left
}

// recordAt is a record of a part without its text.
type recordAt struct {
	sequence uint64
	end      int // in the part's text; the start is the end before
	entries  int
	source   attribute.Distinct
	resource *op.Resource
}

func (p *part) size() int {
	return int(unsafe.Sizeof(*p)) + cap(p.text) + cap(p.records)*int(unsafe.Sizeof(recordAt{}))
}

const perRecord = 256 // about the bytes of a record; sets the number of recordAts of a part

func (h *history) need(text []byte) int {
	if h.fits(text) {
		return 0
	}
	size := max(h.partSize, len(text))
	return size + size/perRecord*int(unsafe.Sizeof(recordAt{}))
}

func (h *history) fits(text []byte) bool {
	if len(h.parts) == 0 {
		return false
	}
	p := h.parts[len(h.parts)-1]
	return cap(p.text)-len(p.text) >= len(text) && len(p.records) < cap(p.records)
}

func (h *history) put(sequence uint64, b *encoding.Batch) {
	text := b.Body()
	if !h.fits(text) {
		h.grow(len(text))
	}
	p := h.parts[len(h.parts)-1]
	p.text = append(p.text, text...)
	p.records = append(p.records, recordAt{sequence, len(p.text), b.Entries, b.First, b.FirstResource})
	h.records++
}

func (h *history) grow(record int) {
	p := h.spare
	h.spare = nil
	if size := max(h.partSize, record); p == nil || cap(p.text) < size {
		p = &part{text: make([]byte, 0, size), records: make([]recordAt, 0, max(1, size/perRecord))}
	}
	h.parts = append(h.parts, p)
	h.bytes += p.size()
}

// oldest returns the sequence number of the oldest record of a history that is not empty.
func (h *history) oldest() uint64 {
	p := h.parts[0]
	return p.records[p.first].sequence
}

// pop removes the oldest record of a history that is not empty. The result is valid until the next put.
func (h *history) pop() encoding.Record {
	p := h.parts[0]
	at := &p.records[p.first]
	start := 0
	if p.first > 0 {
		start = p.records[p.first-1].end
	}
	r := encoding.Record{Bytes: p.text[start:at.end], Entries: at.entries, Source: at.source, Resource: at.resource}
	h.records--
	if p.first++; p.first == len(p.records) {
		h.release()
	}
	return r
}

func (h *history) release() {
	p := h.parts[0]
	h.bytes -= p.size()
	h.parts[0] = nil
	h.parts = h.parts[1:]
	if h.spare == nil && cap(p.text) == h.partSize {
		clear(p.records) // they refer to resources
		p.text = p.text[:0]
		p.records = p.records[:0]
		p.first = 0
		h.spare = p
	}
}

func (h *history) take() history {
	taken := *h
	taken.spare = nil
	*h = history{partSize: h.partSize, spare: h.spare}
	return taken
}
