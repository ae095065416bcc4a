// Package otlp writes operations, and the spans above them, as OTLP spans: in JSON, a TracesData object per line, and
// in protocol buffers, a length before each message. The bytes equal those of OpenTelemetry's own exporters.
package otlp

import (
	"cmp"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/attrcache"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op/attr"
)

type encoder struct {
	mapping *attr.Mapping
	// codec is proto or json. The span method is called on the concrete type to keep the data on the stack.
	codec codec
	proto *protoCodec
	json  *jsonCodec

	scopes  scopeCache
	cache   attrcache.Cache[template] // of operations only
	scratch []byte
}

func newEncoder(m *attr.Mapping, cacheBytes int, c codec) *encoder {
	scopes := scopeCache{codec: c, maxBytes: max(minScopeBytes, cacheBytes/8)}
	e := &encoder{mapping: m, codec: c, scopes: scopes, cache: attrcache.New[template](cacheBytes / 8 * 7)}
	e.proto, _ = c.(*protoCodec)
	e.json, _ = c.(*jsonCodec)
	return e
}

// span appends v. cached is the encoding of its name and attributes, or nil.
func (c *encoder) span(dst []byte, v *span.Data, cached *template) []byte {
	if c.proto != nil {
		return c.proto.span(dst, v, cached)
	}
	return c.json.span(dst, v, cached)
}

// CacheHits returns the number of recent lookups that found an entry in the cache.
func (c *encoder) CacheHits() int { return c.cache.Hits() }

func (c *encoder) Add(b *encoding.Batch, e span.Ended, t *traces.WithOps) encoding.Outcome {
	d := e.Data
	if d == nil {
		read := span.ReadAll(e.Span, e.Context, e.Parent)
		read.Resource = cmp.Or(e.Resource, read.Resource)
		d = &read
	}
	key := attrcache.Key{Name: d.Name, Attrs: d.Attrs, Varying: attrcache.FindVarying(d.Attrs)}
	cached, worthAdding := c.cache.Lookup(&key) // holds operations only
	out := encoding.Entry
	switch {
	case cached != nil || span.IsOperation(c.mapping, d.Attrs):
		if !e.Alone { // a trace of one span needs no entry
			t.Add(d.TraceID())
		}
	case encoding.IsAncestor(&e, d, t):
		out = encoding.Ancestor
	default:
		return encoding.Skipped
	}
	encoding.AddLinked(b, t, d)
	if len(b.Records) == 0 {
		c.scopes.trim()
	}
	scope := c.scopes.get(d.Resource, d.Scope)
	start := len(b.Records)
	b.Records = c.span(b.Records, d, cached)
	// Few spans need cleaning, and the check is not cheap.
	if c.codec.sawFloats() || len(d.Links) > 0 || span.SameSpan(d.Context, d.Parent) {
		if clean := *d; clean.Clean() {
			d = &clean
			b.Records = c.span(b.Records[:start], d, nil)
		}
	} else if worthAdding && out == encoding.Entry {
		c.remember(&key)
	}
	if len(b.Records)-start > encoding.MaxRecordBytes {
		bounded := d.Bounded()
		b.Records = c.span(b.Records[:start], &bounded, nil)
		b.Shortened++
	}
	b.Groups.Add(scope, start, len(b.Records))
	if out == encoding.Entry {
		b.Entries++
	}
	return out
}

const maxTemplate = 2 << 10

func (c *encoder) remember(k *attrcache.Key) {
	// One string for all parts causes fewer cache misses.
	b := c.codec.nameField(c.scratch[:0], k.Name)
	var ends [5]int
	ends[0] = len(b)
	for i, attrs := range k.Fixed() {
		b = c.codec.spanAttributes(b, attrs)
		ends[i+1] = len(b)
	}
	c.scratch = b
	if len(b) > maxTemplate {
		return
	}
	text := string(b)
	c.cache.Add(k, template{
		name:    text[:ends[0]],
		fixed:   [4]string{text[ends[0]:ends[1]], text[ends[1]:ends[2]], text[ends[2]:ends[3]], text[ends[3]:]},
		varying: k.Varying,
	}, len(text))
}

type codec interface {
	// nameField appends the name of a span.
	nameField(dst []byte, name string) []byte
	// spanAttributes appends a part of a span's attributes.
	spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte
	// sawFloats reports whether floating-point numbers were encoded since its last call.
	sawFloats() bool
	// resourceEnvelope returns the bytes before and after the scopes of a resource.
	resourceEnvelope(r *resource.Resource) (prefix, suffix []byte)
	// scopeEnvelope returns the bytes before and after the spans of a scope.
	scopeEnvelope(s instrumentation.Scope) (prefix, suffix []byte)
}

