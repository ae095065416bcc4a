package html

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// randomForest returns a forest of requests with operations on streams.
func randomForest(r *rand.Rand, n int) *trace.Forest {
	forest := trace.New()
	ends := make(map[string]int64)
	for i := range n {
		trace := op.TraceID{1, byte(i / 100 % 7)}
		if i%100 == 0 && i/100 < 7 {
			forest.Add(op.Record{Span: &op.Span{Name: "request", TraceID: trace, SpanID: op.SpanID{1},
				Start: op.Known(int64(i)), Duration: 1e6}})
		}
		device := fmt.Sprint("cuda:", r.IntN(3))
		start := ends[device] + r.Int64N(20)
		duration := 1 + r.Int64N(30)
		if r.IntN(50) == 0 {
			duration *= 1000
		}
		ends[device] = start + duration
		forest.Add(op.Record{Entry: &op.Entry{
			Operation: fmt.Sprint("op", r.IntN(5)), Kind: op.Kind(1 + r.IntN(3)), DeviceID: device,
			Start: op.Known(start), Duration: duration,
			TraceID: trace, SpanID: op.SpanID{2, byte(i), byte(i >> 8)}, ParentSpanID: op.SpanID{1},
			MemoryBytes: op.Known(r.Int64N(9)), FLOPs: op.Known(r.Int64N(9)), Failed: i%40 == 0,
			Error: fmt.Sprint(i % 3),
		}})
	}
	return forest
}

// Merging keeps the sums by name, kind and device, fits boxes into the time of their operations, and leaves long
// operations alone.
func TestMergeKeepsSums(t *testing.T) {
	for seed := range cases.Numbers(t, 20) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 500 + r.IntN(1500)
		forest := randomForest(r, n)
		type key struct {
			name   string
			kind   uint64
			device device.Key
			error  string // rows number their texts in any order
		}
		type sum struct{ count, duration, self, memory, flops, longest int64 }
		sums := func(rows *rows) map[key]sum {
			all := make(map[key]sum)
			for i := range rows.list {
				one := &rows.list[i]
				text, failed := one.node.Failure()
				k := key{one.node.Name(), one.kind(), one.node.Device(), fmt.Sprint(failed, text)}
				s := all[k]
				all[k] = sum{
					s.count + one.count, s.duration + one.duration, s.self + one.self, s.memory + one.memory,
					s.flops + one.flops, max(s.longest, one.longest),
				}
			}
			return all
		}
		before, after := newRows(forest), newRows(forest)
		limit := len(before.timed) / 2
		before.merge(n + 7)
		after.merge(limit)
		if len(after.list) >= len(before.list) || after.merged.Boxes == 0 || after.merged.Ops <= after.merged.Boxes {
			t.Errorf("seed %d: %d rows of %d, %+v", seed, len(after.list), len(before.list), after.merged)
		}
		want, got := sums(before), sums(after)
		for k, s := range want {
			check.Equal(t, fmt.Sprintf("seed %d: %v", seed, k), s, got[k], cmp.AllowUnexported(s))
		}
		if !slices.IsSortedFunc(after.list, func(a, b row) int { return int(a.start - b.start) }) {
			t.Errorf("seed %d: not in order", seed)
		}
		ends := make(map[device.Key]int64)
		for i := range after.list {
			one := &after.list[i]
			if !one.node.IsOp() {
				continue
			}
			if one.start < ends[one.node.Device()] {
				t.Errorf("seed %d: a box overlaps the one before it by %d", seed, ends[one.node.Device()]-one.start)
			}
			ends[one.node.Device()] = one.start + one.duration
			if one.count == 1 && one.duration >= after.merged.WidthNS && one.start != one.node.Start().V {
				t.Errorf("seed %d: a long operation has been moved", seed)
			}
		}
	}
}

func TestMergeLeavesFewRowsAlone(t *testing.T) {
	rows := newRows(randomForest(rand.New(rand.NewPCG(1, 1)), 300))
	n := len(rows.timed)
	if rows.merge(n); len(rows.list) != n || rows.merged != (merged{}) {
		t.Errorf("%d rows of %d, %+v", len(rows.list), n, rows.merged)
	}
}
