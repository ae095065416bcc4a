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
	lists     map[attribute.Value][]element
	span      op.Span
}

// The bounds of a converter's caches. A full cache starts anew.
const (
	maxCachedResources = 64
	maxCachedLists     = 8192
	// maxCachedElements is how many elements a list in the cache has at most:
	// the dimensions of a hundred matrices.
	maxCachedElements = 300
	// maxListDepth is how deep lists are looked into: shapes need two levels.
	maxListDepth = 4
)

func newConverter(m *op.Mapping) *converter {
	return &converter{mapping: m, builder: op.NewBuilder(m)}
}

// entry returns the entry of an operation's span, or false for any other span.
func (c *converter) entry(v *spanView, r root) (*op.Entry, bool) {
	b := c.builder
	b.Reset()
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
		b.Str(key, v.AsString())
	case attribute.INT64:
		b.Int(key, v.AsInt64())
	case attribute.FLOAT64:
		b.Float(key, v.AsFloat64())
	case attribute.BOOL:
		b.Bool(key, v.AsBool())
	case attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BOOLSLICE, attribute.SLICE:
		if !b.Wants(key) {
			b.Other(key)
			return
		}
		list := b.BeginList(key)
		feed(&list, c.list(v))
		list.End()
	default:
		b.Other(key)
	}
}

// element is an element of a list attribute.
type element struct {
	typ    attribute.Type
	number int64
	float  float64
	text   string
	list   []element
}

// list returns the elements of a list. There is no way to look into one
// without allocating, so the elements are kept by value: shapes repeat.
func (c *converter) list(v attribute.Value) []element {
	if l, ok := c.lists[v]; ok {
		return l
	}
	if c.lists == nil || len(c.lists) >= maxCachedLists {
		c.lists = make(map[attribute.Value][]element)
	}
	l := elements(v, 1)
	if count(l) <= maxCachedElements {
		c.lists[v] = l
	}
	return l
}

// keepable reports whether attributes, which have been converted, are small
// enough to be kept in memory.
func (c *converter) keepable(attrs []attribute.KeyValue) bool {
	text := 0
	for i := range attrs {
		switch v := &attrs[i].Value; v.Type() {
		case attribute.STRING:
			text += len(v.AsString())
		case attribute.BOOL, attribute.INT64, attribute.FLOAT64, attribute.EMPTY:
		default:
			// Of lists only those are known that make a difference and are short.
			if _, ok := c.lists[*v]; !ok {
				return false
			}
		}
	}
	return text <= maxCutLine
}

// count returns how many elements l and the lists in it have.
func count(l []element) int {
	n := len(l)
	for i := range l {
		n += count(l[i].list)
	}
	return n
}

func elements(v attribute.Value, depth int) []element {
	var out []element
	switch v.Type() {
	case attribute.INT64SLICE:
		for _, n := range v.AsInt64Slice() {
			out = append(out, element{typ: attribute.INT64, number: n})
		}
	case attribute.FLOAT64SLICE:
		for _, f := range v.AsFloat64Slice() {
			out = append(out, element{typ: attribute.FLOAT64, float: f})
		}
	case attribute.STRINGSLICE:
		for _, s := range v.AsStringSlice() {
			out = append(out, element{typ: attribute.STRING, text: s})
		}
	case attribute.BOOLSLICE:
		for range v.AsBoolSlice() {
			out = append(out, element{typ: attribute.BOOL})
		}
	case attribute.SLICE:
		for _, e := range v.AsSlice() {
			out = append(out, elementOf(e, depth))
		}
	}
	return out
}

func elementOf(v attribute.Value, depth int) element {
	e := element{typ: v.Type()}
	switch v.Type() {
	case attribute.INT64:
		e.number = v.AsInt64()
	case attribute.FLOAT64:
		e.float = v.AsFloat64()
	case attribute.STRING:
		e.text = v.AsString()
	case attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BOOLSLICE, attribute.SLICE:
		if depth >= maxListDepth {
			return element{typ: attribute.EMPTY}
		}
		e.typ, e.list = attribute.SLICE, elements(v, depth+1)
	}
	return e
}

// feed hands elements to the builder; elements bounds the depth.
func feed(l *op.List, elems []element) {
	for i := range elems {
		switch e := &elems[i]; e.typ {
		case attribute.INT64:
			l.Int(e.number)
		case attribute.FLOAT64:
			l.Float(e.float)
		case attribute.STRING:
			l.Str(e.text)
		case attribute.SLICE:
			l.Begin()
			feed(l, e.list)
			l.End()
		default:
			l.Other()
		}
	}
}
