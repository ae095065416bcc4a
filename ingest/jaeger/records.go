package jaeger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"unsafe"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// maxTraceBytes bounds the memory of a trace. Its processes follow its spans, so that the reader holds the text of one
// trace.
const maxTraceBytes = 512 << 20

var errTraceTooLarge = errors.New("reading spans: the trace exceeds the memory limit, because its processes follow its spans")

// Records reads answers of API version 1, and their traces alone, one or a list. name names src in errors, and m maps
// attribute keys to fields, nil by the conventions.
//
// A *[op.SyntaxError] is a bad span or the early end of the answer. Any other error is the last value, such as a
// *[ServerError] for an answer with an error instead of data. A record's pointers are valid until the next one.
func Records(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return RecordsHolding(src, name, m, attrmap.Account(m).Hold)
}

// RecordsHolding is [Records] with a memory bound. It calls hold with the number of bytes held in addition, negative
// for bytes released. An error of hold ends the reading. A nil hold bounds a trace to 512 MiB.
func RecordsHolding(
	src io.Reader, name string, m *attr.Mapping, hold func(bytes int64) error,
) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := newReader(src, name, m, yield)
		r.held.Hold = upTo(maxTraceBytes, hold)
		r.answers()
		r.held.Free()
	}
}

type reader struct {
	stream *jsonstream.Reader
	dec    *decoder
	yield  func(op.Record, error) bool
	held   budget.Account

	failure *ServerError // the error in the current answer
	hasData bool         // the current answer has data

	hasSpans  bool                    // the current trace has a list of spans
	processes map[string]*op.Resource // of the current trace; nil until they are read
	current   *op.Resource            // of the last span

	// texts holds the spans of a trace until its processes are known; spans has the place of each.
	texts []byte
	spans []spanText
}

type spanText struct {
	offset     int64 // in the input
	start, end int
}

// starts matches where reading goes on behind damage: an answer, a trace, and a span or the end of the spans.
var starts = regexp.MustCompile(`(\{\s*"data"\s*:\s*\[)|(` + traceID + `"(?:spans|processes)"\s*:)|(` + traceID +
	`"(?:spanID|parentSpanID|flags|operationName)"\s*:|\]\s*,\s*"processes"\s*:)`)

const traceID = `\{\s*"traceID"\s*:\s*"[^"\n]*"\s*,\s*`

const (
	listOfTraces = 1 // among these places
	tagDepth     = 3 // the number of brackets around a tag of a span
)

func newReader(src io.Reader, name string, m *attr.Mapping, yield func(op.Record, error) bool) *reader {
	r := &reader{stream: jsonstream.NewReader(src, name), dec: &decoder{build: attrmap.NewBuilder(m)}, yield: yield}
	r.stream.Resume(starts, tagDepth)
	return r
}

// damage yields the damage in front of the next answer or trace.
func (r *reader) damage() bool {
	err := r.stream.Damage()
	return err == nil || r.yield(op.Record{}, err)
}

// upTo returns hold; if it is nil, a function with a limit of most bytes.
func upTo(most int64, hold func(bytes int64) error) func(bytes int64) error {
	return budget.UpTo(most, fmt.Errorf("%w: more than %d MiB", errTraceTooLarge, most>>20), hold)
}

func (r *reader) answers() {
	for r.stream.Next() {
		read := r.answer
		if r.stream.Peek() == '[' {
			read = r.traces
		}
		if !r.damage() || !read() {
			return
		}
	}
	if !r.damage() {
		return
	}
	// The spans before the error are good.
	if err := r.stream.Err(); err != nil && r.heldSpans() {
		r.yield(op.Record{}, err)
	}
}

func (r *reader) answer() bool {
	r.failure, r.hasData = nil, false
	r.begin()
	s := r.stream
	for s.Object(); s.More(); {
		switch key := string(s.Key()); key {
		case "data":
			if s.Peek() != '[' {
				s.Skip()
				break
			}
			r.hasData = true
			if !r.traces() {
				return false
			}
		case "errors", "error", "message":
			text, err := s.Value()
			if err != nil {
				break // an error too long to keep; the data say enough
			}
			if msg := message(text); msg != "" {
				r.failure = &ServerError{Message: msg}
			}
		default:
			if !r.member(key) {
				return false
			}
		}
	}
	switch {
	case s.Err() != nil:
		return true
	case r.failure == nil:
		return r.heldSpans()
	case r.hasData: // part of the data asked for
		err := s.SyntaxError(0, "incomplete answer, "+r.failure.Error())
		err.Class = op.ErrorOther
		return r.yield(op.Record{}, err)
	}
	r.yield(op.Record{}, r.failure)
	return false
}

