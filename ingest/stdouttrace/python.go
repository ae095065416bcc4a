package stdouttrace

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/optrace/optrace/internal/text/lexer"
)

// Python's ConsoleSpanExporter prints other keys, attributes as an object, ids behind 0x and times in microseconds.

// pythonKeys has the key of the other exporter for each key, or the key itself if the values differ.
var pythonKeys = map[string][]byte{
	"name": []byte("Name"), "context": []byte("context"), "kind": []byte("kind"), "parent_id": []byte("parent_id"),
	"start_time": []byte("StartTime"), "end_time": []byte("EndTime"), "status": []byte("Status"),
	"attributes": []byte("Attributes"), "events": []byte("Events"), "links": []byte("Links"),
	"resource": []byte("Resource"),
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

var pythonKinds = [...]string{"", "SpanKind.INTERNAL", "SpanKind.SERVER", "SpanKind.CLIENT", "SpanKind.PRODUCER",
	"SpanKind.CONSUMER"}

// pythonAttribute reads the next member of an object of attributes.
func (d *decoder) pythonAttribute(l *lexer.Lexer, a *attribute) *attribute {
	*a = attribute{Key: d.text(l.Key())}
	v := l.Raw()
	a.Value.Value = v
	if len(v) > 0 && v[0] <= '9' && v[0] != '"' && bytes.ContainsAny(v, ".eE") {
		a.Value.Type = kindFloat // 2.0 is no integer
	}
	return a
}

// resourceAttributes returns the attributes of a resource. Python prints them within an object, old versions alone.
func resourceAttributes(text []byte) []byte {
	var of struct{ Attributes json.RawMessage }
	if json.Unmarshal(text, &of) == nil && of.Attributes != nil {
		return of.Attributes
	}
	return text
}
