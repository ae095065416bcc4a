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

// predicate decides whether a span with the keys that see was called for is
// an operation: it carries tensor.op.name, or a key of the torch family, or a
// bare name together with a shape.
type predicate struct {
	name, bareName, torch, shape bool
}

func (p *predicate) see(t target) {
	if t.torch || t.family == familyTorch {
		p.torch = true
	}
	switch {
	case t.field == FieldName && t.family == familyBare:
		p.bareName = true
	case t.field == FieldName:
		p.name = true
	}
	switch t.field {
	case FieldInputShapes, FieldOutputShape, fieldInputShapeAt:
		p.shape = true
	}
}

func (p *predicate) isOperation() bool { return p.name || p.torch || p.bareName && p.shape }
