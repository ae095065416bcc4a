package requests_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
)

// Waiting in a queue counts for the spans on the request's path.
func TestWaitingCountsForSpansOnThePath(t *testing.T) {
	all := requests.AlikeOf(tracetest.AddTo(trace.New(),
		tracetest.SpanAt("POST", 1, 0, 0, 50), tracetest.OpAt("matmul", 9, 1, 5, 50),
		tracetest.SpanAt("POST", 1, 0, 10, 80).In(2), tracetest.SpanAt("queue", 2, 1, 12, 48).In(2),
		tracetest.OpAt("matmul", 9, 1, 60, 70).In(2), tracetest.SpanAt("encode", 3, 1, 72, 79).In(2)))
	want := []requests.Alike{{
		Name: "POST", Count: 2, DurationNS: 120, MedianNS: 50, P95NS: 70,
		QueuedNS: 36, QueuedIn: map[string]int64{"queue": 36},
		BeforeNS: 2, BeforeIn: map[string]int64{"POST": 2}, // until it came to the queue
		AfterIn: map[string]int64{"encode": 7},
	}}
	check.Equal(t, "", want, all)
}
