package chrome

import (
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// appendArgs appends the details that a viewer shows of a selected operation, as
// the members of an object.
func appendArgs(dst []byte, e *op.Entry) []byte {
	dst = appendIDs(dst, e.TraceID, e.SpanID, e.ParentSpanID)
	dst = appendInt(dst, "step", e.Step)
	dst = appendText(dst, "path", e.Path)
	for i, s := range e.InputShapes {
		if s != nil {
			dst = appendText(dst, "input "+strconv.Itoa(i), s.String())
		}
	}
	if e.OutputShape != nil {
		dst = appendText(dst, "output", e.OutputShape.String())
	}
	dst = appendText(dst, "dtype", string(e.DType))
	dst = appendInt(dst, "memory_bytes", e.MemoryBytes)
	dst = appendInt(dst, "flops", e.FLOPs)
	if c := e.Collective; c != nil {
		dst = appendText(dst, "collective", c.Name)
		dst = appendText(dst, "group", c.Group)
		dst = appendInt(dst, "sequence", c.Sequence)
	}
	dst = appendText(dst, "side", e.Side.String())
	dst = appendText(dst, "service", e.Service)
	if e.Failed {
		dst = appendText(dst, "error", failure(e))
	}
	return dst
}

func failure(e *op.Entry) string {
	if e.Error == "" {
		return "failed"
	}
	return e.Error
}

func appendIDs(dst []byte, trace op.TraceID, span, parent op.SpanID) []byte {
	if !trace.IsZero() {
		dst = appendText(dst, "trace_id", trace.String())
	}
	if !span.IsZero() {
		dst = appendText(dst, "span_id", span.String())
	}
	if !parent.IsZero() {
		dst = appendText(dst, "parent_span_id", parent.String())
	}
	return dst
}

func appendText(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return jsontext.AppendString(appendKey(dst, key), value)
}

func appendInt(dst []byte, key string, n op.Int) []byte {
	if !n.Known {
		return dst
	}
	return strconv.AppendInt(appendKey(dst, key), n.V, 10)
}

func appendKey(dst []byte, key string) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	return append(jsontext.AppendString(dst, key), ':')
}
