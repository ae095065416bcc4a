package jaeger

import (
	"strconv"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// span holds the fields that operations and other spans share.
type span struct {
	name       string
	trace      op.TraceID
	id, parent op.SpanID
	// start and duration are in nanoseconds; an unknown start is 0.
	start, duration int64
	failed          bool
	message         string
	links           []op.Link
	extra           *op.Extra // nil for none
}

// appendHead appends a span up to its first tag.
func (s *span) appendHead(dst []byte) []byte {
	dst = jsontext.AppendHex(append(dst, "\n"+`{"traceID":"`...), s.trace[:])
	dst = jsontext.AppendHex(append(dst, `","spanID":"`...), s.id[:])
	dst = jsontext.AppendString(append(dst, `","flags":1,"operationName":`...), s.name)
	dst = s.appendReferences(append(dst, `,"references":[`...))
	dst = strconv.AppendInt(append(dst, `],"startTime":`...), max(0, s.start)/1000, 10)
	dst = strconv.AppendInt(append(dst, `,"duration":`...), max(0, s.duration)/1000, 10)
	return append(dst, `,"tags":[`...)
}

// appendReferences appends the references to the parent and to the spans that are
// linked. The UI would follow a reference to the span itself for ever.
func (s *span) appendReferences(dst []byte) []byte {
	start := len(dst)
	refer := func(kind string, trace op.TraceID, id op.SpanID) {
		if trace == s.trace && id == s.id {
			return
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, `{"refType":"`...), kind...), `","traceID":"`...)
		dst = append(jsontext.AppendHex(dst, trace[:]), `","spanID":"`...)
		dst = append(jsontext.AppendHex(dst, id[:]), `"}`...)
	}
	if !s.parent.IsZero() {
		refer("CHILD_OF", s.trace, s.parent)
	}
	for i := range s.links {
		refer("FOLLOWS_FROM", s.links[i].TraceID, s.links[i].SpanID)
	}
	return dst
}

// appendStatus appends the tags of a span that failed, and of one that lost links.
func (s *span) appendStatus(l *tags) {
	if n := opmodel.DroppedLinks(s.extra); n > 0 {
		l.Int(tagDroppedLinks, n)
	}
	if !s.failed {
		return
	}
	l.True(tagError)
	l.Str(tagStatus, statusError)
	if s.message != "" {
		l.Str(tagDescription, s.message)
	}
}

// kindOf returns the kind of a span.
func kindOf(x *op.Extra) string {
	if x.Kind == "" {
		return kindInternal
	}
	return x.Kind
}

// appendOrigin appends the kind and the scope of a span, as far as they are known.
func appendOrigin(l *tags, kind string, s *op.Scope) {
	if kind != kindUnspecified {
		l.Str(tagKind, kind)
	}
	if s.Name != "" {
		l.Str(tagScope, s.Name)
	}
	if s.Version != "" {
		l.Str(tagVersion, s.Version)
	}
}

// appendLogs appends the events of a span up to the end of their list.
func (s *span) appendLogs(l *tags) {
	if s.extra == nil {
		return
	}
	for i := range s.extra.Events {
		if i > 0 {
			l.buf = append(l.buf, ',')
		}
		e := &s.extra.Events[i]
		l.buf = strconv.AppendInt(append(l.buf, `{"timestamp":`...), max(0, e.Time.V)/1000, 10)
		l.buf = append(l.buf, `,"fields":[`...)
		l.Str("event", e.Name)
		for j := range e.Attrs {
			l.attr(&e.Attrs[j])
		}
		l.buf = append(l.end(), "]}"...)
	}
}

// appendAttrs appends attributes as tags, without those that describe the span.
func appendAttrs(l *tags, attrs []op.Attr) {
	for i := range attrs {
		if !isReserved(attrs[i].Key) {
			l.attr(&attrs[i])
		}
	}
}

// appendEntry appends the tags of an operation except those of its failure.
func appendEntry(l *tags, e *op.Entry) {
	kind, scope := kindInternal, op.Scope{Name: e.Scope}
	if x := e.Extra; x != nil {
		kind, scope.Version = kindOf(x), x.Scope.Version
	}
	appendOrigin(l, kind, &scope)
	attrmap.Write(e, l)
	appendAttrs(l, e.Attrs)
	if e.AdjustedCount >= 1 {
		l.Str(tagTraceState, string(spanattr.AppendTraceState(nil, e.AdjustedCount)))
	}
	if e.DroppedAttributes > 0 {
		l.Int(tagDropped, e.DroppedAttributes)
	}
}
