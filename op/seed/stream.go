package seed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/internal/decode"
)

// maxTraceValue is the longest entry, or other value, of a seed trace that is streamed.
const maxTraceValue = 16 << 20

// Stream is [Records] for a trace that is not held in memory: it is read as it
// comes, one entry at a time. So metadata that stand behind the entries come behind them.
// An error that is no *[SyntaxError] is that of src, and the last thing yielded.
func Stream(src io.Reader, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		s := &stream{src: src, name: name, yield: yield}
		s.read()
	}
}

// traceStream reads a seed trace from a window that slides over it.
type stream struct {
	src   io.Reader
	name  string
	yield func(op.Record, error) bool
	dec   decode.Decoder

	buf   []byte
	at    int   // the unread part of buf
	base  int64 // of buf in the input
	lines int64 // in front of buf
	err   error // of src
	total op.Int
	sum   int64
}

// read reads the members of the document.
func (s *stream) read() {
	if !s.step(func(l *jsontext.Lexer) { l.Expect('{', "expected an object") }) {
		return
	}
	for first := true; ; first = false {
		done := false
		if !s.step(func(l *jsontext.Lexer) {
			if done = l.Peek() == '}'; done {
				l.Expect('}', "")
			} else if !first {
				l.Expect(',', "expected ',' or '}'")
			}
		}) {
			return
		}
		if done {
			break
		}
		var key string
		if !s.step(func(l *jsontext.Lexer) { key = string(l.Key()) }) || !s.member(key) {
			return
		}
	}
	if s.step((*jsontext.Lexer).End) && s.total.Known {
		s.yield(op.Record{Total: &op.Total{Stated: s.total.V, Sum: s.sum}}, nil)
	}
}

// member reads the value of a member, and reports whether to go on.
func (s *stream) member(key string) bool {
	if key == "entries" {
		return s.step(func(l *jsontext.Lexer) { l.Expect('[', "expected an array") }) && s.entries()
	}
	start := s.base + int64(s.at)
	text, ok := s.value()
	if !ok {
		return false
	}
	d := &s.dec
	d.Lex.Reset(text)
	d.Reset()
	switch key {
	case "total_duration_us":
		s.total = totalDuration(d)
	case "metadata":
		metadata := d.Attributes(nil)
		slices.SortFunc(metadata, func(a, b op.Attr) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
		if len(metadata) > 0 && !s.yield(op.Record{Resource: &op.Resource{Attrs: metadata}}, nil) {
			return false
		}
	}
	if d.Fault != "" && d.Lex.Err() == nil {
		return s.yield(op.Record{}, s.fault(start+int64(d.FaultAt), d.Fault, op.ErrorRecord))
	}
	return true
}

// entries yields the entries and the errors of those that cannot be read. It reports
// whether the list came to its end and more records are wanted.
func (s *stream) entries() bool {
	for i := 0; ; i++ {
		done := false
		if !s.step(func(l *jsontext.Lexer) {
			if done = l.Peek() == ']'; done {
				l.Expect(']', "")
			} else if i > 0 {
				l.Expect(',', "expected ',' or ']'")
			}
		}) {
			return false
		}
		if done {
			return true
		}
		text, ok := s.value()
		if !ok || !s.entry(text, i) {
			return false
		}
	}
}

// entry yields the i-th entry or its error.
func (s *stream) entry(text []byte, i int) bool {
	d := &s.dec
	d.Lex.Reset(text)
	readEntry(d)
	start := s.base + int64(s.at-len(text))
	switch {
	case d.Lex.Err() != nil:
		msg := fmt.Sprintf("entries[%d]: %s", i, d.Lex.Err())
		return s.yield(op.Record{}, s.fault(start+int64(d.Lex.Offset()), msg, op.ErrorRecord))
	case d.Fault != "":
		return s.yield(op.Record{}, s.fault(start+int64(d.FaultAt), fmt.Sprintf("entries[%d]: %s", i, d.Fault), op.ErrorRecord))
	}
	if d.Entry.Side != op.SideHost {
		s.sum = addSaturating(s.sum, d.Entry.Duration)
	}
	return s.yield(op.Record{Entry: &d.Entry}, nil)
}

// value reads a value and returns its text, whose brackets match.
func (s *stream) value() (text []byte, ok bool) {
	ok = s.step(func(l *jsontext.Lexer) {
		l.Peek()
		start := l.Offset()
		l.Pass()
		if l.Err() == nil {
			text = s.buf[s.at+start : s.at+l.Offset()]
		}
	})
	return text, ok
}

// step runs f on the text that is there, and again with more where f ran into its end. It
// reports whether f read what it expects; otherwise the error has been yielded.
func (s *stream) step(f func(l *jsontext.Lexer)) bool {
	l := &s.dec.Lex
	for {
		l.Reset(s.buf[s.at:])
		f(l)
		// A number that ends with the text may go on behind it.
		short := l.Truncated() || l.Err() == nil && l.AtEnd()
		if short && s.err == nil {
			if len(s.buf)-s.at < maxTraceValue {
				s.fill()
				continue
			}
			s.yield(op.Record{}, s.fault(s.base+int64(s.at), fmt.Sprintf("value longer than %d MiB", maxTraceValue>>20), op.ErrorLimit))
			return false
		}
		switch {
		case l.Err() == nil:
			s.at += l.Offset()
			return true
		case short && !errors.Is(s.err, io.EOF):
			s.yield(op.Record{}, fmt.Errorf("reading trace: %w", s.err))
			return false
		}
		damage := s.fault(s.base+int64(s.at+l.Offset()), l.Err().Error(), op.ErrorSyntax)
		damage.Truncated = short
		s.yield(op.Record{}, damage)
		return false
	}
}

// fill drops what has been read and reads more.
func (s *stream) fill() {
	const size = 256 << 10
	s.lines += int64(bytes.Count(s.buf[:s.at], []byte{'\n'}))
	s.base += int64(s.at)
	s.buf, s.at = s.buf[:copy(s.buf, s.buf[s.at:])], 0
	s.buf = slices.Grow(s.buf, max(size, len(s.buf)))
	n := 0
	n, s.err = io.ReadAtLeast(s.src, s.buf[len(s.buf):cap(s.buf)], 1)
	s.buf = s.buf[:len(s.buf)+n]
}

// fault returns an error about what stands at an offset within the window.
func (s *stream) fault(offset int64, msg string, class op.ErrorClass) *op.SyntaxError {
	front := s.buf[:max(0, min(offset-s.base, int64(len(s.buf))))]
	return &op.SyntaxError{File: s.name, Line: s.lines + int64(bytes.Count(front, []byte{'\n'})) + 1, Offset: offset, Msg: msg, Class: class}
}
