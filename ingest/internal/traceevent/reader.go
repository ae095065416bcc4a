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

// NewReader returns a Reader of src. name names src in errors. The reader keeps the wanted members of the document.
func NewReader(src io.Reader, name string, wanted ...string) *Reader {
	return &Reader{stream: jsonstream.NewReader(src, name), wanted: wanted, members: make(map[string][]byte)}
}

// Member returns the JSON text of a wanted member, nil until the reader has met it. Members may precede or follow the
// events.
func (r *Reader) Member(key string) []byte { return r.members[key] }

// ReadArgs sets a function that reads the arguments of an event at text[i] and returns the index behind them, or -1
// without effect. It gets the event so far. The reader calls it for events read in one pass, to save a second pass over
// the arguments.
func (r *Reader) ReadArgs(read func(e *Event, text []byte, i int) (end int)) { r.dec.readArgs = read }

// Err returns the error that ended the reading early, or nil. An *[op.SyntaxError] is about the document, any other
// error from the source.
func (r *Reader) Err() error { return r.stream.Err() }

// RecordError returns an error about the last event.
func (r *Reader) RecordError(msg string) *op.SyntaxError {
	err := r.stream.SyntaxError(0, msg)
	err.Class = op.ErrorRecord
	return err
}

// Events yields each event, or an *[op.SyntaxError] for a bad one. Err returns the error that ended it early.
func (r *Reader) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		if r.stream.Peek() == '[' {
			if !r.elements(yield) {
				return
			}
		} else if !r.document(true, yield) {
			return
		}
		r.stream.End()
	}
}

// document yields the events of an object and reports whether the consumer wants more. The outer one may hold another
// object in place of the events.
func (r *Reader) document(outer bool, yield func(*Event, error) bool) bool {
	s := r.stream
	for s.Object(); s.More(); {
		switch key := string(s.Key()); {
		case key == "traceEvents" && outer && s.Peek() == '{':
			if !r.document(false, yield) {
				return false
			}
		case key == "traceEvents":
			if !r.elements(yield) {
				return false
			}
		case slices.Contains(r.wanted, key):
			text, err := s.Value()
			if s.Err() != nil {
				return true
			}
			if err != nil && !yield(nil, err) {
				return false
			}
			r.members[key] = slices.Clone(text)
		default:
			s.Skip()
		}
	}
	return true
}

// elements yields the events of the next array and reports whether the consumer wants more.
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
