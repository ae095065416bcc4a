package trace_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

func BenchmarkForest(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("add/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tracetest.AddRequests(trace.New(), n)
			}
			perEntry(b, n)
		})
		b.Run(fmt.Sprintf("build/%d", n), func(b *testing.B) {
			forest := trace.New()
			tracetest.AddRequests(forest, n)
			b.ReportAllocs()
			for b.Loop() {
				forest.Shift(make([]int64, forest.Len()))
				forest.Build()
			}
			perEntry(b, n)
		})
		forest := trace.New()
		tracetest.AddRequests(forest, n)
		forest.Build()
		for _, analysis := range []struct {
			name string
			run  func()
		}{
			{"self", func() { timeline.OperationSelfTimes(forest) }},
			{"timelines", func() { timeline.Timelines(forest) }},
			{"idle", func() { timeline.Idle(forest, 10) }},
			{"concurrency", func() { timeline.Concurrency(forest) }},
			{"memory", func() { timeline.MemoryOf(forest, 100) }},
			{"steps", func() { steps.Rows(forest) }},
			{"critical", func() { path.Summarize(forest) }},
			{"requests", func() { requests.Find(forest) }},
			{"collapsed", func() { _ = stacks.WriteForest(forest, io.Discard) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", analysis.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					analysis.run()
				}
				perEntry(b, n)
			})
		}
	}
}

func perEntry(b *testing.B, entries int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
}
