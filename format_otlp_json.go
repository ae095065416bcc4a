package optrace

import (
	"encoding/json"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/attrcache"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// otlpJSONFormat is OTLP in JSON: a TracesData object per batch and line.
type otlpJSONFormat struct{}

// otlpJSONStart is how every line starts.
const otlpJSONStart = `{"resourceSpans":[`

func (otlpJSONFormat) name() string { return FormatOTLPJSON.String() }

func (otlpJSONFormat) lines() bool { return true }

func (otlpJSONFormat) accepts(head []byte) bool {
	n := min(len(head), len(otlpJSONStart))
	return string(head[:n]) == otlpJSONStart[:n]
}

func (otlpJSONFormat) newEncoder(m *op.Mapping, memoBytes int) encoder {
	return newJSONEncoder(m, memoBytes)
}

// complete counts all entries or none: a batch is one object, which may lack
// its newline.
func (otlpJSONFormat) complete(b *batch, written []byte) int {
	if json.Valid(written) {
		return b.entries
	}
	return 0
}

// frame writes nothing for a batch without spans: there is no room for gaps in
// OTLP.
func (otlpJSONFormat) frame(b *batch, f *framing) (framed []byte, head int) {
	if b.empty() {
		return nil, 0
	}
	g := &b.otlp
	out := f.scratch
	if f.newline {
		out = append(out, '\n')
		head = 1
	}
	out = append(out, otlpJSONStart...)
	for r := range g.resources {
		res := &g.resources[r]
		out = append(out, res.resource.head...)
		for i := res.first; i >= 0; i = g.scopes[i].next {
			s := &g.scopes[i]
			out = append(out, s.scope.head...)
			out = closeList(g.appendRuns(out, s, b.records))
			out = append(out, s.scope.tail...)
		}
		out = append(closeList(out), res.resource.tail...)
	}
	f.scratch = append(closeList(out), '}', '\n')
	return f.scratch, head
}

// jsonCodec encodes OTLP in JSON. The elements of every list end with a comma,
// and closeList takes the last one away.
type jsonCodec struct {
	devices attrcache.Strings
	floats  bool // a floating-point number has been encoded, see sawFloats
}

func (c *jsonCodec) sawFloats() bool {
	saw := c.floats
	c.floats = false
	return saw
}

func (c *jsonCodec) aroundResource(r *resource.Resource) (head, tail []byte) {
	head = append(head, '{')
	if r != nil {
		head = append(head, `"resource":{`...)
		head = c.attributes(head, `"attributes":[`, r.Attributes(), 0)
		head = append(head, `},`...)
	}
	head = append(head, `"scopeSpans":[`...)
	return head, append(appendTextMember(nil, `,"schemaUrl":`, r.SchemaURL()), '}', ',')
}

func (c *jsonCodec) aroundScope(s instrumentation.Scope) (head, tail []byte) {
	head = append(head, '{')
	if s != (instrumentation.Scope{}) {
		head = append(head, `"scope":{"name":`...)
		head = jsontext.AppendString(head, s.Name)
		head = appendTextMember(head, `,"version":`, s.Version)
		head = c.attributes(head, `,"attributes":[`, s.Attributes.ToSlice(), 0)
		head = append(head, `},`...)
	}
	head = append(head, `"spans":[`...)
	return head, append(appendTextMember(nil, `,"schemaUrl":`, s.SchemaURL), '}', ',')
}
