package entries

import (
	"bytes"
	"maps"

	"github.com/optrace/optrace/internal/model/decode"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Sources follows the headers and batch records of an entries file, and tells which
// resource the records between them come from. Several processes may append to one
// file, batch by batch:
//
//   - A header says where the records behind it come from, until the next header or
//     batch record. It belongs to the batch record directly behind it, or else to that
//     in front of it.
//   - A later batch of the same writer has the writer's resource again.
//
// The zero value stands at the start of a file.
type Sources struct {
	byWriter map[string]*op.Resource
	bytes    int64  // of byWriter, about
	writer   string // of the current batch
	// header is the resource of a header that may still belong to the next batch.
	header  *op.Resource
	pending bool
	// announced is the resource that a reader handed out last, and unsettled is set where
	// that of the next entry or span may be another one.
	announced *op.Resource
	unsettled bool
}

// maxWriters and maxWriterBytes bound the writers that are remembered, and the memory of their resources; beyond them all
// are forgotten.
const (
	maxWriters     = 1 << 12
	maxWriterBytes = 4 << 20
)

// Header takes a header; r is nil for one without a resource. It must not change.
func (s *Sources) Header(r *op.Resource) {
	s.header, s.pending, s.unsettled = r, true, true
	if r != nil {
		s.announced = r
	}
}

// Batch takes a batch record.
func (s *Sources) Batch(b *op.Batch) {
	s.writer = b.Writer
	s.Other()
	s.unsettled = s.Resource() != s.announced
}

// Settle takes an entry or span. changed is set if a reader hands out its resource in
// front of it.
func (s *Sources) Settle() (now *op.Resource, changed bool) {
	s.Other()
	s.unsettled = false
	before := s.announced
	now = s.Resource()
	s.announced = now
	return now, !opfile.SameResource(orEmpty(now), orEmpty(before))
}

func orEmpty(r *op.Resource) *op.Resource {
	if r == nil {
		return &op.Resource{}
	}
	return r
}

// Announced returns the resource that a reader has handed out last, nil for none.
func (s *Sources) Announced() *op.Resource { return s.announced }

// Other takes any other line but an empty one.
func (s *Sources) Other() {
	if !s.pending {
		return
	}
	size := opmodel.ResourceBytes(s.header)
	if s.bytes += size; s.byWriter == nil || len(s.byWriter) >= maxWriters || s.bytes > maxWriterBytes {
		s.byWriter, s.bytes = make(map[string]*op.Resource), size
	}
	s.byWriter[s.writer] = s.header
	s.header, s.pending = nil, false
}

// Resource returns the resource of an entry that comes next, nil where it is not known.
func (s *Sources) Resource() *op.Resource {
	if s.pending {
		return s.header
	}
	return s.byWriter[s.writer]
}

// Clone returns a copy that goes on by itself.
func (s *Sources) Clone() *Sources {
	c := *s
	c.byWriter = maps.Clone(s.byWriter)
	return &c
}

// Follow takes whole lines, as a [Reader] that reads them does.
func (s *Sources) Follow(lines []byte) {
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch {
		case isBlank(line):
		case s.unsettled || mayHead(line):
			s.read(line)
		default:
			s.Other()
		}
	}
}

func mayHead(line []byte) bool {
	if bytes.HasPrefix(line, []byte(`{"step":`)) || bytes.HasPrefix(line, []byte(`{"span":`)) {
		return false
	}
	return bytes.Contains(line, []byte(`"schema"`)) || bytes.Contains(line, []byte(`"resource"`)) || bytes.Contains(line, []byte(`"batch"`))
}

func (s *Sources) read(line []byte) {
	var d decode.Decoder
	rec, _, err := d.Record(bytes.TrimPrefix(line, []byte("\ufeff")))
	switch {
	case err != nil || len(line) > MaxLineBytes:
		s.Other()
	case rec.Entry == nil && rec.Span == nil:
		s.follow(&rec, d.Header)
	case s.unsettled:
		s.Settle()
	}
}

// follow takes a record that is no entry or span; header is set if it says where those behind it come from.
func (s *Sources) follow(rec *op.Record, header bool) {
	switch {
	case rec.Batch != nil:
		s.Batch(rec.Batch)
	case rec.Resource != nil:
		s.Header(rec.Resource.Clone())
	case header && rec.Gap == nil:
		s.Header(nil)
	default:
		s.Other()
	}
}
