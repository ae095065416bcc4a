package optrace

import (
	"encoding/binary"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/attrcache"
	"github.com/optrace/optrace/op"
)

// otlpProtoFormat is OTLP in protocol buffers: for each batch the length of a
// TracesData message, four bytes, big-endian, and the message.
type otlpProtoFormat struct{}

// The fields of OTLP's TracesData, ResourceSpans, Resource, ScopeSpans and
// InstrumentationScope.
const (
	tracesResourceSpans = 1

	resourceSpansResource   = 1
	resourceSpansScopeSpans = 2
	resourceSpansSchemaURL  = 3

	resourceAttributes = 1

	scopeSpansScope     = 1
	scopeSpansSpans     = 2
	scopeSpansSchemaURL = 3

	scopeName       = 1
	scopeVersion    = 2
	scopeAttributes = 3
)

// frameLengthBytes is the size of the length in front of a message.
const frameLengthBytes = 4

func (otlpProtoFormat) name() string { return FormatOTLPProto.String() }

func (otlpProtoFormat) lines() bool { return false }

// accepts looks for the first field of a message behind its length.
func (otlpProtoFormat) accepts(head []byte) bool {
	return len(head) <= frameLengthBytes || head[frameLengthBytes] == tracesResourceSpans<<3|wireBytes
}

func (otlpProtoFormat) newEncoder(m *op.Mapping, memoBytes int) encoder {
	return newProtoEncoder(m, memoBytes)
}

// complete is not asked: what was cut off is completed by the next write.
func (otlpProtoFormat) complete(*batch, []byte) int { return 0 }

// frame writes nothing for a batch without spans: there is no room for gaps in
// OTLP.
func (otlpProtoFormat) frame(b *batch, f *framing) (framed []byte, head int) {
	if b.empty() {
		return nil, 0
	}
	g := &b.otlp
	out := append(f.scratch, make([]byte, frameLengthBytes)...)
	if len(g.runs) == 1 { // all spans have one scope: by far the usual case
		r, s := &g.resources[0], &g.scopes[0]
		out = s.appendHead(r.appendHead(out, g))
		f.tail = append(append(f.tail[:0], s.scope.tail...), r.resource.tail...)
		framed, f.scratch = b.between(out, f.tail)
	} else {
		for r := range g.resources {
			res := &g.resources[r]
			out = res.appendHead(out, g)
			for i := res.first; i >= 0; i = g.scopes[i].next {
				s := &g.scopes[i]
				out = g.appendRuns(s.appendHead(out), s, b.records)
				out = append(out, s.scope.tail...)
			}
			out = append(out, res.resource.tail...)
		}
		framed, f.scratch = out, out
	}
	binary.BigEndian.PutUint32(framed, uint32(len(framed)-frameLengthBytes))
	return framed, 0
}

// appendHead appends the beginning of a ResourceSpans message.
func (r *otlpResourceRuns) appendHead(dst []byte, g *otlpRuns) []byte {
	size := len(r.resource.head) + len(r.resource.tail)
	for i := r.first; i >= 0; i = g.scopes[i].next {
		n := g.scopes[i].size()
		size += 1 + varintSize(uint64(n)) + n
	}
	return append(appendMessageHead(dst, tracesResourceSpans, size), r.resource.head...)
}

// appendHead appends the beginning of a ScopeSpans message.
func (s *otlpScopeRuns) appendHead(dst []byte) []byte {
	return append(appendMessageHead(dst, resourceSpansScopeSpans, s.size()), s.scope.head...)
}

// size returns the size of the ScopeSpans message.
func (s *otlpScopeRuns) size() int { return len(s.scope.head) + s.bytes + len(s.scope.tail) }

// protoCodec encodes OTLP in protocol buffers. Fields are in the order of
// their numbers, lengths and integers in their shortest form.
type protoCodec struct {
	devices attrcache.Strings
	floats  bool // a floating-point number has been encoded, see sawFloats
}

func (c *protoCodec) sawFloats() bool {
	saw := c.floats
	c.floats = false
	return saw
}

func (c *protoCodec) aroundResource(r *resource.Resource) (head, tail []byte) {
	if r != nil {
		var start int
		head, start = beginMessage(nil, resourceSpansResource, 1)
		head = c.set(head, resourceAttributes, r.Set())
		head = endMessage(head, start, 1)
	}
	return head, appendOptionalText(nil, resourceSpansSchemaURL, r.SchemaURL())
}

func (c *protoCodec) aroundScope(s instrumentation.Scope) (head, tail []byte) {
	if s != (instrumentation.Scope{}) {
		var start int
		head, start = beginMessage(nil, scopeSpansScope, 1)
		head = appendOptionalText(head, scopeName, s.Name)
		head = appendOptionalText(head, scopeVersion, s.Version)
		head = c.set(head, scopeAttributes, &s.Attributes)
		head = endMessage(head, start, 1)
	}
	return head, appendOptionalText(nil, scopeSpansSchemaURL, s.SchemaURL)
}

func (c *protoCodec) set(dst []byte, field int, set *attribute.Set) []byte {
	return c.attributes(dst, field, set.ToSlice(), 0)
}
