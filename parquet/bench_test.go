package parquet_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// step returns operations of training steps, with all usual fields.
func step(n int) []op.Record {
	names := []string{"matmul", "softmax", "layer_norm", "all_reduce", "relu"}
	all := make([]op.Record, n)
	for i := range all {
		e := &op.Entry{
			Operation: names[i%len(names)], Kind: op.KindCompute, KindRule: op.RuleDefault, DeviceID: "cuda:0",
			Step: op.Known(int64(i / 100)), Stream: op.Known(7), Rank: op.Known(0), DType: op.BF16, Path: "layers.3.mlp",
			InputShapes: []op.Shape{{64, 784}, {784, 256}}, OutputShape: op.Shape{64, 256},
			OutputElements: op.Known(16384), MemoryBytes: op.Known(32768),
			Start: op.Known(1_700_000_000_000_000_000 + int64(i)*10_000), Duration: 5_000 + int64(i*i%4096),
			TraceID: op.TraceID{1, 2}, SpanID: op.SpanID{1, 6: byte(i >> 8), 7: byte(i)}, ParentSpanID: op.SpanID{2},
			Service: "trainer",
		}
		all[i] = op.Record{Entry: e}
	}
	return all
}

const benchmarkRows = 20_000

func BenchmarkReadParquet(b *testing.B) {
	file := table(b, step(benchmarkRows))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "benchmark") {
			check.OK(b, err)
			n++
		}
		if n != benchmarkRows {
			b.Fatalf("%d records", n)
		}
	}
}

func BenchmarkWriteParquet(b *testing.B) {
	records := step(benchmarkRows)
	b.ReportAllocs()
	for b.Loop() {
		w := parquet.NewWriter(io.Discard)
		for _, rec := range records {
			check.OK(b, w.Entry(rec.Entry))
		}
		check.OK(b, w.Close())
	}
}
