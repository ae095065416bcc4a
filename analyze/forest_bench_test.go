package analyze

import (
	"fmt"
	"io"
	"testing"
)

func BenchmarkForest(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("add/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				addRequests(NewForest(), n)
			}
			perEntry(b, n)
		})
		b.Run(fmt.Sprintf("build/%d", n), func(b *testing.B) {
			forest := NewForest()
			addRequests(forest, n)
			b.ReportAllocs()
			for b.Loop() {
				forest.shift(make([]int64, n+n/requestOps))
				forest.build()
			}
			perEntry(b, n)
		})
		forest := NewForest()
		addRequests(forest, n)
		forest.build()
		for _, analysis := range []struct {
			name string
			run  func()
		}{
			{"self", func() { forest.operationSelfTimes() }},
			{"timelines", func() { forest.timelines() }},
			{"idle", func() { forest.idle(idleOptions{}) }},
			{"concurrency", func() { forest.concurrency() }},
			{"memory", func() { forest.memoryUse(100) }},
			{"steps", func() { forest.stepRows() }},
			{"critical", func() { forest.criticalPathSummary() }},
			{"requests", func() { forest.Requests() }},
			{"collapsed", func() { _ = forest.WriteCollapsed(io.Discard) }},
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
