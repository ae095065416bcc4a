package timeline

import (
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
)

func requestForest() *trace.Forest {
	forest := trace.New()
	for rec := range tracetest.Requests(20_000) {
		forest.Add(rec)
	}
	forest.Build()
	return forest
}

func BenchmarkIdleGaps(b *testing.B) {
	forest := requestForest()
	b.ReportAllocs()
	for b.Loop() {
		Idle(forest, 10)
	}
}

func BenchmarkSelfTimes(b *testing.B) {
	forest := requestForest()
	b.ReportAllocs()
	for b.Loop() {
		OperationSelfTimes(forest)
	}
}
