package attrmap

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// KeepAll keeps in [op.Entry].Attrs every attribute that a writer could not restore from the entry's fields, in
// [op.Span].Attrs every attribute, and in Extra the rest of a span. Conversions use it; reading takes longer. From
// spans of the SDK it keeps attributes only.
func (m *Mapping) KeepAll() {
	m.all = true
	for _, t := range m.added {
		t.keep = true
	}
}

// KeepsOfRequest reports whether recorders keep an attribute of a span other than an operation. m may be nil.
func KeepsOfRequest(m *Mapping, key string, empty bool) bool {
	if m != nil && m.all {
		return true
	}
	return !empty && (m != nil && slices.Contains(m.kept, key) || slices.Contains(attrkey.OfRequests[:], key))
}

// Inherit adds kept attributes missing from an operation or span, from its scope or else its resource. s and r may be
// nil. The attribute service.name is the service.
func Inherit(m *Mapping, attrs []op.Attr, service string, s *op.Scope, r *op.Resource) []op.Attr {
	if m == nil {
		return attrs
	}
	for _, key := range m.kept {
		if opmodel.FindAttr(attrs, key) != nil {
			continue
		}
		if a := inherited(key, service, s, r); a != nil {
			attrs = append(attrs, *a)
		}
	}
	return attrs
}

// Kept returns the keys of [Mapping.Keep].
func Kept(m *Mapping) []string {
	if m == nil {
		return nil
	}
	return slices.Clone(m.kept)
}

func inherited(key, service string, s *op.Scope, r *op.Resource) *op.Attr {
	if s != nil {
		if a := opmodel.FindAttr(s.Attrs, key); a != nil {
			return a
		}
	}
	switch {
	case key == attrkey.ServiceName && service != "":
		return &op.Attr{Key: key, Value: service}
	case r == nil:
		return nil
	case key == attrkey.Rank && r.Rank.Known:
		return &op.Attr{Key: key, Value: strconv.FormatInt(r.Rank.V, 10), Type: op.AttrInt}
	case key == attrkey.WorldSize && r.WorldSize.Known:
		return &op.Attr{Key: key, Value: strconv.FormatInt(r.WorldSize.V, 10), Type: op.AttrInt}
	}
	return opmodel.FindAttr(r.Attrs, key)
}

// KeepsAll reports whether everything is kept. The caller then fills in [Builder.Extra].
func (b *Builder) KeepsAll() bool { return b.mapping != nil && b.mapping.all }

// Extra returns the rest of the span, for the caller to fill in between Reset and Entry under KeepsAll.
func (b *Builder) Extra() *op.Extra { return &b.extra }

// SetScopeOf is SetScope for a whole scope, which must not change until the entry is complete.
func (b *Builder) SetScopeOf(s *op.Scope) {
	b.SetScope(s.Name)
	b.scopeOf = s
}

// SetAttr adds an attribute of any type.
func (b *Builder) SetAttr(a op.Attr) {
	switch t := b.Target(a.Key); {
	case a.Type == op.AttrText:
		b.SetStr(t, a.Value)
	case a.Type == op.AttrInt:
		n, _ := strconv.ParseInt(a.Value, 10, 64)
		b.SetInt(t, n)
	case a.Type == op.AttrFloat:
		f, _ := strconv.ParseFloat(a.Value, 64)
		b.SetFloat(t, f)
	case a.Type == op.AttrBool:
		b.SetBool(t, a.Value == "true")
	case a.Type == op.AttrJSON && strings.HasPrefix(a.Value, "["):
		b.SetList(t, []byte(a.Value))
	default:
		b.SetRaw(t, a.Type, []byte(a.Value))
	}
}

// FillSpan sets the links, the error's text and the kept attributes of a span other than an operation, and under
// KeepsAll all attributes and the rest. They belong to the Builder.
func (b *Builder) FillSpan(s *op.Span) {
	s.Links = b.Links()
	s.Extra = opmodel.Dropped(b.extra.DroppedLinks)
	if len(b.attrs) > 0 {
		s.Attrs = b.attrs
	}
	if !b.KeepsAll() {
		if n := b.entry.Step; n.Known { // by its key or another one
			key := attrkey.Step
			if b.from[FieldStep] != familyTensor {
				key = attrkey.StepNumbers[0]
			}
			s.Attrs = append(s.Attrs, op.Attr{Key: key, Value: strconv.FormatInt(n.V, 10), Type: op.AttrInt})
		}
		s.Attrs = Inherit(b.mapping, s.Attrs, s.Service, b.scopeOf, b.resource)
		if s.Failed {
			s.Extra = opmodel.WithMessage(s.Extra, b.ErrorText(b.extra.Message))
		}
		return
	}
	if b.scopeOf != nil {
		b.extra.Scope = *b.scopeOf
	} else {
		b.extra.Scope.Name = b.entry.Scope
	}
	b.extra.DroppedAttributes = b.entry.DroppedAttributes
	if !b.extra.IsZero() {
		s.Extra = &b.extra
	}
}

