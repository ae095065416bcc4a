package attrmap_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
)

// The Builder itself is the first adapter. A Predicate takes the same spans for operations.
func TestConformance(t *testing.T) {
	b := attrmap.NewBuilder(nil) // one for all, so that fields left over from a span would show
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		b.Reset()
		set(t, b, c)
		p, seen := attrmap.NewPredicate(nil), false
		for _, a := range c.Span.Attributes {
			seen = p.See(a.Key)
			feed(b, a)
		}
		e, ok := b.Entry()
		check.Equal(t, "the predicate: operation", ok, seen)
		return e, ok
	})
}

// set sets the fields of a span that are not attributes.
func set(t *testing.T, b *attrmap.Builder, c optest.Case) {
	s := c.Span
	b.SetName(s.Name)
	b.SetIDs(s.TraceID, s.SpanID, s.ParentSpanID)
	if s.Start == 0 {
		b.SetTime(op.Int{}, 0)
	} else {
		b.SetTime(op.Known(s.Start), s.End-s.Start)
	}
	if s.Failed {
		b.SetError(s.Error)
	}
	b.SetResource(resource(t, s.Resource))
	b.SetScope(s.Scope)
	b.SetTraceState(s.TraceState)
	b.SetDropped(int64(s.Dropped))
	for _, l := range s.Links {
		addLink(b, l)
	}
	b.DropLinks(int64(s.DroppedLinks))
}

func addLink(b *attrmap.Builder, l optest.Link) {
	link := op.Link{TraceID: l.TraceID, SpanID: l.SpanID}
	for _, a := range l.Attributes {
		attr := op.Attr{Key: a.Key, Type: op.AttrJSON}
		switch v := a.Value.(type) {
		case string:
			attr.Value, attr.Type = v, op.AttrText
		case int64:
			attr.Value, attr.Type = strconv.FormatInt(v, 10), op.AttrInt
		case float64:
			attr = opmodel.FloatAttr(a.Key, v)
		}
		b.LinkAttr(&link, nil, attr)
	}
	b.AddLink(link)
}

func resource(t *testing.T, attrs []optest.Attr) *op.Resource {
	if attrs == nil {
		return nil
	}
	r := &op.Resource{}
	for _, a := range attrs {
		switch v := a.Value.(type) {
		case string:
			opmodel.SetResourceAttr(r, new(opmodel.AttrIndex), op.Attr{Key: a.Key, Value: v})
		case int64:
			opmodel.SetResourceAttr(r, new(opmodel.AttrIndex), op.Attr{Key: a.Key, Value: op.Known(v).String()})
		default:
			t.Fatalf("resource attribute of type %T", v)
		}
	}
	return r
}

func feed(b *attrmap.Builder, a optest.Attr) {
	switch v := a.Value.(type) {
	case string:
		b.Str(a.Key, v)
	case int64:
		b.Int(a.Key, v)
	case float64:
		b.SetFloat(b.Target(a.Key), v)
	case bool:
		b.SetBool(b.Target(a.Key), v)
	default:
		list, ok := optest.Elements(v)
		if !ok {
			b.SetOther(b.Target(a.Key))
			return
		}
		b.SetList(b.Target(a.Key), appendList(nil, list))
	}
}

func appendList(dst []byte, list optest.List) []byte {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if inner, ok := optest.Elements(e); ok {
			dst = appendList(dst, inner)
		} else if f, ok := e.(float64); ok {
			dst = jsontext.AppendDouble(dst, f)
		} else {
			text, _ := json.Marshal(e)
			dst = append(dst, text...)
		}
	}
	return append(dst, ']')
}
