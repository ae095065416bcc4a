// Package convert turns span data into entries and ancestry records of package op.
package convert

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Converter turns finished spans into records, valid until its next call. It is not safe for concurrent use.
type Converter struct {
	mapping   *attr.Mapping
	builder   *attrmap.Builder
	resources map[*resource.Resource]*op.Resource
	span      op.Span
	attrs     []op.Attr // of span

	// Consecutive lists of integers, and their ends.
	numbers []int64
	ends    []int
	text    []byte // of another list
}

const maxCachedResources = 64

// New returns a Converter for the mapping m. It caches the texts of lists in at most textBytes.
func New(m *attr.Mapping, textBytes int) *Converter {
	c := &Converter{mapping: m, builder: attrmap.NewBuilder(m)}
	c.builder.LimitTexts(textBytes)
	return c
}

// Entry returns the entry of an operation's span, or false for any other span.
func (c *Converter) Entry(v *span.Data, r span.Root) (*op.Entry, bool) {
	b := c.builder
	b.Reset()
	for _, kv := range v.Attrs {
		c.attribute(string(kv.Key), kv.Value)
	}
	start, duration, ok := spanTime(v.Start, v.End)
	if !ok {
		b.Warn(op.WarnBadTime)
	}
	b.SetName(v.Name)
	b.SetIDs(v.TraceID(), v.SpanID(), v.ParentID())
	b.SetTime(start, duration)
	if v.Failed() {
		c.events(v)
		b.SetError(v.Status.Description)
	}
	b.SetResource(c.Resource(v.Resource))
	b.SetScope(v.Scope.Name)
	b.SetTraceState(v.Context.TraceState().String())
	b.SetDropped(int64(max(0, v.DroppedAttrs)))
	b.SetRoot(r.Name, r.ID)
	c.links(v)
	e, ok := b.Entry()
	if ok {
		e.Extra = opmodel.Dropped(opmodel.DroppedLinks(e.Extra)) // the encoders' caches know only these
	}
	return e, ok
}

// Ancestor returns the ancestry record of a span other than an operation.
func (c *Converter) Ancestor(v *span.Data) *op.Span {
	start, duration, _ := spanTime(v.Start, v.End)
	c.span = op.Span{
		Name: v.Name, TraceID: v.TraceID(), SpanID: v.SpanID(), ParentSpanID: v.ParentID(),
		RemoteParent: v.Parent.IsRemote(), Start: start, Duration: max(0, duration),
		Service: c.Resource(v.Resource).Service, Failed: v.Failed(),
	}
	c.span.Attrs = c.requestAttrs(v.Attrs)
	c.span.Extra = opmodel.Dropped(int64(v.DroppedLinks + max(0, len(v.Links)-op.MaxLinks)))
	c.builder.Reset()
	if len(v.Links) > 0 {
		c.links(v)
		c.span.Links = c.builder.Links()
	}
	if v.Failed() {
		c.events(v)
		c.span.Extra = opmodel.WithMessage(c.span.Extra, c.builder.ErrorText(v.Status.Description))
	}
	return &c.span
}

func (c *Converter) requestAttrs(attrs []attribute.KeyValue) []op.Attr {
	c.attrs = c.attrs[:0]
	var index opmodel.AttrIndex
	for _, kv := range attrs {
		if attrmap.KeepsOfRequest(c.mapping, string(kv.Key), kv.Value.Type() == attribute.EMPTY) {
			c.attrs = index.Set(c.attrs, opmodel.ValidAttr(attrOf(kv)))
		}
	}
	if len(c.attrs) == 0 {
		return nil
	}
	return c.attrs
}

func (c *Converter) events(v *span.Data) {
	for i := range v.Events {
		e := &v.Events[i]
		if !c.builder.WantsEvent(e.Name) {
			continue
		}
		attrs := make([]op.Attr, len(e.Attributes))
		for k, kv := range e.Attributes {
			attrs[k] = attrOf(kv)
		}
		c.builder.AddEvent(op.Event{Name: e.Name, Attrs: attrs})
	}
}

func (c *Converter) links(v *span.Data) {
	for i := range v.Links {
		l := &v.Links[i]
		link := op.Link{TraceID: op.TraceID(l.SpanContext.TraceID()), SpanID: op.SpanID(l.SpanContext.SpanID())}
		for _, kv := range l.Attributes {
			if kv.Value.Type() == attribute.INT64 {
				c.builder.Warn(opmodel.LinkInt(&link, string(kv.Key), kv.Value.AsInt64()))
			} else if opmodel.LinkWeight(&link, string(kv.Key)) != nil {
				c.builder.Warn(opmodel.LinkAttr(&link, attrOf(kv)))
			}
		}
		c.builder.AddLink(link)
	}
	c.builder.DropLinks(int64(v.DroppedLinks))
}

// spanTime returns the start of a span in Unix nanoseconds, and its duration, which may be negative. ok is false for a
// time that is unset or out of range; the duration is then 0.
func spanTime(startTime, endTime time.Time) (start op.Int, duration int64, ok bool) {
	start = unixNano(startTime)
	end := unixNano(endTime)
	if !start.Known || !end.Known {
		return start, 0, false
	}
	// Sub uses the monotonic clock if it can.
	return start, int64(endTime.Sub(startTime)), true
}

