package otlp

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/record/attrcache"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/span"
)

// codec is one of the two encodings of OTLP, except for its span method.
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
