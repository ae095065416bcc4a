package parquet_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/parquet"
)

// workload returns operations as an engine records them.
func workload(n int) []op.Entry {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"matmul", "add", "relu", "softmax", "layer_norm", "gelu", "transpose", "all_reduce"}
	list := make([]op.Entry, n)
	start := int64(1_795_224_124_978_150_123)
	for i := range list {
		rows, cols := int64(32<<rng.IntN(5)), int64(32<<rng.IntN(5))
		duration := 2_000 + rng.Int64N(200_000)
		e := op.Entry{
			Step: op.Known(int64(i / 400)), Operation: names[i%len(names)], Kind: op.KindCompute, KindRule: op.RuleDefault,
			DeviceID: fmt.Sprintf("cuda:%d", i%4), InputShapes: []op.Shape{{64, rows}, {rows, cols}}, OutputShape: op.Shape{64, cols},
			DType: op.F32, Start: op.Known(start), Duration: duration, OutputElements: op.Known(64 * cols), MemoryBytes: op.Known(256 * cols),
			FLOPs: op.Known(128 * rows * cols), TraceID: op.TraceID{byte(i / 400 >> 8), byte(i / 400), 7: 0xab}, Root: "POST /predict",
			RootSpanID: op.SpanID{1, byte(i / 400)}, ParentSpanID: op.SpanID{1,
				byte(i / 400)}, Service: "trainer", Scope: "engine", Rank: op.Known(0),
		}
		rng64 := rng.Uint64()
		for k := range e.SpanID {
			e.SpanID[k] = byte(rng64 >> (8 * k))
		}
		start += duration / 4
		list[i] = e
	}
	return list
}

// The table is a fraction of the size of entries JSON Lines.
func TestSize(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	jsonl := 0
	const n = 20_000
	for _, e := range workload(n) {
		if err := w.Entry(&e); err != nil {
			t.Fatal(err)
		}
		jsonl += len(e.AppendJSON(nil)) + 1
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f bytes an operation, %.1f in JSON Lines", float64(b.Len())/n, float64(jsonl)/n)
	if b.Len() > jsonl/10 {
		t.Errorf("%d bytes, and %d in JSON Lines", b.Len(), jsonl)
	}
}

func BenchmarkWriter(b *testing.B) {
	list := workload(20_000)
	var out counter
	b.ReportAllocs()
	for b.Loop() {
		out = 0
		w := parquet.NewWriter(&out)
		for i := range list {
			if err := w.Entry(&list[i]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/entry")
	b.ReportMetric(float64(out)/float64(len(list)), "B/entry")
}

// BenchmarkJSONLines writes the same as entries JSON Lines.
func BenchmarkJSONLines(b *testing.B) {
	list := workload(20_000)
	var out counter
	b.ReportAllocs()
	for b.Loop() {
		out = 0
		w := entries.NewWriter(&out, nil)
		for i := range list {
			if err := w.Entry(&list[i]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/entry")
	b.ReportMetric(float64(out)/float64(len(list)), "B/entry")
}

// counter counts what is written.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
