package decode

import (
	"math"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// Field reads the value of the member called name into the entry, and reports whether there is such a member. Of equal
// names the last wins. A value of a wrong type is unknown, with a warning.
func (d *Decoder) Field(name []byte) bool {
	c := find(opfields.Entry, name, &d.next)
	if c == nil {
		return false
	}
	e := &d.Entry
	switch at := c.At.(type) {
	case func(*op.Entry) *op.Int:
		*at(e) = d.known(c.Signed, c.Bad())
		switch c.Name {
		case "output_elements":
			d.has |= hasElements
		case "memory_bytes":
			d.has |= hasMemory
		}
	case func(*op.Entry) *string:
		kind := d.Lex.Peek()
		*at(e) = d.text()
		switch c.Name {
		case "device_id":
			e.EmptyDevice = kind == '"' && e.DeviceID == ""
		case "error":
			e.Failed = kind != 'n'
		}
	case func(*op.Entry) *[]op.Shape:
		e.InputShapes = d.shapes()
	case func(*op.Entry) *op.Shape:
		var cut bool
		e.OutputShape, cut = d.shape()
		d.has.set(hasCutOutput, cut)
	case func(*op.Entry) *[]op.DType:
		e.InputDTypes = d.inputDTypes()
	case func(*op.Entry) *[]op.Attr:
		d.attrs = d.Attributes(d.attrs[:0])
		e.Attrs = d.attrs
	case func(*op.Entry) *[]op.Link:
		e.Links = d.decodeLinks()
	case func(*op.Entry) **op.Extra:
		e.Extra = d.decodeExtra()
	case func(*op.Entry) *op.Warning:
		e.Warn |= d.warnings()
	case func(*op.Entry) **op.Collective:
		e.Collective = d.collective()
	default:
		switch c.Name {
		case "duration_us":
			d.durationMicros()
		case "duration_ns":
			if n := d.Integer(op.WarnBadValue); n.Known {
				e.Duration = n.V
				d.has |= hasDurationNS | hasDuration
			}
		case "kind_rule":
			var ok bool
			e.KindRule, ok = op.ParseKindRule(d.text())
			d.has.set(hasRule, ok)
		default:
			read(d, c, e)
		}
	}
	return true
}

// find returns the field called name, or nil. It starts behind the field found before: most members come in order.
func find[T any](columns []opfields.Field[T], name []byte, next *int) *opfields.Field[T] {
	for range columns {
		if *next >= len(columns) {
			*next = 0
		}
		c := &columns[*next]
		if *next++; c.Name == string(name) {
			return c
		}
	}
	return nil
}

// read reads a value of a field into v: an integer, a text, a name, an id or a number.
func read[T any](d *Decoder, c *opfields.Field[T], v *T) {
	switch at := c.At.(type) {
	case func(*T) *op.Int:
		*at(v) = d.known(c.Signed, c.Bad())
	case func(*T) *string:
		*at(v) = d.text()
	case func(*T) opfields.Name:
		word := d.text()
		d.Entry.Warn |= at(v).SetName(word)
	case func(*T) []byte:
		d.id(at(v), c.Zero)
	case func(*T) *int64:
		*at(v) = d.amount(c.Bad()).V
	case func(*T) *float64:
		*at(v) = d.adjustedCount()
	}
}

// durationMicros reads duration_us. duration_ns takes precedence over it, in any order.
func (d *Decoder) durationMicros() {
	var ns int64
	var ok bool
	switch c := d.Lex.Peek(); {
	case '0' <= c && c <= '9' || c == '-':
		ns, ok = d.Lex.Micros()
	case c == '"':
		ns, ok = lexer.ParseMicros(d.Lex.Str())
	case d.Lex.Null():
		// the reference recorder's NaN
		d.Entry.Warn |= op.WarnNonFinite
		d.has |= hasDuration
		return
	default:
		d.Lex.Skip()
	}
	switch {
	case !ok:
		d.Wrong("duration_us is not a duration that fits 64 bits of nanoseconds")
	case d.has&hasDurationNS == 0:
		d.Entry.Duration = ns
	}
	d.has |= hasDuration
}

func (d *Decoder) inputDTypes() []op.DType {
	l := &d.Lex
	if !d.Is('[') {
		return nil
	}
	d.dtypes = d.dtypes[:0]
	for l.Array(); l.More(); {
		t, _ := op.ParseDType(d.text())
		if len(d.dtypes) == op.MaxInputs {
			d.Entry.Warn |= op.WarnShapeTruncated
			continue
		}
		d.dtypes = append(d.dtypes, t)
	}
	if d.dtypes == nil {
		d.dtypes = make([]op.DType, 0, 4)
	}
	return d.dtypes
}

func (d *Decoder) adjustedCount() float64 {
	text, ok := d.Number()
	if !ok {
		if !d.Lex.Null() {
			d.Lex.Skip()
			d.Entry.Warn |= op.WarnBadValue
		}
		return 0
	}
	f, ok := scalar.ParseFloat(text)
	if !ok || f < 1 {
		d.Entry.Warn |= op.WarnBadValue
		return 0
	}
	return f
}

func (d *Decoder) warnings() op.Warning {
	l := &d.Lex
	var all op.Warning
	if !d.Is('[') {
		return 0
	}
	for l.Array(); l.More(); {
		w, _ := op.ParseWarning(d.text()) // a newer version may have more
		all |= w
	}
	return all
}

func (d *Decoder) collective() *op.Collective {
	l := &d.Lex
	if !d.Is('{') {
		return nil
	}
	d.coll = op.Collective{}
	next := 0
	for l.Object(); l.More(); {
		if c := find(opfields.Collective, l.Key(), &next); c != nil {
			read(d, c, &d.coll)
		} else {
			l.Skip()
		}
	}
	return &d.coll
}

// shape reads a list of dimensions; null is unknown. cut reports more than MaxRank of them.
func (d *Decoder) shape() (s op.Shape, cut bool) {
	l := &d.Lex
	if !d.is('[', op.WarnBadShape) {
		return nil, false
	}
	start := len(d.dims)
	good := true
	for l.Array(); l.More(); {
		v := d.Integer(0)
		switch {
		case !v.Known || v.V < op.Dynamic:
			good = false
		case len(d.dims)-start == op.MaxRank:
			cut = true
		default:
			d.dims = append(d.dims, v.V)
		}
	}
	if !good {
		d.Entry.Warn |= op.WarnBadShape
		return nil, false
	}
	if cut {
		d.Entry.Warn |= op.WarnShapeTruncated
	}
	if d.dims == nil {
		d.dims = make([]int64, 0, 16)
	}
	// If dims grows later, this shape keeps its memory.
	return op.Shape(d.dims[start:len(d.dims):len(d.dims)]), cut
}

func (d *Decoder) shapes() []op.Shape {
	l := &d.Lex
	if !d.is('[', op.WarnBadShape) {
		return nil
	}
	d.inputs = d.inputs[:0]
	for l.Array(); l.More(); {
		s, _ := d.shape()
		if len(d.inputs) == op.MaxInputs {
			d.Entry.Warn |= op.WarnShapeTruncated
			continue
		}
		d.inputs = append(d.inputs, s)
	}
	if d.inputs == nil {
		d.inputs = make([]op.Shape, 0, 4)
	}
	return d.inputs
}

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
		return scalar.ValidUTF8(string(b))
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
		n, ok = scalar.ParseInt(d.Lex.Str())
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
		if ok = scalar.ParseID(to, text); len(text) == 0 {
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
