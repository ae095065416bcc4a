package traceevent

import (
	"io"
	"iter"
	"slices"

	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/op"
)

// Reader reads the events of one document. It is not safe for concurrent use.
type Reader struct {
	stream  *jsonstream.Reader
	dec     decoder
	wanted  []string
	members map[string][]byte
}

// NewReader returns a Reader of src. name stands for src in errors. Besides the events it keeps the members of the
// document that are wanted.
func NewReader(src io.Reader, name string, wanted ...string) *Reader {
	return &Reader{stream: jsonstream.NewReader(src, name), wanted: wanted, members: make(map[string][]byte)}
}

// Member returns the JSON text of a wanted member of the document, nil where it has not been met: members may stand in
// front of the events or behind.
func (r *Reader) Member(key string) []byte { return r.members[key] }

// ReadArgs makes r give the arguments of an event to read, which it calls with what is known of the event by then and
// with the place of the object in a text. read returns the index behind the object, which then has been read, or -1:
// then it is as if it had not been called. That is an offer, which spares going over the text of the arguments twice: r
// makes use of it where it reads an event in one go.
func (r *Reader) ReadArgs(read func(e *Event, text []byte, i int) (end int)) { r.dec.readArgs = read }

// Err returns the error that ended reading early, or nil. An *[op.SyntaxError] is about the document, any other error
// is the source's.
func (r *Reader) Err() error { return r.stream.Err() }

// RecordError returns an error about the event that was yielded last.
func (r *Reader) RecordError(msg string) *op.SyntaxError {
	err := r.stream.SyntaxError(0, msg)
	err.Class = op.ErrorRecord
	return err
}

// Events yields each event, or an *[op.SyntaxError] for one that cannot be read. What ends reading early is not yielded
// but returned by Err.
func (r *Reader) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		s := r.stream
		if s.Peek() == '[' {
			if !r.elements(yield) {
				return
			}
		} else {
			for s.Object(); s.More(); {
				switch key := string(s.Key()); {
				case key == "traceEvents":
					if !r.elements(yield) {
						return
					}
				case slices.Contains(r.wanted, key):
					text, err := s.Value()
					if s.Err() != nil {
						return
					}
					if err != nil && !yield(nil, err) {
						return
					}
					r.members[key] = slices.Clone(text)
				default:
					s.Skip()
				}
			}
		}
		s.End()
	}
}

// elements yields the events of the array that comes next, and reports whether more are wanted.
func (r *Reader) elements(yield func(*Event, error) bool) bool {
	s := r.stream
	for s.Array(); s.More(); {
		if size := r.dec.straight(s.Buffered()); size >= 0 {
			s.Pass(size)
			if !yield(&r.dec.event, nil) {
				return false
			}
			continue
		}
		text, err := s.Value()
		if s.Err() != nil {
			return true
		}
		var event *Event
		if err == nil {
			event, err = r.dec.decode(text, s)
		}
		if !yield(event, err) {
			return false
		}
	}
	return true
}
