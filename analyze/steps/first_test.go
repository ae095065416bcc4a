package steps_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// A first step begins with the first event of its host. The time before its first operation is extra as far as it
// exceeds the least of other steps.
func TestAFirstStepBeginsWithItsHost(t *testing.T) {
	forest := trace.New()
	add := func(step, launch, start int64) {
		forest.Add(op.Record{Entry: &op.Entry{
			Operation: "matmul", DeviceID: "cuda:0", Step: op.Known(step), Start: op.Known(start), Duration: 5,
			Launch: op.Known(launch),
		}})
		forest.Add(op.Record{Entry: &op.Entry{
			Operation: "relu", DeviceID: "cuda:0", Step: op.Known(step), Start: op.Known(start + 5), Duration: 2,
			Launch: op.Known(launch + 1),
		}})
	}
	forest.Add(op.Record{Entry: &op.Entry{
		Operation: "compile", Side: op.SideHost, Step: op.Known(int64(0)), Start: op.Known(int64(0)), Duration: 60,
	}})
	add(0, 90, 100)
	for i := range int64(5) {
		add(i+1, 107+10*i, 110+10*i)
	}
	first := steps.FirstOf(steps.Rows(forest))
	if first == nil {
		t.Fatal("no first step")
	}
	check.Equal(t, "extra", int64(97), first.ExtraNS)
	check.Equal(t, "start", int64(3), first.StartNS)
	check.Equal(t, "to next", int64(107), first.ToNextNS.V)
	check.Equal(t, "end", int64(110), first.EndNS)
}