type codecState struct {
	devices attrcache.Strings
	floats  bool // a floating-point number was encoded
}

func (c *codecState) sawFloats() bool {
	saw := c.floats
	c.floats = false
	return saw
}

// scopeCache encodes each resource and scope once. Equal attributes share an encoding.
type scopeCache struct {
	codec codec

	// The ones of the last span. They nearly always repeat.
	lastResource *resource.Resource
	lastScope    instrumentation.Scope
	last         *encoding.Scope

	resources map[attribute.Distinct]*encoding.Resource
	scopes    map[scopeKey]*encoding.Scope
	bytes     int // of both
	maxBytes  int
}

type scopeKey struct {
	resource *encoding.Resource
	scope    instrumentation.Scope
}

const (
	maxScopes     = 1024     // cached resources, and cached scopes
	minScopeBytes = 32 << 10 // enough for a usual program
	scopeBytes    = 400      // about the memory of a scope or resource beside its encoding
)

func (c *scopeCache) get(res *resource.Resource, scope instrumentation.Scope) *encoding.Scope {
	if c.last == nil || res != c.lastResource || scope != c.lastScope {
		c.last = c.lookup(res, scope)
		c.lastResource = res
		c.lastScope = scope
	}
	return c.last
}

// trim empties a cache beyond its bounds. Call it between batches: a batch refers to its scopes.
func (c *scopeCache) trim() {
	if len(c.resources) >= maxScopes || len(c.scopes) >= maxScopes || c.bytes > c.maxBytes {
		*c = scopeCache{codec: c.codec, maxBytes: c.maxBytes}
	}
}

func (c *scopeCache) lookup(res *resource.Resource, scope instrumentation.Scope) *encoding.Scope {
	if c.resources == nil {
		c.resources = make(map[attribute.Distinct]*encoding.Resource)
		c.scopes = make(map[scopeKey]*encoding.Scope)
	}
	id := res.Equivalent()
	r, ok := c.resources[id]
	if !ok {
		r = &encoding.Resource{}
		r.Prefix, r.Suffix = c.codec.resourceEnvelope(span.BoundResource(span.CleanResource(res)))
		c.resources[id] = r
		c.bytes += scopeBytes + 2*(len(r.Prefix)+len(r.Suffix)) // the resource itself is kept too
	}
	key := scopeKey{r, scope}
	sc, ok := c.scopes[key]
	if !ok {
		sc = &encoding.Scope{Resource: r}
		sc.Prefix, sc.Suffix = c.codec.scopeEnvelope(span.BoundScope(scope))
		c.scopes[key] = sc
		c.bytes += scopeBytes + 2*(len(sc.Prefix)+len(sc.Suffix))
	}
	return sc
}

type template struct {
	name    string
	fixed   [4]string
	varying attrcache.Varying
}

func (k *template) appendAttributes(
	dst []byte, attrs []attribute.KeyValue, codec codec, devices *attrcache.Strings,
) []byte {
	dst = append(dst, k.fixed[0]...)
	for i, at := range k.varying.Sorted(len(attrs)) {
		if at == len(attrs) {
			break
		}
		dst = append(k.appendVarying(dst, attrs, at, codec, devices), k.fixed[i+1]...)
	}
	return dst
}

func (k *template) appendVarying(
	dst []byte, attrs []attribute.KeyValue, at int, codec codec, devices *attrcache.Strings,
) []byte {
	if at != k.varying.Device {
		return codec.spanAttributes(dst, attrs[at:at+1])
	}
	device := attrs[at].Value.AsString()
	slot := devices.Slot(device)
	if slot == nil {
		return codec.spanAttributes(dst, attrs[at:at+1])
	}
	if slot.Text != device {
		slot.Text = device
		slot.Encoded = codec.spanAttributes(slot.Encoded[:0], attrs[at:at+1])
	}
	return append(dst, slot.Encoded...)
}

func kindNumber(k trace.SpanKind) uint64 {
	if k < trace.SpanKindInternal || k > trace.SpanKindConsumer {
		return 0
	}
	return uint64(k)
}

// statusNumber returns OTLP's number of a status code: Ok and Error change places.
func statusNumber(c codes.Code) uint64 {
	switch c {
	case codes.Ok:
		return 1
	case codes.Error:
		return 2
	}
	return 0
}

func unixNano(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func count32(n int) uint64 { return uint64(min(max(0, int64(n)), math.MaxUint32)) }

// flags returns the W3C flags with OTLP's two bits above them: the origin is known, and it is remote.
func flags(f trace.TraceFlags, from trace.SpanContext) uint32 {
	const known, remote = 0x100, 0x200
	n := uint32(f) | known
	if from.IsRemote() {
		n |= remote
	}
	return n
}
