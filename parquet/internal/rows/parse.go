package rows

import (
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// The functions below tell what the texts of columns mean, and a warning where
// they mean nothing.

// ParseKind reads a kind.
func ParseKind(name string) (op.Kind, op.Warning) {
	k, ok := op.ParseKind(name)
	return k, warnUnless(ok || name == "", op.WarnBadValue)
}

// KindRule is a rule, and whether the text names one.
type KindRule struct {
	Rule  op.KindRule
	Known bool
}

// ParseKindRule reads how a kind was found.
func ParseKindRule(name string) (KindRule, op.Warning) {
	for rule := op.RuleAttribute; rule <= op.RuleDefault; rule++ {
		if rule.String() == name {
			return KindRule{rule, true}, 0
		}
	}
	return KindRule{}, 0
}

// ParseDType reads the element type of an output.
func ParseDType(name string) (op.DType, op.Warning) {
	t, ok := op.ParseDType(name)
	return t, warnUnless(ok || name == "", op.WarnUnknownDType)
}

// ParseInputDType reads that of an input, which brings no warning.
func ParseInputDType(name string) (op.DType, op.Warning) {
	t, _ := op.ParseDType(name)
	return t, 0
}

// ParseSide reads the side of a launch.
func ParseSide(name string) (op.Side, op.Warning) {
	if name == op.SideHost.String() {
		return op.SideHost, 0
	}
	return op.SideNone, warnUnless(name == "", op.WarnBadValue)
}

// ParseWarning reads a warning, 0 for a name that is unknown: a newer version may know
// more of them.
func ParseWarning(name string) (op.Warning, op.Warning) {
	w, _ := op.ParseWarning(name)
	return 0, w
}

func warnUnless(ok bool, warning op.Warning) op.Warning {
	if ok {
		return 0
	}
	return warning
}

// ShapeText is a shape that is kept as text.
type ShapeText struct {
	Shape op.Shape
	Cut   bool
}

// ParseShape reads a shape.
func ParseShape(name string) (s ShapeText, warning op.Warning) {
	shape, ok := attr.ParseShape(name)
	switch {
	case !ok:
		return ShapeText{}, op.WarnBadShape
	case len(shape) > op.MaxRank:
		return ShapeText{shape[:op.MaxRank], true}, op.WarnShapeTruncated
	}
	return ShapeText{shape, false}, 0
}
