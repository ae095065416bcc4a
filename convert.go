package optrace

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/op"
)

// converter turns finished spans into entries and ancestry spans. It keeps
// caches and is used by one goroutine at a time; what it returns is valid until
// its next call.
type converter struct {
	mapping   *op.Mapping
	builder   *op.Builder
	resources map[*resource.Resource]*op.Resource
	kept      int // see keptBytes
	span      op.Span
}

const (
	// maxCachedResources bounds a cache, which starts anew when it is full.
	maxCachedResources = 64
	// maxKept is how many bytes the attributes of a span hold at most that is
	// remembered, and unknownBytes stands for those of a value not looked into.
	maxKept      = 8 << 10
	unknownBytes = maxKept + 1
)

func newConverter(m *op.Mapping) *converter {
	return &converter{mapping: m, builder: op.NewBuilder(m)}
}

// entry returns the entry of an operation's span, or false for any other span.
func (c *converter) entry(v *spanView, r root) (*op.Entry, bool) {
	b := c.builder
	b.Reset()
	c.kept = 0
	for _, kv := range v.attrs {
		c.attribute(string(kv.Key), kv.Value)
	}
	start, duration, ok := spanTime(v.start, v.end)
	if !ok {
		b.Warn(op.WarnBadTime)
	}
	b.SetName(v.name)
	b.SetIDs(v.traceID(), v.spanID(), v.parentID())
	b.SetTime(start, duration)
	if v.failed() {
		b.SetError(v.status.Description)
	}
	b.SetResource(c.resource(v.resource))
	b.SetScope(v.scope)
	b.SetTraceState(v.context.TraceState().String())
	b.SetDropped(int64(v.dropped))
	b.SetRoot(r.name, r.id)
	return b.Entry()
}

// ancestor returns the ancestry record of a span that is no operation.
func (c *converter) ancestor(v *spanView) *op.Span {
	start, duration, _ := spanTime(v.start, v.end)
	c.span = op.Span{
		Name:    v.name,
		TraceID: v.traceID(), SpanID: v.spanID(), ParentSpanID: v.parentID(),
		RemoteParent: v.parent.IsRemote(),
		Start:        start, Duration: max(0, duration),
		Service: c.resource(v.resource).Service,
		Failed:  v.failed(),
	}
	return &c.span
}

// spanTime returns when a span started, in Unix nanoseconds, and its duration,
// which is negative where it ended before it started. They are not ok where one
// of the times is not set or not in range; a duration that is not known is 0.
func spanTime(startTime, endTime time.Time) (start op.Int, duration int64, ok bool) {
	start, end := unixNano(startTime), unixNano(endTime)
	if !start.Known || !end.Known {
		return start, 0, false
	}
	// Not from the wall clock: Sub uses the monotonic one where it can.
	return start, int64(endTime.Sub(startTime)), true
}

// unixNano returns t in Unix nanoseconds; unknown where they do not fit an
// int64, which is so for the zero Time.
func unixNano(t time.Time) op.Int {
	const first, last = math.MinInt64 / int64(time.Second), math.MaxInt64/int64(time.Second) - 1
	if s := t.Unix(); s < first || s > last { // cheaper than the year
		return op.Int{}
	}
	return op.Known(t.UnixNano())
}

// resource returns what is needed of a resource, which may be nil.
func (c *converter) resource(r *resource.Resource) *op.Resource {
	if res, ok := c.resources[r]; ok {
		return res
	}
	if c.resources == nil || len(c.resources) >= maxCachedResources {
		c.resources = make(map[*resource.Resource]*op.Resource)
	}
	res := convertResource(r)
	c.resources[r] = res
	return res
}

func convertResource(r *resource.Resource) *op.Resource {
	res := &op.Resource{}
	for _, kv := range r.Attributes() {
		res.Set(string(kv.Key), kv.Value.String())
	}
	return res
}

// attribute hands one attribute to the builder.
func (c *converter) attribute(key string, v attribute.Value) {
	b := c.builder
	switch v.Type() {
	case attribute.STRING:
		s := v.AsString()
		c.kept += len(s)
		b.Str(key, s)
	case attribute.INT64:
		b.Int(key, v.AsInt64())
	case attribute.FLOAT64:
		b.Float(key, v.AsFloat64())
	case attribute.BOOL:
		b.Bool(key, v.AsBool())
	case attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BOOLSLICE, attribute.SLICE:
		if !b.Wants(key) {
			b.Other(key)
			c.kept += unknownBytes
			return
		}
		list := b.BeginList(key)
		c.kept += feedList(&list, v, 1)
		list.End()
	default:
		b.Other(key)
		c.kept += unknownBytes
	}
}

// keptBytes returns about how much memory the attributes hold that were converted
// last, and whether that is known and little enough to be remembered.
func (c *converter) keptBytes() (n int, ok bool) { return c.kept, c.kept <= maxKept }
