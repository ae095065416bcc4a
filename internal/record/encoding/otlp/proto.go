package otlp

import (
	"encoding/binary"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op/attr"
)

// Proto is OTLP in protocol buffers: for each batch the length of a TracesData
// message, four bytes, big-endian, and the message.
var Proto encoding.Messages = protoFormat{}

type protoFormat struct{}

const frameLengthBytes = 4

func (protoFormat) Name() string { return "otlp-proto" }

func (protoFormat) NewEncoder(m *attr.Mapping, cacheBytes int) encoding.Encoder {
	return newEncoder(m, cacheBytes, new(protoCodec))
}

// Frame returns no bytes for a batch without spans: OTLP cannot express gaps.
func (protoFormat) Frame(b *encoding.Batch, f *encoding.Framing) (framed []byte, head int) {
	if b.Empty() {
		return nil, 0
	}
	out := append(f.Scratch, make([]byte, frameLengthBytes)...)
	if all := b.Groups.Resources(); len(all) == 1 && len(all[0].Scopes) == 1 { // by far the usual case
		r := &all[0]
		s := &all[0].Scopes[0]
		out = appendScopeHead(appendResourceHead(out, r), s)
		f.Tail = append(append(f.Tail[:0], s.Scope.Suffix...), r.Resource.Suffix...)
		framed, f.Scratch = b.Between(out, f.Tail)
	} else {
		for i := range all {
			r := &all[i]
			out = appendResourceHead(out, r)
			for j := range r.Scopes {
				s := &r.Scopes[j]
				out = s.AppendRecords(appendScopeHead(out, s), b.Records)
				out = append(out, s.Scope.Suffix...)
			}
			out = append(out, r.Resource.Suffix...)
		}
		framed = out
		f.Scratch = out
	}
	binary.BigEndian.PutUint32(framed, uint32(len(framed)-frameLengthBytes))
	return framed, 0
}

func appendResourceHead(dst []byte, r *encoding.ResourceGroup) []byte {
	size := len(r.Resource.Prefix) + len(r.Resource.Suffix)
	for i := range r.Scopes {
		n := scopeSize(&r.Scopes[i])
		size += 1 + protobuf.VarintSize(uint64(n)) + n
	}
	return append(protobuf.AppendHead(dst, protobuf.TracesResourceSpans, size), r.Resource.Prefix...)
}

func appendScopeHead(dst []byte, s *encoding.ScopeGroup) []byte {
	return append(protobuf.AppendHead(dst, protobuf.ResourceSpansScopeSpans, scopeSize(s)), s.Scope.Prefix...)
}

func scopeSize(s *encoding.ScopeGroup) int {
	return len(s.Scope.Prefix) + s.Bytes + len(s.Scope.Suffix)
}

// protoCodec encodes OTLP in protocol buffers, fields in the order of their numbers.
type protoCodec struct{ codecState }

func (c *protoCodec) resourceEnvelope(r *resource.Resource) (prefix, suffix []byte) {
	if r != nil {
		var start int
		prefix, start = protobuf.Begin(nil, protobuf.ResourceSpansResource, 1)
		prefix = c.attributes(prefix, protobuf.ResourceAttributes, r.Attributes(), 0)
		prefix = protobuf.End(prefix, start, 1)
	}
	return prefix, protobuf.AppendOptionalText(nil, protobuf.ResourceSpansSchemaURL, r.SchemaURL())
}

func (c *protoCodec) scopeEnvelope(s instrumentation.Scope) (prefix, suffix []byte) {
	if s != (instrumentation.Scope{}) {
		var start int
		prefix, start = protobuf.Begin(nil, protobuf.ScopeSpansScope, 1)
		prefix = protobuf.AppendOptionalText(prefix, protobuf.ScopeName, s.Name)
		prefix = protobuf.AppendOptionalText(prefix, protobuf.ScopeVersion, s.Version)
		prefix = c.attributes(prefix, protobuf.ScopeAttributes, s.Attributes.ToSlice(), 0)
		prefix = protobuf.End(prefix, start, 1)
	}
	return prefix, protobuf.AppendOptionalText(nil, protobuf.ScopeSpansSchemaURL, s.SchemaURL)
}
