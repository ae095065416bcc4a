package optrace_test

import (
	"context"
	"io"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

func TestRecorderAllocations(t *testing.T) {
	rec := discardingRecorder(t)
	n := testing.AllocsPerRun(1000, func() { recordMatmul(rec) })
	if n > 0 {
		t.Errorf("%v allocations per operation, want none", n)
	}
	step := int64(0)
	n = testing.AllocsPerRun(1000, func() {
		step++
		rec.Step(step)
		recordMatmul(rec)
		rec.Device("cuda:1").Stream(7).Kind(op.KindCompute).Path("encoder.0").FLOPs(64*784*256*2).
			Attrs(tensorconv.CollectiveName("all_reduce"), tensorconv.CollectiveSequence(step))
	})
	if n > 0 {
		t.Errorf("%v allocations per operation with all that can be said of it, want none", n)
	}
}

// discardingRecorder returns a Recorder with room for many operations.
func discardingRecorder(tb testing.TB) *optrace.Recorder {
	tb.Helper()
	proc := newProcessor(tb, newExporter(tb, io.Discard))
	if err := proc.Shutdown(tb.Context()); err != nil { // then it takes nothing
		tb.Fatal(err)
	}
	rec := proc.Recorder(tb.Context())
	for range 1 << 15 {
		rec.Begin("warm", "up").In(1, 1).In(1, 1).Out(1, 1).Attrs(make([]attribute.KeyValue, 7)...).End()
	}
	rec.Finish()
	return rec
}

func recordMatmul(rec *optrace.Recorder) {
	rec.Begin("matmul", "cuda:0").In(64, 784).In(784, 256).Out(64, 256).DType(op.F32).End()
}

func BenchmarkRecorder(b *testing.B) {
	b.Run("dynamic", func(b *testing.B) {
		rec := discardingRecorder(b)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			recordMatmul(rec)
			if i++; i%(1<<15) == 0 {
				rec.Finish()
			}
		}
	})
	b.Run("prepared back to back", func(b *testing.B) {
		rec := discardingRecorder(b)
		prep := prepare(b, optrace.NewTracer(nil), matmulSpec())
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			rec.BeginPrepared(prep)
			if i++; i%(1<<15) == 0 {
				rec.Finish()
			}
		}
	})
	b.Run("with entries", func(b *testing.B) {
		exp, err := optrace.NewExporter(io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		proc, err := optrace.NewProcessor(exp, optrace.WithPolicy(optrace.PolicyBlock))
		if err != nil {
			b.Fatal(err)
		}
		defer proc.Shutdown(context.Background())
		rec := proc.Recorder(b.Context())
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			recordMatmul(rec)
			if i++; i%1024 == 0 {
				rec.Finish()
			}
		}
	})
}
