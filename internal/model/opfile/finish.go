package opfile

import (
	"math"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Given is what of the fields of an entry its source states, of those that follow from others.
type Given struct{ Rule, Elements, Memory bool }

// Finish derives fields of an entry of a file from others, where the file does not give them, and
// makes what cannot be true unknown, with a warning. kinds is the reader's.
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
