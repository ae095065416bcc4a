package executions_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
)

// A request of many steps stalls the others of an engine that runs each batch to its longest answer, but not where others join.
func TestARequestOfManyStepsIsLongWhereOthersWaitForIt(t *testing.T) {
	for name, joins := range map[string]bool{"batches to the longest answer": false, "others join": true} {
		f := trace.New()
		const requests, few, many = 20, 4, 40
		at := int64(0)
		step := byte(100)
		for i := range byte(requests) {
			n := few
			if i == 10 {
				n = many
			}
			for k := range n {
				x := tracetest.SpanAt("step", 1, 0, at, at+10).In(step).To(1+i, 1)
				if joins && k == n-1 && i+1 < requests {
					x = x.To(2+i, 1)
				}
				at += 10
				step++
				tracetest.AddTo(f, x)
			}
			tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, at).In(1+i))
		}
		f.Build()
		x := executions.LongOnes(f, false)
		want := 1
		if joins {
			want = 0
		}
		check.Equal(t, name, want, x.Long)
		if !joins {
			check.Equal(t, "steps", [2]string{"40 steps", "4 steps"}, [2]string{x.Amount(0), x.Amount(1)})
		}
	}
}
