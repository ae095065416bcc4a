package op

// Template is what the attributes of a span make of an operation. Programs run
// the same operations again and again: a reader that meets attributes it has
// seen before takes the Template made of them, which costs a copy, where taking
// them apart costs half of the time that a span takes.
//
// A Template is immutable and may be used by several Builders of the same
// Mapping.
type Template struct {
	entry       Entry
	isOperation bool
	ranked      bool // an attribute gave the rank
}

// Template returns what the attributes added since Reset say. Call it before
// any of the Set methods. It is not ok where the entry depends on more than the
// attributes: that of an operation whose name is the span's.
func (b *Builder) Template() (t Template, ok bool) {
	if !b.seen.isOperation() {
		return Template{}, true
	}
	if b.entry.Operation == "" {
		return Template{}, false
	}
	saved := b.entry
	e, _ := b.Entry()
	e.cloneTo(&t.entry)
	t.isOperation, t.ranked = true, b.from[FieldRank] != familyNone
	b.entry = saved
	return t, true
}

// SetTemplate stands for Reset and the attributes that t was made of. No other
// attributes may be added.
func (b *Builder) SetTemplate(t *Template) {
	b.template = t
	b.entry = t.entry
}