func (r *reader) traces() bool {
	for r.stream.List(listOfTraces); r.stream.More(); {
		if !r.damage() || !r.trace() {
			return false
		}
	}
	return true
}

// begin forgets the trace before.
func (r *reader) begin() {
	r.hasSpans = false
	r.processes = nil
	r.current = nil
	r.dec.build.Outer.Held.Reset()
	r.texts = r.texts[:0]
	r.spans = r.spans[:0]
}

func (r *reader) trace() bool {
	r.begin()
	s := r.stream
	start := s.Position()
	for s.Object(); s.More(); {
		if !r.member(string(s.Key())) {
			return false
		}
	}
	switch {
	case s.Err() != nil:
		return true
	case r.hasSpans:
		return r.heldSpans()
	}
	err := s.SyntaxError(0, "trace without spans")
	err.Offset = start
	err.Class = op.ErrorRecord
	return r.yield(op.Record{}, err)
}

// member reads a member of a trace.
func (r *reader) member(key string) bool {
	s := r.stream
	switch key {
	case "spans":
		r.hasSpans = true
		switch s.Peek() {
		case '[':
			return r.readSpans()
		case 'n': // null
			s.Skip()
		default:
			err := s.SyntaxError(0, "spans are no array")
			s.Skip()
			return s.Err() != nil || r.yield(op.Record{}, err)
		}
	case "processes":
		text, err := s.Value()
		if s.Err() == nil && err == nil {
			r.processes = make(map[string]*op.Resource)
			if r.dec.processes(text, r.processes); r.dec.lex.Err() != nil {
				err = s.LexerError(&r.dec.lex)
			}
		}
		return s.Err() != nil || err == nil || r.yield(op.Record{}, err)
	default:
		s.Skip()
	}
	return true
}

// readSpans reads a list of spans. It keeps them until the processes are known.
func (r *reader) readSpans() bool {
	for text, err := range r.stream.Elements() {
		switch {
		case err != nil:
			if !r.yield(op.Record{}, err) {
				return false
			}
		case r.processes != nil, bytes.IndexByte(text, '"') < 0: // without members it names no process
			if !r.span(text, r.stream.Offset()) {
				return false
			}
		default:
			start := len(r.texts)
			r.texts = append(r.texts, text...)
			r.spans = append(r.spans, spanText{r.stream.Offset(), start, len(r.texts)})
			if err := r.held.Set(int64(cap(r.texts))+int64(cap(r.spans))*int64(unsafe.Sizeof(spanText{})),
				1); err != nil {
				r.yield(op.Record{}, err)
				return false
			}
		}
	}
	return true
}

func (r *reader) heldSpans() bool {
	for _, t := range r.spans {
		if !r.span(r.texts[t.start:t.end], t.offset) {
			return false
		}
	}
	r.texts = r.texts[:0]
	r.spans = r.spans[:0]
	const keep = 1 << 20
	if cap(r.texts) > keep { // release the memory of a large trace
		r.texts = nil
		r.spans = nil
		r.held.Free()
	}
	return true
}

// span yields a span. Its process precedes it unless the last span had the same.
func (r *reader) span(text []byte, offset int64) bool {
	s := r.dec.span(text)
	if s == nil {
		err := r.stream.LexerError(&r.dec.lex)
		err.Offset = offset + int64(r.dec.lex.Offset())
		return r.yield(op.Record{}, err)
	}
	process := r.processes[s.process]
	if process != r.current {
		r.current = process
		if process != nil && !r.yield(op.Record{Resource: process}, nil) {
			return false
		}
	}
	return r.yield(r.dec.record(s, process), nil)
}

// ServerError is an answer with an error instead of data.
type ServerError struct {
	// Message is the server's message.
	Message string
}

var _ error = (*ServerError)(nil)

// Error returns the quoted message.
func (e *ServerError) Error() string { return fmt.Sprintf("the server's error: %q", e.Message) }
