package clickhouse_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// randomEntry returns an entry with few names, devices and ranks, many equal durations, and some missing
// fields. With weighted it has a sampling weight.
func randomEntry(r *rand.Rand, i int, weighted bool) *op.Entry {
	names := []string{"matmul", "relu", "AllReduce", "ncclDevKernel_AllReduce", "Memcpy HtoD (Host -> Device)",
		"memset", "recommendation_mlp", "broadcast_in_dim", "c10d::broadcast_", "small_reduce", "AllToAllV", "O'Brien \\ \"x\"\n"}
	e := &op.Entry{
		Operation: names[r.IntN(len(names))],
		Duration:  int64(r.IntN(20)) * 100,
		SpanID:    op.SpanID{byte(i >> 16), byte(i >> 8), byte(i), 1},
		TraceID:   op.TraceID{byte(r.IntN(50)), 1},
		Service:   []string{"", "trainer", "server"}[r.IntN(3)],
		Step:      op.Known(int64(i / 50)),
		Root:      []string{"", "GET /a"}[r.IntN(2)],
		Path:      []string{"", "encoder.0"}[r.IntN(2)],
		Attrs:     []op.Attr{{Key: "layer", Value: strconv.Itoa(r.IntN(4))}},
	}
	e.Kind, e.KindRule = op.InferKind(e.Operation)
	rarely := func(n int, f func()) {
		if r.IntN(n) == 0 {
			f()
		}
	}
	rarely(10, func() { e.Kind, e.KindRule = op.KindControl, op.RuleAttribute })
	rarely(10, func() {
		e.Kind = op.KindCollective
		e.KindRule = op.RuleAttribute
		e.Collective = &op.Collective{Name: "all_reduce", Group: "dp", GroupSize: op.Known(8),
			Sequence: op.Known(int64(i))}
	})
	rarely(4, func() { e.Duration = r.Int64N(1 << uint(1+r.IntN(45))) })
	rarely(300, func() { e.Duration = r.Int64N(1 << 61) })
	rarely(60, func() { e.Operation = fmt.Sprint("rare ", r.IntN(20)) })
	if r.IntN(8) > 0 {
		e.DeviceID = fmt.Sprintf("cuda:%d", r.IntN(3))
	} else {
		rarely(4, func() { e.DeviceID = "unknown" })
		e.EmptyDevice = e.DeviceID == "" && r.IntN(3) == 0
	}
	rarely(3, func() { e.Rank = op.Known(int64(r.IntN(2))) })
	if r.IntN(6) > 0 {
		e.Start = op.Known(1_700_000_000_000_000_000 + int64(r.IntN(1_000_000)))
	}
	rarely(5, func() { e.Side = op.SideHost })
	if r.IntN(3) > 0 {
		e.OutputShape = op.Shape{int64(r.IntN(3)), 4}
		e.OutputElements, _ = e.OutputShape.Elements()
		e.MemoryBytes = op.Known(e.OutputElements.V * 8)
		e.DType = op.F32
	}
	rarely(9, func() { e.OutputShape, e.DType = op.Shape{}, op.BF16 })
	rarely(50, func() { e.MemoryBytes = op.Known(r.Int64N(1 << 62)) })
	rarely(30, func() { e.MemoryBytes = op.Known(2 << 20) })
	rarely(4, func() {
		e.InputShapes = []op.Shape{{2, int64(r.IntN(2))}, nil, {}}
		e.InputDTypes = []op.DType{op.F16, op.F32}
	})
	rarely(30, func() { e.Duration, e.Warn = 0, op.WarnNegativeDuration|op.WarnBadShape })
	rarely(20, func() { e.Failed, e.Error = true, "out of memory" })
	rarely(15, func() { e.SpanID, e.TraceID = op.SpanID{}, op.TraceID{} })
	rarely(25, func() { e.TraceID = opfile.LocalTraceID(uint64(r.IntN(3))) })
	rarely(3, func() { e.FLOPs = op.Known(int64(r.IntN(1000))) })
	rarely(5, func() { e.Stream = op.Known(r.Int64N(2)) })
	rarely(20, func() {
		e.Links = []op.Link{{TraceID: op.TraceID{7}, SpanID: op.SpanID{1}, Weight: op.Known(3),
			Attention: op.Known(40)}}
	})
	if len(e.OutputShape) == 2 && r.IntN(2) == 0 { // of a matmul
		k := int64(r.IntN(3))
		e.InputShapes = []op.Shape{{e.OutputShape[0], k}, {k, 4}}
		e.InputDTypes = nil
	}
	if weighted || r.IntN(500) == 0 {
		e.AdjustedCount = 1 / (1 - r.Float64())
	}
	return e
}

