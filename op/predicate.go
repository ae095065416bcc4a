package op

// Predicate decides by the keys of a span's attributes whether the span is an
// operation, as a [Builder] does, where no entry is needed. See it with every
// key until it is sure.
type Predicate struct {
	mapping *Mapping
	seen    signs
}

// Predicate returns a Predicate for one span.
func (m *Mapping) Predicate() Predicate { return Predicate{mapping: m} }

// See takes the next key and reports whether the keys so far make the span an
// operation.
func (p *Predicate) See(key string) bool {
	p.seen |= p.mapping.lookup(key).says
	return p.seen.isOperation()
}

// signs is a set of what the keys of a span say about its being an operation.
type signs uint8

const (
	signName     signs = 1 << iota // tensor.op.name, or an alias of it
	signTorch                      // a key of torch.profiler
	signBareName                   // op or operation, which may mean anything
	signShape                      // a shape
)

// signsOf returns what a key of a field and family says.
func signsOf(field Field, family family) signs {
	var s signs
	switch {
	case family == familyTorch:
		s |= signTorch
	case field == FieldName && family == familyBare:
		s |= signBareName
	case field == FieldName:
		s |= signName
	}
	switch field {
	case FieldInputShapes, FieldOutputShape, fieldInputShapeAt:
		s |= signShape
	}
	return s
}

// isOperation decides whether a span is an operation: it carries
// tensor.op.name, or a key of the torch family, or a bare name together with a
// shape.
func (s signs) isOperation() bool {
	return s&(signName|signTorch) != 0 || s&signBareName != 0 && s&signShape != 0
}
