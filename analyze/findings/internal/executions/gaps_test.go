package executions_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
)

// A stage of a pipeline does not wait for its host while its requests are on another stage.
func TestStagesOfAPipelineHaveNoGapsWhileOthersWork(t *testing.T) {
	f := trace.New()
	const ms = 1_000_000
	tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, 160*ms).Of("stage0"))
	for i := range int64(16) {
		stage := "stage" + string('0'+rune(i%2))
		span := tracetest.SpanAt("step", 1, 0, 10*i*ms, 10*(i+1)*ms).In(byte(2+i)).Of(stage).To(1, 1)
		work := tracetest.OpAt("mlp", 2, 1, (10*i+i%2)*ms, 10*(i+1)*ms).In(byte(2 + i)).Of(stage).On(stage)
		tracetest.AddTo(f, span, work)
	}
	f.Build()
	g := executions.Between(f, executions.Spans(f), false)
	check.Equal(t, "between steps", 0, g.NS)
	g = executions.Between(f, executions.Spans(f), true)
	check.Equal(t, "between operations: the second stage begins late", 7*ms, g.NS)
}
