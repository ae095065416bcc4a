package opfile

import (
	"math"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Given tells the derived fields that a source states.
type Given struct{ Rule, Elements, Memory bool }

// Finish derives the unstated fields of an entry, and makes impossible values unknown, with a warning.
func Finish(e *op.Entry, given Given, kinds *opmodel.KindCache) {
	if e.Duration < 0 {
		e.Duration = 0
		e.Warn |= op.WarnNegativeDuration
	}
	if e.Start.V > math.MaxInt64-e.Duration {
		e.Start = op.Int{}
		e.Warn |= op.WarnBadTime
	}
	if e.TraceID.IsZero() && !(e.SpanID.IsZero() && e.ParentSpanID.IsZero()) {
		e.Warn |= op.WarnBadID
	}
	switch {
	case e.Kind == op.KindUnknown && e.Collective != nil:
		e.Kind = op.KindCollective
		e.KindRule = op.RuleAttribute
	case e.Kind == op.KindUnknown:
		e.Kind, e.KindRule = kinds.Infer(e.Operation)
	case !given.Rule:
		e.KindRule = opmodel.UsualRule(e.Kind)
	}
	if !given.Elements {
		n, w := e.OutputShape.Elements()
		e.OutputElements = n
		e.Warn |= w
	}
	if !given.Memory {
		opmodel.SetDerivedMemory(e)
	}
}
