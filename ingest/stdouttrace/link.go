package stdouttrace

import (
	"strconv"

	"github.com/optrace/optrace/op"
)

// links reads the links of a span into the builder:
//
//	[{"SpanContext":{"TraceID":"…","SpanID":"…"},"Attributes":[…],"DroppedAttributeCount":0}]
func (d *decoder) links() {
	for more := d.lex.AnyArray(); more && d.lex.More(); {
		d.link()
	}
}

// link reads one link.
func (d *decoder) link() {
	var link op.Link
	var extra op.LinkExtra
	l := &d.lex
	d.members(func(key []byte) bool {
		switch string(key) {
		case "SpanContext":
			d.members(func(key []byte) bool {
				switch string(key) {
				case "TraceID":
					link.TraceID, _ = op.ParseTraceID(d.lex.AnyStr())
				case "SpanID":
					link.SpanID, _ = op.ParseSpanID(d.lex.AnyStr())
				case "TraceState":
					extra.TraceState = d.text()
				case "TraceFlags":
					extra.Flags |= d.flags()
				case "Remote":
					extra.Flags |= d.remote()
				default:
					return false
				}
				return true
			})
		case "Attributes":
			for _, a := range d.attrs() {
				d.build.LinkAttr(&link, &extra, a)
			}
		case "DroppedAttributeCount":
			extra.DroppedAttributes, _ = d.integer()
		default:
			return false
		}
		return true
	})
	if l.Err() == nil {
		d.build.AddLinkWith(link, &extra)
	}
}

// The bits of OTLP's flags that say that it is known whether a context is from another
// process, and that it is.
const (
	flagHasRemote = 1 << 8
	flagRemote    = 1 << 9
)

// flags reads W3C flags, which are two hexadecimal digits.
func (d *decoder) flags() uint32 {
	n, err := strconv.ParseUint(string(d.lex.AnyStr()), 16, 8)
	if err != nil {
		return 0
	}
	return uint32(n) | flagHasRemote
}

// remote reads whether a context is from another process.
func (d *decoder) remote() uint32 {
	if d.lex.Peek() == 't' && d.lex.Bool() {
		return flagRemote
	}
	if d.lex.Err() == nil && d.lex.Peek() == 'f' {
		d.lex.Bool()
	}
	return 0
}

// events gives the events of a span to the builder.
func (d *decoder) events() {
	l := &d.lex
	if !d.build.KeepsAll() {
		l.Skip()
		return
	}
	x := d.build.Extra()
	for more := l.AnyArray(); more && l.More(); {
		var e op.Event
		d.members(func(key []byte) bool {
			switch string(key) {
			case "Name":
				e.Name = d.text()
			case "Time":
				e.Time = d.time()
			case "Attributes":
				e.Attrs = d.attrs()
			case "DroppedAttributeCount":
				e.DroppedAttributes, _ = d.integer()
			default:
				return false
			}
			return true
		})
		x.Events = append(x.Events, e)
	}
}
