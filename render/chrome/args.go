package chrome

import (
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// The arguments for what the convention has no attribute for. Package
// ingest/kineto reads them.
const (
	argTraceID           = "trace_id"
	argSpanID            = "span_id"
	argParentSpanID      = "parent_span_id"
	argScope             = "otel.scope.name"
	argParentRemote      = "optrace.parent_remote"
	argError             = "optrace.error"
	argTraceState        = "optrace.trace_state"
	argDroppedAttributes = "optrace.dropped_attributes"
	argLinks             = "optrace.links"
	argEmptyDevice       = "optrace.empty_device"
	// argStart is null where the start is not known: the event has one all the same.
	argStart = "optrace.start_unix_ns"

	argWeight = "weight" // of a link
)

// isReserved reports whether an argument has a meaning that an attribute of that
// name would change.
func isReserved(key string) bool {
	switch key {
	case argTraceID, argSpanID, argParentSpanID, argScope, op.KeyServiceName:
		return true
	}
	return strings.HasPrefix(key, "tensor.") || strings.HasPrefix(key, "optrace.")
}

// arguments are the members of an object, which viewers show of a selected event. It
// is a [op.AttrSink].
type arguments struct{ buf []byte }

// entry appends the arguments of an operation.
func (a *arguments) entry(e *op.Entry) {
	a.ids(e.TraceID, e.SpanID, e.ParentSpanID)
	own := *e
	own.Attrs = nil // which have no say in what the operation is
	own.WriteAttrs(a)
	a.known(op.KeyRank, e.Rank)
	a.text(op.KeyServiceName, e.Service)
	a.text(argScope, e.Scope)
	if e.Failed {
		a.Str(argError, e.Error)
	}
	if e.AdjustedCount >= 1 {
		a.Str(argTraceState, string(spanattr.AppendTraceState(nil, e.AdjustedCount)))
	}
	if e.DroppedAttributes > 0 {
		a.Int(argDroppedAttributes, e.DroppedAttributes)
	}
	a.flag(argEmptyDevice, e.EmptyDevice)
	a.start(e.Start)
	a.links(e.Links)
	for _, attr := range e.Attrs {
		switch {
		case attr.Key == op.KeyClockError && attr.Type == op.AttrInt:
			a.key(attr.Key)
			a.buf = attr.AppendJSONValue(a.buf)
		case !isReserved(attr.Key):
			a.Str(attr.Key, attr.Value)
		}
	}
}

// span appends the arguments of a span that is not an operation.
func (a *arguments) span(s *op.Span) {
	a.ids(s.TraceID, s.SpanID, s.ParentSpanID)
	a.flag(argParentRemote, s.RemoteParent)
	a.text(op.KeyServiceName, s.Service)
	if s.Failed {
		a.Str(argError, "")
	}
	a.start(s.Start)
	a.links(s.Links)
}

func (a *arguments) ids(trace op.TraceID, span, parent op.SpanID) {
	if !trace.IsZero() {
		a.Str(argTraceID, trace.String())
	}
	if !span.IsZero() {
		a.Str(argSpanID, span.String())
	}
	if !parent.IsZero() {
		a.Str(argParentSpanID, parent.String())
	}
}

func (a *arguments) start(start op.Int) {
	if !start.Known {
		a.key(argStart)
		a.buf = append(a.buf, "null"...)
	}
}

func (a *arguments) links(links []op.Link) {
	if len(links) == 0 {
		return
	}
	a.key(argLinks)
	a.list(len(links), func(i int) {
		var link arguments
		link.ids(links[i].TraceID, links[i].SpanID, op.SpanID{})
		link.known(argWeight, links[i].Weight)
		a.buf = append(append(append(a.buf, '{'), link.buf...), '}')
	})
}

// text appends a text unless it is empty.
func (a *arguments) text(key, value string) {
	if value != "" {
		a.Str(key, value)
	}
}

// flag appends true unless it is false.
func (a *arguments) flag(key string, is bool) {
	if is {
		a.key(key)
		a.buf = append(a.buf, "true"...)
	}
}

// known appends an integer if it is known.
func (a *arguments) known(key string, n op.Int) {
	if n.Known {
		a.Int(key, n.V)
	}
}

// Str appends a text.
func (a *arguments) Str(key, value string) {
	a.key(key)
	a.buf = jsontext.AppendString(a.buf, value)
}

// Int appends a number.
func (a *arguments) Int(key string, value int64) {
	a.key(key)
	a.buf = strconv.AppendInt(a.buf, value, 10)
}

// DTypes appends a list of element types.
func (a *arguments) DTypes(key string, list []op.DType) {
	a.key(key)
	a.list(len(list), func(i int) { a.buf = jsontext.AppendString(a.buf, string(list[i])) })
}

// Shape appends a list of dimensions.
func (a *arguments) Shape(key string, shape op.Shape) {
	a.key(key)
	a.dims(shape)
}

// Shapes appends a list of shapes, null for one that is not known.
func (a *arguments) Shapes(key string, list []op.Shape) {
	a.key(key)
	a.list(len(list), func(i int) {
		if list[i] == nil {
			a.buf = append(a.buf, "null"...)
			return
		}
		a.dims(list[i])
	})
}

func (a *arguments) dims(shape op.Shape) {
	a.list(len(shape), func(i int) { a.buf = strconv.AppendInt(a.buf, shape[i], 10) })
}

// list appends a list of n elements, each of which element appends.
func (a *arguments) list(n int, element func(i int)) {
	a.buf = append(a.buf, '[')
	for i := range n {
		if i > 0 {
			a.buf = append(a.buf, ',')
		}
		element(i)
	}
	a.buf = append(a.buf, ']')
}

func (a *arguments) key(key string) {
	if len(a.buf) > 0 {
		a.buf = append(a.buf, ',')
	}
	a.buf = append(jsontext.AppendString(a.buf, key), ':')
}
