package trace_test

import (
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

const benchmarkOperations = 20_000

// forestOf returns a forest of records.
func forestOf(records []op.Record) *trace.Forest {
	forest := trace.New()
	for _, rec := range records {
		forest.Add(rec)
	}
	return forest
}

func BenchmarkAddOperations(b *testing.B) {
	records := slices.Collect(tracetest.Requests(benchmarkOperations))
	b.ReportAllocs()
	for b.Loop() {
		forestOf(records)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(records)), "ns/record")
}

func BenchmarkBuildTree(b *testing.B) {
	forest := forestOf(slices.Collect(tracetest.Requests(benchmarkOperations)))
	shifts := make([]int64, forest.Len())
	b.ReportAllocs()
	for b.Loop() {
		forest.Shift(shifts) // discards the tree
		forest.Build()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*forest.Len()), "ns/record")
}

func BenchmarkMergeForests(b *testing.B) {
	records := slices.Collect(tracetest.Requests(benchmarkOperations))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		first := forestOf(records[:len(records)/2])
		second := forestOf(records[len(records)/2:])
		b.StartTimer()
		first.Merge(second)
	}
}
