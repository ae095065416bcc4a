package timeline

import (
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// The arguments for what the convention has no attribute for.
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
	argDroppedLinks      = "optrace.dropped_links"
	argEmptyDevice       = "optrace.empty_device"
	// argStart is null where the start is not known: the event has one all the same.
	argStart = "optrace.start_unix_ns"

	argWeight    = "weight" // of a link
	argAttention = "weight_attention"
)

// Arguments takes the arguments of an event in the encoding of a format.
type Arguments interface {
	attrmap.Sink
	// True takes a flag that is set.
	True(key string)
	// Null takes a value that is not known.
	Null(key string)
	// Objects takes a list of n objects, the members of each of which member passes on.
	Objects(key string, n int, member func(i int, to Arguments))
}

// WriteEntry passes on the arguments of an operation.
func WriteEntry(to Arguments, e *op.Entry) {
	writeIDs(to, e.TraceID, e.SpanID, e.ParentSpanID)
	own := *e
	own.Attrs = nil // which have no say in what the operation is
	attrmap.Write(&own, to)
	writeInt(to, attrkey.Rank, e.Rank)
	writeText(to, attrkey.ServiceName, e.Service)
	writeText(to, argScope, e.Scope)
	if e.Failed {
		to.Str(argError, e.Error)
	}
	if e.AdjustedCount >= 1 {
		to.Str(argTraceState, string(spanattr.AppendTraceState(nil, e.AdjustedCount)))
	}
	if e.DroppedAttributes > 0 {
		to.Int(argDroppedAttributes, e.DroppedAttributes)
	}
	writeFlag(to, argEmptyDevice, e.EmptyDevice)
	writeStart(to, e.Start)
	writeLinks(to, e.Links, e.Extra)
	for i := range e.Attrs {
		writeAttr(to, &e.Attrs[i])
	}
}

// WriteSpan passes on the arguments of a span that is not an operation.
func WriteSpan(to Arguments, s *op.Span) {
	writeIDs(to, s.TraceID, s.SpanID, s.ParentSpanID)
	writeFlag(to, argParentRemote, s.RemoteParent)
	writeText(to, attrkey.ServiceName, s.Service)
	if s.Failed {
		to.Str(argError, "")
	}
	writeStart(to, s.Start)
	writeLinks(to, s.Links, s.Extra)
}

func writeIDs(to Arguments, trace op.TraceID, span, parent op.SpanID) {
	if !trace.IsZero() {
		to.Str(argTraceID, trace.String())
	}
	if !span.IsZero() {
		to.Str(argSpanID, span.String())
	}
	if !parent.IsZero() {
		to.Str(argParentSpanID, parent.String())
	}
}

func writeStart(to Arguments, start op.Int) {
	if !start.Known {
		to.Null(argStart)
	}
}

func writeLinks(to Arguments, links []op.Link, x *op.Extra) {
	if n := opmodel.DroppedLinks(x); n > 0 {
		to.Int(argDroppedLinks, n)
	}
	if len(links) == 0 {
		return
	}
	to.Objects(argLinks, len(links), func(i int, to Arguments) {
		writeIDs(to, links[i].TraceID, links[i].SpanID, op.SpanID{})
		writeInt(to, argWeight, links[i].Weight)
		writeInt(to, argAttention, links[i].Attention)
	})
}

// writeAttr passes on a further attribute, as text.
func writeAttr(to Arguments, a *op.Attr) {
	switch a.Key {
	case attrkey.ClockError, attrkey.LaunchDuration, attrkey.AutogradSequence, attrkey.ForwardThread:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil && a.Type == op.AttrInt {
			to.Int(a.Key, n)
			return
		}
	case attrkey.LaunchCall, attrkey.ForwardName:
	default:
		if isReserved(a.Key) {
			return
		}
	}
	to.Str(a.Key, a.Value)
}

// isReserved reports whether an argument has a meaning that an attribute of that
// name would change.
func isReserved(key string) bool {
	switch key {
	case argTraceID, argSpanID, argParentSpanID, argScope, attrkey.ServiceName:
		return true
	}
	return strings.HasPrefix(key, "tensor.") || strings.HasPrefix(key, "optrace.")
}

// writeText passes on a text unless it is empty.
func writeText(to Arguments, key, value string) {
	if value != "" {
		to.Str(key, value)
	}
}

// writeFlag passes on a flag unless it is not set.
func writeFlag(to Arguments, key string, is bool) {
	if is {
		to.True(key)
	}
}

// writeInt passes on an integer if it is known.
func writeInt(to Arguments, key string, n op.Int) {
	if n.Known {
		to.Int(key, n.V)
	}
}
