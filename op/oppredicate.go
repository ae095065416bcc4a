package op

// Predicate decides by the keys of a span's attributes whether the span is an
// operation, as a [Builder] does, where no entry is needed. See it with every
// key until it is sure.
type Predicate struct {
	mapping *Mapping
	seen    predicate
}

// Predicate returns a Predicate for one span.
func (m *Mapping) Predicate() Predicate { return Predicate{mapping: m} }

// See takes the next key and reports whether the keys so far make the span an
// operation.
func (p *Predicate) See(key string) bool {
	if t := p.mapping.lookup(key); t.family != familyNone {
		p.seen.see(t)
	}
	return p.seen.isOperation()
}
