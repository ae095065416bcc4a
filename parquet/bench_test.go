package parquet_test

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

const benchEntries = 20_000

// operations returns operations as an engine records them.
func operations() []op.Entry {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"matmul", "add", "relu", "softmax", "layer_norm", "gelu", "transpose", "all_reduce"}
	all := make([]op.Entry, benchEntries)
	start := int64(1_795_224_124_978_150_123)
	for i := range all {
		rows, cols := int64(32<<rng.IntN(5)), int64(32<<rng.IntN(5))
		all[i] = op.Entry{
			Step: op.Known(int64(i / 400)), Operation: names[i%len(names)], Kind: op.KindCompute, KindRule: op.RuleDefault,
			DeviceID: fmt.Sprintf("cuda:%d", i%4), InputShapes: []op.Shape{{64, rows}, {rows, cols}}, OutputShape: op.Shape{64, cols},
			DType: op.F32, Start: op.Known(start), Duration: 2_000 + rng.Int64N(200_000), OutputElements: op.Known(64 * cols),
			MemoryBytes: op.Known(256 * cols), TraceID: op.TraceID{byte(i / 400), 7: 0xab}, SpanID: recordtest.Random{Rand: rng}.ID(),
			ParentSpanID: op.SpanID{1, byte(i / 400)}, Root: "POST /predict", RootSpanID: op.SpanID{1, byte(i / 400)},
			Service: "trainer", Scope: "engine", Rank: op.Known(0),
		}
		start += all[i].Duration / 4
	}
	return all
}

// workload returns the operations in both formats.
func workload(t testing.TB) (table, jsonl []byte) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	for _, e := range operations() {
		check.OK(t, w.Entry(&e))
		jsonl = append(e.AppendJSON(jsonl), '\n')
	}
	check.OK(t, w.Close())
	return b.Bytes(), jsonl
}

// drain counts the entries.
func drain(t testing.TB, records iter.Seq2[op.Record, error]) {
	t.Helper()
	n := 0
	for rec, err := range records {
		check.OK(t, err)
		if rec.Entry != nil {
			n++
		}
	}
	if n != benchEntries {
		t.Fatalf("%d entries, want %d", n, benchEntries)
	}
}

// Rows are read into memory that is reused: what is allocated is per file,
// page and distinct text.
func TestAllocations(t *testing.T) {
	file, _ := workload(t)
	allocs := testing.AllocsPerRun(3, func() {
		drain(t, parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet"))
	})
	if perEntry := allocs / benchEntries; perEntry > 0.1 {
		t.Errorf("%.2f allocations an entry", perEntry)
	}
}

// The table is a fraction of the size of entries JSON Lines.
func TestSize(t *testing.T) {
	table, jsonl := workload(t)
	t.Logf("%.1f bytes an operation, %.1f in JSON Lines", float64(len(table))/benchEntries, float64(len(jsonl))/benchEntries)
	if len(table) > len(jsonl)/10 {
		t.Errorf("%d bytes, and %d in JSON Lines", len(table), len(jsonl))
	}
}
