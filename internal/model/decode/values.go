package decode

import (
	"math"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Is reports whether the next value starts with opening. It skips any other value, with a warning unless it is null.
func (d *Decoder) Is(opening byte) bool { return d.is(opening, op.WarnBadValue) }

func (d *Decoder) is(opening byte, warning op.Warning) bool {
	l := &d.Lex
	if l.Peek() == opening {
		return true
	}
	if !l.Null() {
		d.Entry.Warn |= warning
		l.Skip()
	}
	return false
}

func (d *Decoder) text() string {
	if !d.Is('"') {
		return ""
	}
	return d.valid(d.Lex.Str())
}

func (d *Decoder) valid(b []byte) string {
	if s, ok := d.strings.Find(b); ok {
		return s // the table holds valid text only
	}
	if !utf8.Valid(b) {
		d.Entry.Warn |= op.WarnInvalidUTF8
		return lexer.ValidUTF8(string(b))
	}
	return d.strings.String(b)
}

// Number reads the text of a number, also in quotes. Any other value stays unread.
func (d *Decoder) Number() (text []byte, ok bool) {
	l := &d.Lex
	switch c := l.Peek(); {
	case c == '-' || '0' <= c && c <= '9':
		text = l.Number()
	case c == '"':
		text = l.Str()
	default:
		return nil, false
	}
	return text, l.Err() == nil
}

// Integer reads an integer, also in quotes. null is unknown; any other value is unknown with a warning.
func (d *Decoder) Integer(warning op.Warning) op.Int {
	n, ok := int64(0), false
	switch c := d.Lex.Peek(); {
	case c == '-' || '0' <= c && c <= '9':
		n, ok = d.Lex.Int()
	case c == '"':
		n, ok = lexer.ParseInt(d.Lex.Str())
	case d.Lex.Null():
		return op.Int{}
	default:
		d.Lex.Skip()
	}
	if !ok {
		d.Entry.Warn |= warning
		return op.Int{}
	}
	return op.Known(n)
}

func (d *Decoder) amount(warning op.Warning) op.Int { return d.known(false, warning) }

func (d *Decoder) known(signed bool, warning op.Warning) op.Int {
	n := d.Integer(warning)
	if n.V < 0 && !signed {
		d.Entry.Warn |= warning
		return op.Int{}
	}
	return n
}

// id reads an id of the length of to. Text that is not hexadecimal is unknown. Zero is a bad id unless none allows it.
func (d *Decoder) id(to []byte, none bool) {
	ok := d.Lex.QuotedHex(to)
	if !ok {
		clear(to)
		if !d.Is('"') {
			return
		}
		text := d.Lex.Str()
		if ok = lexer.ParseID(to, text); len(text) == 0 {
			return
		}
	}
	if !ok || !none && !slices.ContainsFunc(to, func(b byte) bool { return b != 0 }) {
		d.Entry.Warn |= op.WarnBadID
	}
}

// Attributes appends the members of an object.
func (d *Decoder) Attributes(dst []op.Attr) []op.Attr {
	l := &d.Lex
	if !d.Is('{') {
		return nil
	}
	for l.Object(); l.More(); {
		a := op.Attr{Key: d.valid(l.Key())}
		switch c := l.Peek(); {
		case c == '"':
			a.Value = d.valid(l.Str())
		case c == '-' || '0' <= c && c <= '9':
			opmodel.SetNumber(&a, l.Number())
		default:
			opmodel.SetRaw(&a, d.valid(l.Raw()))
		}
		dst = d.Index.Set(dst, a)
	}
	if len(dst) == 0 {
		return nil
	}
	return dst
}

var extraMembers = members[op.Extra]{
	"name":               func(d *Decoder, x *op.Extra) { x.Name = d.text() },
	"kind":               func(d *Decoder, x *op.Extra) { x.Kind = d.text() },
	"flags":              func(d *Decoder, x *op.Extra) { x.Flags = d.flags() },
	"trace_state":        func(d *Decoder, x *op.Extra) { x.TraceState = d.text() },
	"ok":                 func(d *Decoder, x *op.Extra) { x.OK = d.flag() },
	"message":            func(d *Decoder, x *op.Extra) { x.Message = d.text() },
	"scope":              func(d *Decoder, x *op.Extra) { x.Scope.Name = d.text() },
	"scope_version":      func(d *Decoder, x *op.Extra) { x.Scope.Version = d.text() },
	"scope_attrs":        func(d *Decoder, x *op.Extra) { x.Scope.Attrs = d.furtherAttrs() },
	"events":             func(d *Decoder, x *op.Extra) { x.Events = d.events() },
	"dropped_attributes": func(d *Decoder, x *op.Extra) { x.DroppedAttributes = d.amount(op.WarnBadValue).V },
	"dropped_events":     func(d *Decoder, x *op.Extra) { x.DroppedEvents = d.amount(op.WarnBadValue).V },
	"dropped_links":      func(d *Decoder, x *op.Extra) { x.DroppedLinks = d.amount(op.WarnBadValue).V },
}

func (d *Decoder) decodeExtra() *op.Extra {
	if !d.Is('{') {
		return nil
	}
	d.extra = op.Extra{}
	if extraMembers.read(d, &d.extra); d.extra.IsZero() {
		return nil
	}
	return &d.extra
}

func (d *Decoder) flags() uint32 {
	n := d.amount(op.WarnBadValue).V
	if n > math.MaxUint32 {
		d.Entry.Warn |= op.WarnBadValue
		return 0
	}
	return uint32(n)
}

var eventMembers = members[op.Event]{
	"name":               func(d *Decoder, e *op.Event) { e.Name = d.text() },
	"time_unix_ns":       func(d *Decoder, e *op.Event) { e.Time = d.Integer(op.WarnBadTime) },
	"attrs":              func(d *Decoder, e *op.Event) { e.Attrs = d.furtherAttrs() },
	"dropped_attributes": func(d *Decoder, e *op.Event) { e.DroppedAttributes = d.amount(op.WarnBadValue).V },
}

func (d *Decoder) events() []op.Event {
	d.eventList = d.eventList[:0]
	d.objects(func() {
		const size = 3 * int(unsafe.Sizeof(op.Event{})) // as the list grows
		if !d.Index.Held.Take(size) {
			d.Lex.Skip()
			return
		}
		d.eventList = append(d.eventList, op.Event{})
		eventMembers.read(d, &d.eventList[len(d.eventList)-1])
	})
	if len(d.eventList) == 0 {
		return nil
	}
	return d.eventList
}

func (d *Decoder) objects(read func()) {
	if !d.Is('[') {
		return
	}
	for d.Lex.Array(); d.Lex.More(); {
		if d.Is('{') {
			read()
		}
	}
}

func (d *Decoder) furtherAttrs() []op.Attr {
	n := len(d.moreAttrs)
	attrs := d.Attributes(d.moreAttrs[n:])
	if attrs == nil {
		return nil
	}
	d.moreAttrs = append(d.moreAttrs[:n], attrs...)
	// If moreAttrs grows later, this slice keeps its memory.
	return d.moreAttrs[n:len(d.moreAttrs):len(d.moreAttrs)]
}

var linkMembers = members[op.Link]{
	"trace_id":           func(d *Decoder, l *op.Link) { d.id(l.TraceID[:], false) },
	"span_id":            func(d *Decoder, l *op.Link) { d.id(l.SpanID[:], false) },
	"weight":             func(d *Decoder, l *op.Link) { l.Weight = d.amount(op.WarnBadValue) },
	"weight_attention":   func(d *Decoder, l *op.Link) { l.Attention = d.amount(op.WarnBadValue) },
	"attrs":              func(d *Decoder, l *op.Link) { d.more(l).Attrs = d.furtherAttrs() },
	"flags":              func(d *Decoder, l *op.Link) { d.more(l).Flags = d.flags() },
	"trace_state":        func(d *Decoder, l *op.Link) { d.more(l).TraceState = d.text() },
	"dropped_attributes": func(d *Decoder, l *op.Link) { d.more(l).DroppedAttributes = d.amount(op.WarnBadValue).V },
}

func (d *Decoder) decodeLinks() []op.Link {
	d.links = d.links[:0]
	d.objects(func() {
		d.link = op.Link{}
		linkMembers.read(d, &d.link)
		d.links = opmodel.AppendLink(d.links, d.link, &d.Entry.Warn)
	})
	if len(d.links) == 0 {
		return nil
	}
	return d.links
}

func (d *Decoder) more(l *op.Link) *op.LinkExtra {
	if l.Extra == nil {
		d.linkExtras = append(d.linkExtras, op.LinkExtra{})
		l.Extra = &d.linkExtras[len(d.linkExtras)-1]
	}
	return l.Extra
}
