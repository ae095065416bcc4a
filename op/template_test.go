package op_test

import (
	"testing"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/optest"
)

// A Template of a span's attributes stands for them, in a Builder that held
// another span before.
func TestTemplateConformance(t *testing.T) {
	b, other := op.NewBuilder(nil), op.NewBuilder(nil)
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		other.Reset()
		for _, a := range c.Span.Attributes {
			feed(other, a)
		}
		template, ok := other.Template()
		if ok {
			other.Reset()
			other.Ints("tensor.output.shape", []int64{7, 7, 7}) // a template keeps nothing of the builder's
			b.SetTemplate(&template)
		} else {
			b.Reset()
			for _, a := range c.Span.Attributes {
				feed(b, a)
			}
		}
		set(t, b, c)
		return b.Entry()
	})
}