// unixNano returns t in Unix nanoseconds, unknown outside an int64, as for the zero Time.
func unixNano(t time.Time) op.Int {
	const first, last = math.MinInt64 / int64(time.Second), math.MaxInt64/int64(time.Second) - 1
	if s := t.Unix(); s < first || s > last { // cheaper than the year
		return op.Int{}
	}
	return op.Known(t.UnixNano())
}

// Resource returns the resource in the form of file headers. r may be nil.
func (c *Converter) Resource(r *resource.Resource) *op.Resource {
	if res, ok := c.resources[r]; ok {
		return res
	}
	if c.resources == nil || len(c.resources) >= maxCachedResources {
		c.resources = make(map[*resource.Resource]*op.Resource)
	}
	res := &op.Resource{}
	var index opmodel.AttrIndex
	for _, kv := range span.BoundResource(r).Attributes() {
		opmodel.SetResourceAttr(res, &index, attrOf(kv))
	}
	c.resources[r] = res
	return res
}

func (c *Converter) attribute(key string, v attribute.Value) {
	b := c.builder
	t := b.Target(key)
	switch v.Type() {
	case attribute.STRING:
		b.SetStr(t, v.AsString())
	case attribute.INT64:
		b.SetInt(t, v.AsInt64())
	case attribute.FLOAT64:
		b.SetFloat(t, v.AsFloat64())
	case attribute.BOOL:
		b.SetBool(t, v.AsBool())
	case attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BOOLSLICE, attribute.SLICE:
		switch {
		case !t.Wanted():
			b.SetOther(t)
		case v.Type() == attribute.INT64SLICE:
			b.SetInts(t, v.AsInt64Slice())
		case v.Type() == attribute.STRINGSLICE:
			b.SetStrs(t, v.AsStringSlice())
		case c.areIntLists(v):
			b.SetIntLists(t, c.numbers, c.ends)
		default:
			c.text = appendJSON(c.text[:0], v, 0)
			b.SetList(t, c.text)
		}
	default:
		if t.Kept() {
			b.SetAttr(attrOf(attribute.KeyValue{Key: attribute.Key(key), Value: v}))
		} else {
			b.SetOther(t)
		}
	}
}

const maxListDepth = 4

func attrOf(kv attribute.KeyValue) op.Attr {
	a := op.Attr{Key: string(kv.Key)}
	switch v := kv.Value; v.Type() {
	case attribute.STRING:
		a.Value = v.AsString()
	case attribute.INT64:
		a.Value = strconv.FormatInt(v.AsInt64(), 10)
		a.Type = op.AttrInt
	case attribute.FLOAT64:
		return opmodel.FloatAttr(a.Key, v.AsFloat64())
	case attribute.BOOL:
		a.Value = strconv.FormatBool(v.AsBool())
		a.Type = op.AttrBool
	case attribute.BYTESLICE:
		a.Value = base64.StdEncoding.EncodeToString(v.AsByteSlice())
		a.Type = op.AttrBytes
	default:
		a.Value = string(appendJSON(nil, v, 0))
		a.Type = op.AttrJSON
	}
	return a
}

// appendJSON appends a value as JSON in the form of op.AttrJSON. Values nested too deep become null.
func appendJSON(dst []byte, v attribute.Value, depth int) []byte {
	switch v.Type() {
	case attribute.STRING:
		return scalar.AppendString(dst, v.AsString())
	case attribute.INT64:
		return strconv.AppendInt(dst, v.AsInt64(), 10)
	case attribute.FLOAT64:
		return scalar.AppendDouble(dst, v.AsFloat64())
	case attribute.BOOL:
		return strconv.AppendBool(dst, v.AsBool())
	case attribute.BYTESLICE:
		return scalar.AppendBytes(dst, base64.StdEncoding.EncodeToString(v.AsByteSlice()))
	}
	if depth == maxListDepth {
		return append(dst, "null"...)
	}
	switch v.Type() {
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.SLICE:
		dst = append(dst, '[')
		start := len(dst)
		span.EachElement(v, func(e attribute.Value) {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, e, depth+1)
		})
		return append(dst, ']')
	case attribute.MAP:
		dst = append(dst, '{')
		for i, kv := range v.AsMap() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(scalar.AppendString(dst, string(kv.Key)), ':')
			dst = appendJSON(dst, kv.Value, depth+1)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// areIntLists reports whether v is a list of lists of integers, such as shapes, and collects their numbers.
func (c *Converter) areIntLists(v attribute.Value) bool {
	if v.Type() != attribute.SLICE {
		return false
	}
	c.numbers = c.numbers[:0]
	c.ends = c.ends[:0]
	for _, e := range v.AsSlice() {
		if e.Type() != attribute.INT64SLICE {
			return false
		}
		c.numbers = append(c.numbers, e.AsInt64Slice()...)
		c.ends = append(c.ends, len(c.numbers))
	}
	return true
}
