package stdouttrace

import (
	"bytes"
	"io"
	"iter"

	"github.com/optrace/optrace/ingest/internal/jsonstream"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Records reads spans in constant memory. name stands for src in errors, and m
// is the table from attribute keys to fields, nil for the conventions. A
// resource comes in front of the spans that have it.
//
// A *[op.SyntaxError] is a span that could not be read; any other error is the
// last thing yielded. What a record points to is valid until the next one.
func Records(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewReader(m).Records(src, name, Part{})
}

// Part is a part of a file, between two lines that start with a brace.
type Part struct {
	// Offset is where it starts.
	Offset int64
	// Resource is the [Follower.Resource] of the parts in front.
	Resource []byte
	// More is set where the file does not end with the part.
	More bool
}

// Reader is Records for several files, or parts of files, one after the other. It keeps
// the strings and attribute keys it has met. It is not safe for concurrent use.
type Reader struct{ d *decoder }

// NewReader returns a reader; m is the table from attribute keys to fields, nil for the
// conventions.
func NewReader(m *attr.Mapping) *Reader { return &Reader{d: newDecoder(m)} }

// Records reads a part of the file called name. A *bytes.Buffer is read where it lies in
// memory.
func (r *Reader) Records(src io.Reader, name string, p Part) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		s := jsonstream.NewReader(src, name).Linewise()
		s.SetPart(p.Offset, p.More)
		d := r.d
		d.resource, d.resourceText = op.Resource{}, nil
		if p.Resource != nil {
			d.readResource(p.Resource)
		}
		for text, err := range s.Documents() {
			if err != nil {
				if !yield(op.Record{}, err) {
					return
				}
				continue
			}
			if isEmpty(text) {
				continue
			}
			offset, msg := d.span(text)
			if msg != "" {
				if !yield(op.Record{}, s.SyntaxError(offset, msg)) {
					return
				}
				continue
			}
			if d.newResource && !yield(op.Record{Resource: &d.resource}, nil) {
				return
			}
			if !yield(d.record(), nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(op.Record{}, err)
		}
	}
}

// isEmpty reports whether a document is an object without members.
func isEmpty(text []byte) bool { return len(bytes.TrimSpace(text)) == len("{}") && text[0] == '{' }

// Cut returns where the last line of text starts that starts with a brace: there a span
// starts, whatever the one before lacks. It looks behind the first seen bytes, and
// returns 0 for none.
func Cut(text []byte, seen int) int {
	from := max(0, seen-1) // the newline may be the last byte that was seen
	n := bytes.LastIndex(text[from:], []byte("\n{"))
	if n < 0 {
		return 0
	}
	return from + n + 1
}

// Follower finds the resource that holds at the end of a part of a file.
type Follower struct {
	d    *decoder
	text []byte
}

// Resource returns the text of the resource that holds behind the parts so far.
func (f *Follower) Resource() []byte { return f.text }

// Follow takes a part, which ends in front of a line that starts with a brace: it looks
// for the last span that can be read.
func (f *Follower) Follow(part []byte) {
	if f.d == nil {
		f.d = newDecoder(nil)
	}
	for end := len(part); end > 0; {
		start := bytes.LastIndex(part[:end-1], []byte("\n{")) + 1
		resource, found := []byte(nil), false
		s := jsonstream.NewReader(bytes.NewBuffer(part[start:end]), "").Linewise()
		s.SetPart(0, true)
		for text, err := range s.Documents() {
			if err == nil && !isEmpty(text) {
				if _, msg := f.d.span(text); msg == "" {
					resource, found = f.d.resourceText, true
				}
			}
		}
		if found {
			f.text = bytes.Clone(resource)
			return
		}
		end = start
	}
}
