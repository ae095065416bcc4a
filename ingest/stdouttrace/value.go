package stdouttrace

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// attribute is a printed attribute:
//
//	{"Key":"tensor.step","Value":{"Type":"INT64","Value":7}}
type attribute struct {
	Key   string
	Value typed
}

type typed struct {
	Type  string
	Value json.RawMessage
}

// The printed types of values in use. The JSON of the value tells the others apart.
const (
	kindBytes  = "BYTESLICE"
	kindMap    = "MAP"
	kindFloat  = "FLOAT64"
	kindFloats = "FLOAT64SLICE"
	kindSlice  = "SLICE"
)

func (d *decoder) attr(a *attribute) op.Attr {
	key := a.Key
	value := a.Value.Value
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	switch c := value[0]; {
	case c == '"':
		d.value.Reset(value)
		text := op.Attr{Key: key, Value: d.text(d.value.Str())}
		if a.Value.Type == kindBytes {
			text.Type = op.AttrBytes
		}
		return text
	case c == 't' || c == 'f':
		return op.Attr{Key: key, Value: string(value), Type: op.AttrBool}
	case c == '-' || '0' <= c && c <= '9':
		if n, ok := scalar.ParseInt(value); ok && a.Value.Type != kindFloat {
			return op.Attr{Key: key, Value: strconv.FormatInt(n, 10), Type: op.AttrInt}
		} else if f, ok := scalar.ParseFloat(value); ok {
			return opmodel.FloatAttr(key, f)
		}
	}
	if !d.build.Take(readBytes * len(value)) {
		return op.Attr{Key: key, Value: "null", Type: op.AttrJSON}
	}
	return op.Attr{Key: key, Value: strings.ToValidUTF8(string(a.Value.appendJSON(nil, 0)), "\ufffd"),
		Type: op.AttrJSON}
}

const readBytes = 32 // the largest memory per byte of a list or map

const maxDepth = 16

// appendJSON appends a value as JSON, see op.AttrJSON. An unreadable value is null.
func (t *typed) appendJSON(dst []byte, depth int) []byte {
	var floats []float64
	var f float64
	var text string
	var list []typed
	var members []attribute
	read := func(to any) bool { return depth < maxDepth && json.Unmarshal(t.Value, to) == nil }
	switch {
	case t.Type == kindFloat && read(&f):
		return scalar.AppendDouble(dst, f)
	case t.Type == kindFloats && read(&floats):
		dst = append(dst, '[')
		for i, f := range floats {
			dst = scalar.AppendDouble(comma(dst, i), f)
		}
		return append(dst, ']')
	case t.Type == kindBytes && read(&text):
		return scalar.AppendBytes(dst, text)
	case t.Type == kindSlice && read(&list):
		dst = append(dst, '[')
		for i := range list {
			dst = list[i].appendJSON(comma(dst, i), depth+1)
		}
		return append(dst, ']')
	case t.Type == kindMap && read(&members):
		dst = append(dst, '{')
		for i := range members {
			dst = append(scalar.AppendString(comma(dst, i), members[i].Key), ':')
			dst = members[i].Value.appendJSON(dst, depth+1)
		}
		return append(dst, '}')
	}
	var compact bytes.Buffer
	if depth >= maxDepth || json.Compact(&compact, t.Value) != nil {
		return append(dst, "null"...)
	}
	return append(dst, compact.Bytes()...)
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// Python's ConsoleSpanExporter prints other keys, attributes as an object, ids behind 0x and times in microseconds.

// pythonKeys has the key of the other exporter for each key, or the key itself if the values differ.
var pythonKeys = map[string]string{
	"name": "Name", "start_time": "StartTime", "end_time": "EndTime", "status": "Status", "attributes": "Attributes",
	"events": "Events", "links": "Links", "resource": "Resource", "context": "context", "kind": "kind",
	"parent_id": "parent_id",
}

type pythonContext struct {
	TraceID    string `json:"trace_id"`
	SpanID     string `json:"span_id"`
	TraceState string `json:"trace_state"`
}

// pythonPair is a member of a trace state: "['{key=vendor, value=1}', …]".
var pythonPair = regexp.MustCompile(`\{key=([^,]*), value=([^,]*)\}['"]`)

func (c *pythonContext) context() spanContext {
	var state []string
	for _, pair := range pythonPair.FindAllStringSubmatch(c.TraceState, -1) {
		state = append(state, pair[1]+"="+pair[2])
	}
	return spanContext{TraceID: pythonID(c.TraceID), SpanID: pythonID(c.SpanID), TraceState: strings.Join(state, ",")}
}

func pythonID(text string) string { return strings.TrimPrefix(text, "0x") }

// pythonAttribute reads the next member of an object of attributes.
func (d *decoder) pythonAttribute(l *lexer.Lexer, a *attribute) *attribute {
	*a = attribute{Key: d.text(l.Key())}
	if a.Value.Value = l.Raw(); bytes.IndexAny(a.Value.Value, ".eE") > 0 && a.Value.Value[0] != '"' {
		a.Value.Type = kindFloat // 2.0 is no integer
	}
	return a
}
