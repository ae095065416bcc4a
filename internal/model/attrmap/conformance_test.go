package attrmap_test

import (
	"testing"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
)

// Package convert hands a Builder the SDK's spans. A Predicate takes the same ones for operations.
func TestConformance(t *testing.T) {
	conv := convert.New(nil, 1<<20) // one for all: fields left over from a span would show
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		stub := spantest.Case(t, c.Span)
		d := span.Read(stub.Snapshot(), stub.SpanContext, stub.Parent)
		e, ok := conv.Entry(&d, span.Root{})
		p := attrmap.NewPredicate(nil)
		seen := false
		for _, a := range c.Span.Attributes {
			seen = p.See(a.Key)
		}
		check.Equal(t, "the predicate: operation", ok, seen)
		return e, ok
	})
}