func writeFile(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, text, 0o600))
	return path
}

// randomFile writes n random records, some of them damaged, and returns the path.
func randomFile(t testing.TB, seed uint64, n int, weighted bool) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var text []byte
	for i := range n {
		e := randomEntry(r, i, weighted)
		text = append(e.AppendJSON(text), '\n')
		switch r.IntN(40) {
		case 0:
			text = append(text, "{\"operation\":\n"...)
		case 1:
			text = append((&op.Gap{Dropped: r.Int64N(5), Reason: fmt.Sprint("reason ", r.IntN(80))}).AppendJSON(text),
				'\n')
		case 2:
			b := op.Batch{Writer: fmt.Sprint("w", r.IntN(3)), Sequence: r.Int64N(50), Entries: r.Int64N(80)}
			text = append(b.AppendJSON(text), '\n')
		case 3:
			text = append((&op.Span{Name: "request", TraceID: e.TraceID, SpanID: op.SpanID{1, byte(i)},
				Duration: 5}).AppendJSON(text), '\n')
		case 4:
			text = append(text, "{\"later\":1}\n"...)
		case 5: // repeats the record
			text = append(e.AppendJSON(text), '\n')
		case 6:
			text = append(op.AppendHeader(text, &op.Resource{
				Service: "trainer", Attrs: []op.Attr{{Key: "host.name", Value: fmt.Sprint("node-", r.IntN(3))}},
			}), '\n')
		}
	}
	return writeFile(t, fmt.Sprintf("ops-%d.jsonl", seed), text)
}

// requestsFile writes consecutive requests on two devices. Each is a trace with a span, a layer and
// overlapping operations.
func requestsFile(t testing.TB, seed uint64, requests int) string {
	r := rand.New(rand.NewPCG(seed, 2))
	var text []byte
	kinds := []op.Kind{op.KindCompute, op.KindCompute, op.KindCollective, op.KindMemory, op.KindIO}
	for i := range requests {
		trace := op.TraceID{1, byte(i >> 8), byte(i)}
		start := int64(1_000_000_000 + i*11_000)
		id := func(n int) op.SpanID { return op.SpanID{1, byte(i >> 8), byte(i), byte(n)} }
		end := start
		for n := range 2 + r.IntN(20) {
			e := &op.Entry{
				Operation: fmt.Sprint("op", n%5), Kind: kinds[r.IntN(len(kinds))], Duration: r.Int64N(3000),
				Service:  "server",
				DeviceID: fmt.Sprintf("cuda:%d", n%2), TraceID: trace, SpanID: id(10 + n), ParentSpanID: id(2),
				Start: op.Known(start + r.Int64N(7000)),
			}
			text = append(e.AppendJSON(text), '\n')
			end = max(end, e.End().V)
		}
		for n, s := range []op.Span{{Name: "GET /a", SpanID: id(1)},
			{Name: "layer", SpanID: id(2), ParentSpanID: id(1)}} {
			s.TraceID = trace
			s.Start = op.Known(start - int64(2-n))
			s.Duration = end - start + 4
			s.Service = "server"
			text = append(s.AppendJSON(text), '\n')
		}
	}
	return writeFile(t, "requests.jsonl", text)
}
