package requests_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
)

// stepping returns twelve requests of 100 each, 20 apart. Each comes to an engine after some time, and joins the next of
// its steps of 4.
func stepping(comes int64) []tracetest.Spec {
	var specs []tracetest.Spec
	for i := range int64(12) {
		specs = append(specs, tracetest.SpanAt("POST", 1, 0, 20*i, 20*i+100).In(byte(1+i)))
	}
	for at := int64(0); at < 320; at += 4 {
		step := tracetest.SpanAt("step", uint64(1+at), 0, at, at+4).In(50)
		for i := range int64(12) {
			if 20*i+comes <= at && at+4 <= 20*i+100 {
				step = step.To(byte(1+i), 1)
			}
		}
		if step.Links != nil {
			specs = append(specs, step, tracetest.OpAt("matmul", uint64(2+at), uint64(1+at), at, at+4).In(50).On("cuda:0"))
		}
	}
	return specs
}

// A request has not come to an engine yet while steps with room begin without it.
func TestARequestIsNotInAQueueBeforeItComesToTheEngine(t *testing.T) {
	a := requests.AlikeOf(tracetest.AddTo(trace.New(), stepping(34)...))[0]
	check.Equal(t, "queued, before", []int64{11 * 4, 11 * 32}, []int64{a.QueuedNS, a.BeforeNS})
}

// A device that serves one request after the other has a queue.
func TestOneRequestAfterTheOther(t *testing.T) {
	for name, c := range map[string]struct{ gap, want int64 }{"right behind": {0, 8 * 10 * 9 / 2}, "later": {30, 0}} {
		var specs []tracetest.Spec
		for i := range int64(10) {
			at := 20*i + c.gap
			specs = append(specs, tracetest.SpanAt("POST", 1, 0, 12*i, at+20).In(byte(1+i)),
				tracetest.OpAt("matmul", 2, 1, at+c.gap/3, at+20).In(byte(1+i)).On("cuda:0"))
		}
		check.Equal(t, name, c.want, requests.AlikeOf(tracetest.AddTo(trace.New(), specs...))[0].QueuedNS)
	}
}
