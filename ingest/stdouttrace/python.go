package stdouttrace

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/optrace/optrace/internal/text/lexer"
)

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
