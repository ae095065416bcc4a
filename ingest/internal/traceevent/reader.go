package traceevent

import (
	"io"
	"iter"
	"regexp"
	"slices"

	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/op"
)

// argsDepth is the number of brackets around the arguments of an event.
const argsDepth = 2

// starts matches where reading goes on behind damage: a document, and an event or the end of the events.
var starts = regexp.MustCompile(`(\{\s*"(?:traceEvents|` + members + `)"\s*:|\n\[\s*` + event + `)|(` + event +
	`|\]\s*,\s*"(?:` + members + `)"\s*:)`)

const (
	members = `schemaVersion|deviceProperties|distributedInfo|displayTimeUnit|traceName|baseTimeNanoseconds|` +
		`otherData|metadata`
	event = `\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s|tts|cname)"\s*:`
)

// Reader reads the events of the documents of a file. It is not safe for concurrent use.
type Reader struct {
	stream  *jsonstream.Reader
	dec     decoder
	wanted  []string
	members map[string][]byte // of the document

	documents int // so far
}

// NewReader returns a Reader of src. name names src in errors. The reader keeps the wanted members of the document.
// Call Next in front of each document.
func NewReader(src io.Reader, name string, wanted ...string) *Reader {
	r := &Reader{stream: jsonstream.NewReader(src, name), wanted: wanted, members: make(map[string][]byte)}
	r.stream.Resume(starts, argsDepth)
	return r
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
func (r *Reader) Err() error {
	if damage := r.stream.Damage(); damage != nil && r.stream.Err() == nil {
		return damage
	}
	return r.stream.Err()
}

// RecordError returns an error about the last event.
func (r *Reader) RecordError(msg string) *op.SyntaxError {
	err := r.stream.SyntaxError(0, msg)
	err.Class = op.ErrorRecord
	return err
}

// Next goes to the next document and reports whether there is one, true for the first in any case. Documents have times,
// ids and members of their own.
func (r *Reader) Next() bool {
	s := r.stream
	first := r.documents == 0
	more := s.Next()
	if c := s.Peek(); more && !first && c != '{' && c != '[' {
		s.End()
		more = s.Next()
	}
	if !more && !first {
		return false
	}
	r.documents++
	clear(r.members)
	return true
}

// Events yields each event of the document, or an *[op.SyntaxError] for a bad one. Err returns the error that ended it
// early.
func (r *Reader) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		if err := r.stream.Damage(); err != nil && !yield(nil, err) {
			return
		}
		if r.stream.Peek() == '[' {
			r.elements(yield)
		} else {
			r.object(yield, true)
		}
	}
}

// object yields the events of an object. One tool writes its trace as the member traceEvents of another object.
func (r *Reader) object(yield func(*Event, error) bool, outer bool) bool {
	s := r.stream
	start := s.Position()
	found := r.documents == 1
	for s.Object(); s.More(); {
		switch key := string(s.Key()); {
		case key == "traceEvents":
			found = true
			if outer && s.Peek() == '{' {
				if !r.object(yield, false) {
					return false
				}
			} else if !r.elements(yield) {
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
	if found || s.Err() != nil {
		return true
	}
	err := r.RecordError("document without events")
	err.Offset = start
	return yield(nil, err)
}

// elements yields the events of the next array and reports whether the consumer wants more.
func (r *Reader) elements(yield func(*Event, error) bool) bool {
	s := r.stream
	for s.List(1); s.More(); {
		if size := r.dec.straight(s.Buffered()); 0 <= size && size <= jsonstream.Large {
			s.Pass(size)
			if !yield(&r.dec.event, nil) {
				return false
			}
			continue
		}
		text, err := s.Element()
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
