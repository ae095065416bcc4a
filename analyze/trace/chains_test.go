package trace_test

import (
	"runtime"
	"testing"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/op"
)

// linkedSteps returns n spans of the given length, one per trace and 10 ns apart, with links to other spans.
func linkedSteps(n int, length int64, to func(i int) []int) *trace.Forest {
	f := trace.New()
	for i := range n {
		s := op.Span{Name: "step", TraceID: traceID(i), SpanID: op.SpanID{7: 1}, Start: op.Known(int64(10 * i)),
			Duration: length}
		for _, j := range to(i) {
			if 0 <= j && j < n {
				s.Links = append(s.Links, op.Link{TraceID: traceID(j), SpanID: s.SpanID})
			}
		}
		f.AddSpan(&s)
	}
	return f
}

func traceID(i int) op.TraceID {
	return op.TraceID{12: byte(i >> 16), 13: byte(i >> 8), 14: byte(i), 15: 1}
}

// Memory for joining executions grows linearly with the links, in any pattern.
func TestLinksTakeLinearMemory(t *testing.T) {
	cases.NotUnderRace(t, "measures memory")
	const n = 4000
	for name, chain := range map[string]struct {
		n      int
		length int64
		to     func(i int) []int
	}{
		"back":        {n, 9, func(i int) []int { return []int{i - 1} }},
		"forward":     {n, 9, func(i int) []int { return []int{i + 1} }},
		"ring":        {n, 9, func(i int) []int { return []int{(i + 1) % n} }},
		"to two":      {n, 9, func(i int) []int { return []int{i - 1, i - 2} }},
		"overlapping": {n, 10 * n, func(i int) []int { return []int{i - 1} }},
		"of requests": {n, 10 * n, func(i int) []int { return []int{i - 1, (i - n/2) / 2} }},
	} {
		bytes := func(n int) uint64 {
			f := linkedSteps(n, chain.length, chain.to)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f.Build()
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if half, whole := bytes(2*n), bytes(4*n); float64(whole) > 2.6*float64(half) {
			t.Errorf("%s: %d steps take %d bytes, %d take %d", name, 2*n, half, 4*n, whole)
		}
	}
}
