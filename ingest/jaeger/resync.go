package jaeger

import (
	"bytes"
	"errors"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// The delimiters of what an answer, a trace and a span stand in.
const (
	inAnswers = ""
	inData    = "}]"
	inSpans   = "}]}]"
)

// nesting tells by its first members what an object is.
func nesting(object []byte) (closing string, ok bool) {
	var l jsontext.Lexer
	l.Reset(object)
	first := true
	for l.Object(); l.More(); first = false {
		key := string(l.Key())
		switch {
		case l.Err() != nil:
			return "", false
		case key == "data" && first:
			return inAnswers, l.Peek() == '['
		case key == "spanID" && !first:
			return inSpans, true
		case key == "spans" && !first:
			return inData, true
		case key != "traceID":
			return "", false
		}
		l.Skip()
	}
	return "", false
}

// recover reads on behind what is wrong with an answer, as far as something is found that
// is certainly a span, a trace or an answer. It reports whether more records are wanted.
func (r *reader) recover() bool {
	for {
		damage, ok := errors.AsType[*op.SyntaxError](r.stream.Err())
		if !ok {
			return r.stream.Err() == nil || r.heldSpans() // of a file that fails
		}
		found, sameTrace := "", true
		again := r.stream.Resync(func(object []byte) (closing string, ok bool) {
			found, ok = nesting(object)
			return found, ok
		}, func(text []byte) { sameTrace = sameTrace && !bytes.Contains(text, []byte(`"processes"`)) })
		if !again || found != inSpans || !sameTrace {
			if !r.heldSpans() {
				return false
			}
			r.processes, r.current, r.texts, r.spans = nil, nil, r.texts[:0], r.spans[:0]
		}
		if !r.yield(op.Record{}, damage) {
			return false
		}
		if !again || found == inAnswers {
			return true
		}
		r.hasData = true
		if found == inSpans && !(r.readSpans() && r.traceMembers()) {
			return false
		}
		if !r.traces() || !r.answerMembers() {
			return false
		}
	}
}

// swallowed returns where in the text of a span another one starts, which a span does not
// hold: it lacks its end. It returns 0 for none.
func swallowed(text []byte) int {
	const key = `"traceID"`
	for at := 1; ; {
		n := bytes.Index(text[at:], []byte(key))
		if n < 0 {
			return 0
		}
		object := bytes.TrimRight(text[:at+n], " \t\r\n")
		if i := len(object) - 1; i > 0 && object[i] == '{' {
			if closing, ok := nesting(text[i:]); ok && closing == inSpans {
				return i
			}
		}
		at += n + len(key)
	}
}
