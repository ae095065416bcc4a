package replay_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
)

// BenchmarkNew makes the graph of a training run with launches and threads, and of requests.
func BenchmarkNew(b *testing.B) {
	training := trace.New()
	for seed := range uint64(100) {
		with, _, _ := causes.Twin("tiny", causes.Profile, 0.5, seed)
		for _, rec := range with {
			if rec.Entry != nil {
				rec.Entry.Start.V += int64(seed) * 1e9
				rec.Entry.Launch.V += int64(seed) * 1e9
			}
			training.Add(rec)
		}
	}
	requests := tracetest.AddTo(trace.New(), tracetest.ServerRequests(2000, 50)...)
	for name, f := range map[string]*trace.Forest{"training": training, "requests": requests} {
		b.Run(name, func(b *testing.B) {
			f.Build()
			b.ReportAllocs()
			for b.Loop() {
				replay.New(f).Complete()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(f.Len()), "ns/row")
		})
	}
}

// BenchmarkRun replays the training run with a change.
func BenchmarkRun(b *testing.B) {
	f := trace.New()
	for seed := range uint64(20) {
		with, _, _ := causes.Twin("tiny", causes.Profile, 0.5, seed)
		for _, rec := range with {
			f.Add(rec)
		}
	}
	g := replay.New(f)
	change, err := replay.Parse("remove tiny")
	check.OK(b, err)
	for b.Loop() {
		_, err := g.Run(change)
		check.OK(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(f.Len()), "ns/row")
}
