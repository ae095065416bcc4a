package kineto

import (
	"bytes"
	"strings"

	"github.com/optrace/optrace/op"
)

// The arguments that place a span in a trace, as this project's own Chrome
// traces have them.
const (
	argTraceID  = "trace_id"
	argSpanID   = "span_id"
	argParentID = "parent_span_id"
)

// plainSpan yields a span of a plain Chrome trace, and reports whether more
// records are wanted. Its arguments are those of args and then those of more.
func (r *reader) plainSpan(name []byte, start, dur int64, args, more []byte) bool {
	base := r.timeBase()
	b := r.build
	b.Reset()
	for _, text := range [][]byte{args, more} {
		if text != nil {
			r.lex.Reset(text)
			r.feed.Object(&r.lex)
		}
	}
	spanName := r.names.String(name)
	b.SetName(spanName)
	b.SetTime(unixTime(base.V, start), dur)
	ids := r.readIDs(args, more)
	if ids != (spanIDs{}) {
		b.SetIDs(ids.trace, ids.span, ids.parent)
	}
	rec := op.Record{}
	if e, ok := b.Entry(); ok {
		rec.Entry = e
	} else if !ids.span.IsZero() {
		r.span = op.Span{
			Name: strings.ToValidUTF8(spanName, "\ufffd"), TraceID: ids.trace, SpanID: ids.span, ParentSpanID: ids.parent,
			Start: unixTime(base.V, start), Duration: max(0, dur),
		}
		rec.Span = &r.span
	} else {
		r.skipped.add(op.SkipNonOp, 1)
		return true
	}
	if !base.Known {
		r.baseless++
	}
	return r.yield(rec, nil)
}

type spanIDs struct {
	trace        op.TraceID
	span, parent op.SpanID
}

// readIDs looks for the ids of a span in its arguments.
func (r *reader) readIDs(texts ...[]byte) (ids spanIDs) {
	l := &r.lex
	for _, text := range texts {
		if !bytes.Contains(text, []byte(`_id"`)) {
			continue
		}
		l.Reset(text)
		for l.Object(); l.More(); {
			key := l.Key()
			if l.Peek() != '"' {
				l.Skip()
				continue
			}
			switch string(key) {
			case argTraceID:
				ids.trace, _ = op.ParseTraceID(l.Str())
			case argSpanID:
				ids.span, _ = op.ParseSpanID(l.Str())
			case argParentID:
				ids.parent, _ = op.ParseSpanID(l.Str())
			default:
				l.Str()
			}
		}
	}
	return ids
}
