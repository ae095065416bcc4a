package otlp

import (
	"cmp"

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
