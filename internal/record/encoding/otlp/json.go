package otlp

import (
	"encoding/json"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op/attr"
)

// JSON is OTLP in JSON: a TracesData object per batch and line.
var JSON encoding.Lines = jsonFormat{}

type jsonFormat struct{}

const jsonStart = `{"resourceSpans":[`

func (jsonFormat) Name() string { return "otlp-json" }

func (jsonFormat) Recognize(head []byte) encoding.Origin {
	return encoding.RecognizeLines(head, jsonStart)
}

func (jsonFormat) NewEncoder(m *attr.Mapping, cacheBytes int) encoding.Encoder {
	return newEncoder(m, cacheBytes, new(jsonCodec))
}

// Complete checks for the whole object of the batch, which may lack its newline.
func (jsonFormat) Complete(b *encoding.Batch, written []byte) int {
	if json.Valid(written) {
		return b.Entries
	}
	return -1
}

// Frame returns no bytes for a batch without spans: OTLP cannot express gaps.
func (jsonFormat) Frame(b *encoding.Batch, f *encoding.Framing) (framed []byte, head int) {
	if b.Empty() {
		return nil, 0
	}
	out := f.Scratch
	if f.Newline {
		out = append(out, '\n')
		head = 1
	}
	out = append(out, jsonStart...)
	for _, r := range b.Groups.Resources() {
		out = append(out, r.Resource.Prefix...)
		for _, s := range r.Scopes {
			out = append(out, s.Scope.Prefix...)
			out = closeList(s.AppendRecords(out, b.Records))
			out = append(out, s.Scope.Suffix...)
		}
		out = append(closeList(out), r.Resource.Suffix...)
	}
	f.Scratch = append(closeList(out), '}', '\n')
	return f.Scratch, head
}

// jsonCodec encodes OTLP in JSON. The elements of every list end with a comma, and closeList removes the last one.
type jsonCodec struct{ codecState }

func (c *jsonCodec) resourceEnvelope(r *resource.Resource) (prefix, suffix []byte) {
	prefix = append(prefix, '{')
	if r != nil {
		prefix = append(prefix, `"resource":{`...)
		prefix = c.attributes(prefix, `"attributes":[`, r.Attributes(), 0)
		prefix = append(prefix, `},`...)
	}
	prefix = append(prefix, `"scopeSpans":[`...)
	return prefix, append(appendTextMember(nil, `,"schemaUrl":`, r.SchemaURL()), '}', ',')
}

func (c *jsonCodec) scopeEnvelope(s instrumentation.Scope) (prefix, suffix []byte) {
	prefix = append(prefix, '{')
	if s != (instrumentation.Scope{}) {
		prefix = append(prefix, `"scope":{"name":`...)
		prefix = lexer.AppendString(prefix, s.Name)
		prefix = appendTextMember(prefix, `,"version":`, s.Version)
		prefix = c.attributes(prefix, `,"attributes":[`, s.Attributes.ToSlice(), 0)
		prefix = append(prefix, `},`...)
	}
	prefix = append(prefix, `"spans":[`...)
	return prefix, append(appendTextMember(nil, `,"schemaUrl":`, s.SchemaURL), '}', ',')
}
