package stdouttrace

import (
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// links reads the links of a span into the builder:
//
//	[{"SpanContext":{"TraceID":"…","SpanID":"…"},"Attributes":[…],"DroppedAttributeCount":0}]
func (d *decoder) links() {
	l := &d.lex
	if l.Peek() != '[' {
		l.Skip()
		return
	}
	for l.Array(); l.More(); {
		d.link()
	}
}

// link reads one link.
func (d *decoder) link() {
	var link op.Link
	l := &d.lex
	d.members(func(key []byte) bool {
		switch string(key) {
		case "SpanContext":
			d.members(func(key []byte) bool {
				switch string(key) {
				case "TraceID":
					link.TraceID, _ = op.ParseTraceID(d.bytes())
				case "SpanID":
					link.SpanID, _ = op.ParseSpanID(d.bytes())
				default:
					return false
				}
				return true
			})
		case "Attributes":
			if l.Peek() != '[' {
				return false
			}
			for l.Array(); l.More(); {
				d.build.Warn(d.setLink(&link, d.next()))
			}
		default:
			return false
		}
		return true
	})
	if l.Err() == nil {
		d.build.AddLink(link)
	}
}

// setLink gives an attribute to a link.
func (d *decoder) setLink(link *op.Link, a attribute) op.Warning {
	if len(a.value) == 0 {
		return 0
	}
	l := &d.value
	l.Reset(a.value)
	switch c := l.Peek(); {
	case c == '"' && a.kind != kindBytes:
		return link.Str(a.key, d.valid(l.Str()))
	case c == '-' || '0' <= c && c <= '9':
		number := l.Number()
		if n, ok := jsontext.ParseInt(number); ok {
			return link.Int(a.key, n)
		}
		if f, ok := jsontext.ParseFloat(number); ok {
			return link.Float(a.key, f)
		}
	}
	return link.Other(a.key)
}
