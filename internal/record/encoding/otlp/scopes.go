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
	// spanAttributes appends attributes of a span as they stand among others.
	spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte
	// sawFloats reports whether floating-point numbers have been encoded since its last call.
	sawFloats() bool
	// resourceEnvelope returns the bytes before and after the scopes of a resource.
	resourceEnvelope(r *resource.Resource) (prefix, suffix []byte)
	// scopeEnvelope returns the bytes before and after the spans of a scope.
	scopeEnvelope(s instrumentation.Scope) (prefix, suffix []byte)
}

// codecState is what both encodings keep.
type codecState struct {
	devices attrcache.Strings
	floats  bool // a floating-point number has been encoded
}

func (c *codecState) sawFloats() bool {
	saw := c.floats
	c.floats = false
	return saw
}

// scopeCache encodes each resource and scope once. Those with equal attributes are one.
type scopeCache struct {
	codec codec

	// Those of the last span, which nearly always come again.
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
	maxScopes     = 1024     // resources, or scopes, that are cached
	minScopeBytes = 32 << 10 // enough for those that programs have
	scopeBytes    = 400      // about what a scope or resource takes beside its encoding
)

func (c *scopeCache) get(res *resource.Resource, scope instrumentation.Scope) *encoding.Scope {
	if c.last == nil || res != c.lastResource || scope != c.lastScope {
		c.last = c.lookup(res, scope)
		c.lastResource = res
		c.lastScope = scope
	}
	return c.last
}

// trim empties the cache if it is beyond its bounds. Between batches, that is: in a batch
// each resource and scope appears once, and what it holds of them cannot be freed.
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
