package optrace

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// otlpResource is what surrounds the spans of one resource: head comes before
// their scopes and tail behind.
type otlpResource struct{ head, tail []byte }

// otlpScope is what surrounds the spans of one instrumentation scope of one
// resource.
type otlpScope struct {
	resource   *otlpResource
	head, tail []byte
}

// otlpSources encodes resources and scopes once and tells them apart: by their
// attributes, as OpenTelemetry's exporters do. It is used by one goroutine at
// a time.
type otlpSources struct {
	codec otlpCodec

	// The last span's come again nearly always.
	lastResource *resource.Resource
	lastScope    instrumentation.Scope
	last         *otlpScope

	resources map[attribute.Distinct]*otlpResource
	scopes    map[otlpScopeKey]*otlpScope
}

type otlpScopeKey struct {
	resource *otlpResource
	scope    instrumentation.Scope
}

// maxSources bounds the resources and scopes remembered. When there are more,
// all are forgotten, and one may appear twice in a batch.
const maxSources = 1024

// of returns the scope of spans of a resource.
func (c *otlpSources) of(res *resource.Resource, scope instrumentation.Scope) *otlpScope {
	if c.last == nil || res != c.lastResource || scope != c.lastScope {
		c.last = c.lookup(res, scope)
		c.lastResource, c.lastScope = res, scope
	}
	return c.last
}

func (c *otlpSources) lookup(res *resource.Resource, scope instrumentation.Scope) *otlpScope {
	if c.resources == nil || len(c.resources) >= maxSources || len(c.scopes) >= maxSources {
		c.resources = make(map[attribute.Distinct]*otlpResource)
		c.scopes = make(map[otlpScopeKey]*otlpScope)
	}
	id := res.Equivalent()
	r, ok := c.resources[id]
	if !ok {
		r = &otlpResource{}
		r.head, r.tail = c.codec.aroundResource(safeResource(res))
		c.resources[id] = r
	}
	key := otlpScopeKey{r, scope}
	sc, ok := c.scopes[key]
	if !ok {
		sc = &otlpScope{resource: r}
		sc.head, sc.tail = c.codec.aroundScope(scope)
		c.scopes[key] = sc
	}
	return sc
}
