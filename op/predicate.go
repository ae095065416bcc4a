package op

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
