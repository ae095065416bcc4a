package entries

import (
	"bytes"
	"maps"

	"github.com/optrace/optrace/internal/model/decode"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Sources follows the headers and batch records of an entries file and finds the resource of the records between them.
// Several processes may append to one file, batch by batch:
//
//   - A header states the resource of the following records, until the next header or batch record. It belongs to the
//     batch record directly behind it, or else to the one in front.
//   - A later batch of the same writer has the writer's resource again.
//
// The zero value is the start of a file.
type Sources struct {
	byWriter map[string]*op.Resource
	bytes    int64        // of byWriter, about
	writer   string       // of the current batch
	header   *op.Resource // the resource of a header that may belong to the next batch
	pending  bool
	// announced is the last resource yielded. unsettled is set if the next entry or span may have another.
	announced *op.Resource
	unsettled bool
}

// maxWriters and maxWriterBytes bound the known writers. Beyond them Sources forgets all.
const (
	maxWriters     = 1 << 12
	maxWriterBytes = 4 << 20
)

// Header takes a header. r is nil for one without a resource, and must not change.
func (s *Sources) Header(r *op.Resource) {
	s.header = r
	s.pending = true
	s.unsettled = true
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

// Settle takes an entry or span. It returns the resource in force, and whether a reader yields it first.
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

// Announced returns the last resource yielded, nil at the start.
func (s *Sources) Announced() *op.Resource { return s.announced }

// Other takes any other line but an empty one.
func (s *Sources) Other() {
	if !s.pending {
		return
	}
	size := opmodel.ResourceBytes(s.header)
	if s.bytes += size; s.byWriter == nil || len(s.byWriter) >= maxWriters || s.bytes > maxWriterBytes {
		s.byWriter = make(map[string]*op.Resource)
		s.bytes = size
	}
	s.byWriter[s.writer] = s.header
	s.header = nil
	s.pending = false
}

// Resource returns the resource of the next entry, nil if unknown.
func (s *Sources) Resource() *op.Resource {
	if s.pending {
		return s.header
	}
	return s.byWriter[s.writer]
}

// Clone returns an independent copy.
func (s *Sources) Clone() *Sources {
	c := *s
	c.byWriter = maps.Clone(s.byWriter)
	return &c
}

// Follow takes whole lines, like a [Reader] that reads them.
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
	return bytes.Contains(line, []byte(`"schema"`)) || bytes.Contains(line, []byte(`"resource"`)) ||
		bytes.Contains(line, []byte(`"batch"`))
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

// follow takes a record other than an entry or span. header is set for a header line.
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
