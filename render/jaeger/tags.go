package jaeger

import (
	"bytes"
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// Tags for parts of a span that are not attributes.
const (
	tagError        = "error"
	tagStatus       = "otel.status_code"
	tagDescription  = "otel.status_description"
	tagScope        = "otel.scope.name"
	tagFormerScope  = "otel.library.name"
	tagVersion      = "otel.scope.version"
	tagKind         = "span.kind"
	tagTraceState   = "w3c.tracestate"
	tagDropped      = "otel.dropped_attributes_count"
	tagDroppedLinks = "otel.dropped_links_count"
)

// Values of these tags.
const (
	kindInternal    = "internal"
	kindServer      = "server"
	kindUnspecified = "unspecified"
	statusError     = "ERROR"
)

// maxExactInt is the largest integer that JavaScript distinguishes from its
// neighbours.
const maxExactInt = 1<<53 - 1

// isReserved reports whether a tag describes the span itself. An attribute of the
// same name is not written.
func isReserved(key string) bool {
	switch key {
	case tagError, tagStatus, tagDescription, tagScope, tagFormerScope, tagVersion, tagKind, tagTraceState, tagDropped, tagDroppedLinks:
		return true
	}
	return false
}

// tags appends tags to a text, each followed by a comma.
type tags struct {
	buf  []byte
	list []byte // the JSON text of the current list
}

var _ attrmap.Sink = (*tags)(nil)

// end returns the text without the comma after the last tag.
func (t *tags) end() []byte { return bytes.TrimSuffix(t.buf, []byte{','}) }

func (t *tags) Str(key, value string) {
	t.key(key, "string")
	t.buf = append(jsontext.AppendString(t.buf, value), '}', ',')
}

// Int writes a number, as a string if JavaScript could not hold it.
func (t *tags) Int(key string, value int64) {
	t.key(key, "int64")
	if value < -maxExactInt || value > maxExactInt {
		t.buf = append(strconv.AppendInt(append(t.buf, '"'), value, 10), `"},`...)
		return
	}
	t.buf = append(strconv.AppendInt(t.buf, value, 10), '}', ',')
}

// known writes a number if it is known.
func (t *tags) known(key string, n op.Int) {
	if n.Known {
		t.Int(key, n.V)
	}
}

// attr writes an attribute in its type; lists and maps are JSON text.
func (t *tags) attr(a *op.Attr) {
	switch a.Type {
	case op.AttrInt:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			t.Int(a.Key, n)
			return
		}
	case op.AttrFloat:
		if f, err := strconv.ParseFloat(a.Value, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			t.key(a.Key, "float64")
			t.buf = append(jsontext.AppendDouble(t.buf, f), '}', ',')
			return
		}
	case op.AttrBool:
		if a.Value == "true" || a.Value == "false" {
			t.key(a.Key, "bool")
			t.buf = append(append(t.buf, a.Value...), '}', ',')
			return
		}
	}
	t.Str(a.Key, a.Value)
}

// True writes a tag that is set.
func (t *tags) True(key string) {
	t.key(key, "bool")
	t.buf = append(t.buf, "true},"...)
}

func (t *tags) DTypes(key string, list []op.DType) {
	t.list = append(t.list[:0], '[')
	for i, d := range list {
		if i > 0 {
			t.list = append(t.list, ',')
		}
		t.list = jsontext.AppendString(t.list, string(d))
	}
	t.Str(key, string(append(t.list, ']')))
}

func (t *tags) Shape(key string, shape op.Shape) {
	t.list = shape.AppendJSON(t.list[:0])
	t.Str(key, string(t.list))
}

// Shapes writes null for a shape that could not be read.
func (t *tags) Shapes(key string, list []op.Shape) {
	t.list = op.AppendShapesJSON(t.list[:0], list)
	t.Str(key, string(t.list))
}

func (t *tags) key(key, kind string) {
	t.buf = jsontext.AppendString(append(t.buf, `{"key":`...), key)
	t.buf = append(append(append(t.buf, `,"type":"`...), kind...), `","value":`...)
}