func (b *Builder) keep(a op.Attr) { b.attrs = b.index.Set(b.attrs, a) }

// keepsOfOperation reports whether entries keep the attribute key. Other spans may keep more.
func (m *Mapping) keepsOfOperation(key string) bool {
	if t, ok := m.added[key]; ok {
		return t.keep
	}
	t := conventional.table.find(key)
	return t != nil && t.keep
}

func (b *Builder) finishAttrs() {
	e := &b.entry
	e.Extra = opmodel.Dropped(b.extra.DroppedLinks)
	if b.KeepsAll() {
		b.dropWritten()
		if s := b.scopeOf; s != nil {
			b.extra.Scope.Version = s.Version
			b.extra.Scope.Attrs = s.Attrs
		}
		b.extra.Scope.Name = ""
		if b.spanName != e.Operation {
			b.extra.Name = b.text(b.spanName)
		}
		if !b.extra.IsZero() {
			e.Extra = &b.extra
		}
	}
	if m := b.mapping; m != nil && m.spans != nil && !m.all {
		b.attrs = slices.DeleteFunc(b.attrs, func(a op.Attr) bool { return !m.keepsOfOperation(a.Key) })
	}
	if len(b.attrs) > 0 {
		e.Attrs = b.attrs
	}
	if b.mapping != nil && len(b.mapping.kept) > 0 {
		e.Attrs = Inherit(b.mapping, e.Attrs, e.Service, b.scopeOf, b.resource)
	}
}

// dropWritten drops the attributes that a writer restores unchanged. Files do not keep all rules of kinds.
func (b *Builder) dropWritten() {
	e := &b.entry
	kind := e.Kind
	if kind != op.KindCollective && e.KindRule != opmodel.UsualRule(kind) {
		e.Kind = op.KindUnknown
	}
	w := &b.written
	w.attrs = w.attrs[:0]
	w.texts = &b.listTexts
	w.write(e)
	e.Kind = kind
	if r := b.resource; r == nil || r.Rank != e.Rank {
		w.int(attrkey.Rank, e.Rank)
	}
	b.attrs = slices.DeleteFunc(b.attrs, func(a op.Attr) bool { return slices.Contains(w.attrs, a) })
}

// AddLink adds a link to the span. It drops invalid links and links beyond MaxLinks, with a warning.
func (b *Builder) AddLink(l op.Link) {
	if len(b.links) == op.MaxLinks && l.Valid() {
		b.extra.DroppedLinks++
	}
	b.links = opmodel.AppendLink(b.links, l, &b.entry.Warn)
}

// DropLinks adds n links dropped by the SDK's limits.
func (b *Builder) DropLinks(n int64) {
	if n > 0 {
		b.extra.DroppedLinks += min(n, math.MaxUint32) // OTLP's limit
		b.Warn(op.WarnDroppedLinks)
	}
}

// LinkAttr gives an attribute of any type to a link, and under KeepsAll to extra.
func (b *Builder) LinkAttr(l *op.Link, extra *op.LinkExtra, a op.Attr) {
	w := opmodel.LinkAttr(l, a)
	b.entry.Warn |= w
	if b.KeepsAll() && (opmodel.LinkWeight(l, a.Key) == nil || a.Type != op.AttrInt || w != 0) {
		extra.Attrs = b.further.Set(extra.Attrs, opmodel.ValidAttr(a))
	}
}

// AddLinkWith is AddLink with the rest of the link, under KeepsAll.
func (b *Builder) AddLinkWith(l op.Link, extra *op.LinkExtra) {
	if b.KeepsAll() && (len(extra.Attrs) > 0 || extra.Flags != 0 || extra.TraceState != "" ||
		extra.DroppedAttributes != 0) {
		own := *extra
		l.Extra = &own
	}
	b.AddLink(l)
}

// Take asks for n bytes for a value of the span, until the next Reset. It reports whether the reader may use them.
func (b *Builder) Take(n int) bool { return b.further.Held.Take(n) }

// EventAttr appends an attribute of an event of the span.
func (b *Builder) EventAttr(attrs []op.Attr, a op.Attr) []op.Attr { return b.further.Append(attrs, a) }

// Links returns the links added since Reset, valid until the next Reset. An entry has them already.
func (b *Builder) Links() []op.Link {
	if len(b.links) == 0 {
		return nil
	}
	return b.links
}
