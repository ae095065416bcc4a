package timeline

import (
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// Arguments without an attribute in the convention, if they are used more than once.
const (
	argTraceID      = "trace_id"
	argSpanID       = "span_id"
	argParentSpanID = "parent_span_id"
	argScope        = "otel.scope.name"
	argError        = "optrace.error"
)

// noStart is the argument of an event whose operation has no known start.
var noStart = op.Attr{Key: "optrace.start_unix_ns", Value: "null", Type: op.AttrJSON}

// EntryArguments returns the arguments of the event of an operation, each once.
func EntryArguments(e *op.Entry) []op.Attr {
	args := appendIDs(nil, e.TraceID, e.SpanID, e.ParentSpanID)
	own := *e
	own.Attrs = nil // they do not describe the operation
	args = append(args, attrmap.Attrs(&own)...)
	args = opmodel.AppendInt(args, attrkey.Rank, e.Rank)
	args = opmodel.AppendText(args, attrkey.ServiceName, e.Service)
	args = opmodel.AppendText(args, argScope, e.Scope)
	args = appendIf(args, e.Failed, op.Attr{Key: argError, Value: e.Error})
	args = opmodel.AppendText(args, "optrace.trace_state", spanattr.TraceState(e.AdjustedCount))
	args = spanattr.AppendCount(args, "optrace.dropped_attributes", e.DroppedAttributes)
	args = appendIf(args, e.EmptyDevice, op.Attr{Key: "optrace.empty_device", Value: "true", Type: op.AttrBool})
	args = appendIf(args, !e.Start.Known, noStart)
	args = appendLinks(args, e.Links, e.Extra)
	for i := range e.Attrs {
		args = appendAttr(args, &e.Attrs[i])
	}
	return args
}

// SpanArguments returns the arguments of the event of a span that is not an operation.
func SpanArguments(s *op.Span) []op.Attr {
	args := appendIDs(nil, s.TraceID, s.SpanID, s.ParentSpanID)
	args = appendIf(args, s.RemoteParent, op.Attr{Key: "optrace.parent_remote", Value: "true", Type: op.AttrBool})
	args = opmodel.AppendText(args, attrkey.ServiceName, s.Service)
	args = appendIf(args, s.Failed, op.Attr{Key: argError})
	args = appendIf(args, !s.Start.Known, noStart)
	return appendLinks(args, s.Links, s.Extra)
}

func appendIDs(args []op.Attr, trace op.TraceID, span, parent op.SpanID) []op.Attr {
	args = appendIf(args, !trace.IsZero(), op.Attr{Key: argTraceID, Value: trace.String()})
	args = appendIf(args, !span.IsZero(), op.Attr{Key: argSpanID, Value: span.String()})
	return appendIf(args, !parent.IsZero(), op.Attr{Key: argParentSpanID, Value: parent.String()})
}

func appendIf(args []op.Attr, is bool, a op.Attr) []op.Attr {
	if !is {
		return args
	}
	return append(args, a)
}

func appendLinks(args []op.Attr, links []op.Link, x *op.Extra) []op.Attr {
	args = spanattr.AppendCount(args, "optrace.dropped_links", opmodel.DroppedLinks(x))
	if len(links) == 0 {
		return args
	}
	text := []byte{'['}
	for i := range links {
		if i > 0 {
			text = append(text, ',')
		}
		one := appendIDs(nil, links[i].TraceID, links[i].SpanID, op.SpanID{})
		one = opmodel.AppendInt(one, "weight", links[i].Weight)
		one = opmodel.AppendInt(one, "weight_attention", links[i].Attention)
		text = AppendObject(text, one)
	}
	return append(args, op.Attr{Key: "optrace.links", Value: string(append(text, ']')), Type: op.AttrJSON})
}

// AppendObject appends arguments as a JSON object.
func AppendObject(dst []byte, args []op.Attr) []byte {
	dst = append(dst, '{')
	for i := range args {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(scalar.AppendString(dst, args[i].Key), ':')
		dst = args[i].AppendJSONValue(dst)
	}
	return append(dst, '}')
}

func appendAttr(args []op.Attr, a *op.Attr) []op.Attr {
	text := op.Attr{Key: a.Key, Value: a.Value}
	switch a.Key {
	case attrkey.ClockError, attrkey.LaunchDuration, attrkey.AutogradSequence, attrkey.ForwardThread, attrkey.Thread:
		if _, err := strconv.ParseInt(a.Value, 10, 64); err == nil && a.Type == op.AttrInt {
			return append(args, *a)
		}
	case attrkey.LaunchCall, attrkey.ForwardName:
	default:
		if isReserved(a.Key) {
			return args
		}
	}
	return append(args, text)
}

// isReserved reports whether an argument has a meaning and must not come from an attribute.
func isReserved(key string) bool {
	switch key {
	case argTraceID, argSpanID, argParentSpanID, argScope, attrkey.ServiceName:
		return true
	}
	return strings.HasPrefix(key, "tensor.") || strings.HasPrefix(key, "optrace.")
}
