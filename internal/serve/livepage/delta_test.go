package livepage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Operations are in the sums of one interval, below the spans that come up to an interval
// later, and without the time of operations below them that came up to one before.
func TestDeltaAgainstTheWhole(t *testing.T) {
	for seed := range cases.Numbers(t, 50) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := NewWindow(Limits{})
		in := w.Input("").Writer()
		delta, whole := w.Delta(stacks.Limits{}), trace.New()
		whole.KeepShapes()
		got := stacks.NewTable(stacks.Limits{})
		var came int64
		next := func(last bool) {
			in.Flush()
			i, err := delta.Next(last)
			if err != nil || i.Lost != 0 || i.Stacks.Operations() != i.Came {
				t.Fatalf("seed %d: %d lost, %d of %d, error %v", seed, i.Lost, i.Stacks.Operations(), i.Came, err)
			}
			came += i.Came
			got.Merge(i.Stacks)
		}
		operations := int64(0)
		for n := range 40 {
			for _, rec := range family(r, n) {
				if rec.Entry != nil {
					operations++
				}
				whole.Add(rec)
				in.Add(rec, nil)
			}
			if r.IntN(3) == 0 { // between the records of a family, too
				next(false)
			}
			if r.IntN(4) == 0 {
				next(false)
			}
		}
		next(true)
		if diff := cmp.Diff(stacks.Of(whole).Rows(), got.Rows()); diff != "" || came != operations {
			t.Errorf("seed %d: %d of %d came (-whole +added up):\n%s", seed, came, operations, diff)
		}
	}
}

// family returns operations below each other and the span above them, in the order in which
// they end.
func family(r *rand.Rand, n int) []op.Record {
	trace, start := op.TraceID{15: byte(n + 1)}, int64(1_700_000_000_000_000_000)+int64(n)*1000
	id := func(i int) op.SpanID { return op.SpanID{6: byte(n + 1), 7: byte(i)} }
	var all []op.Record
	for i := range 1 + r.IntN(4) {
		all = append(all, op.Record{Entry: &op.Entry{
			Operation: fmt.Sprint("op", i), Kind: op.KindCompute, DeviceID: "cuda:0", TraceID: trace, SpanID: id(i + 2), ParentSpanID: id(i + 1),
			Start: op.Known(start + int64(i)), Duration: int64(100 - 20*i), InputShapes: []op.Shape{{int64(i), 2}}, Service: "api",
		}})
	}
	slices.Reverse(all)
	return append(all, op.Record{Span: &op.Span{Name: "request", TraceID: trace, SpanID: id(1), Start: op.Known(start), Duration: 200}})
}

// What falls out of the window before it is added up is counted.
func TestDeltaLost(t *testing.T) {
	w := NewWindow(Limits{Records: 16})
	in := w.Input("").Writer()
	delta := w.Delta(stacks.Limits{})
	var came, lost, added int64
	add := func(last bool) {
		i := check.Must(delta.Next(last))(t)
		came, lost, added = came+i.Came, lost+i.Lost, added+i.Stacks.Operations()
	}
	for n := range 30 {
		in.Add(op.Record{Entry: &op.Entry{Operation: "op", SpanID: op.SpanID{7: byte(n + 1)}, TraceID: op.TraceID{15: 1}}}, nil)
		in.Flush()
	}
	add(false)
	add(false)
	in.Add(op.Record{Entry: &op.Entry{Operation: "op", SpanID: op.SpanID{7: 99}, TraceID: op.TraceID{15: 1}}}, nil)
	in.Flush()
	add(true)
	if came != 31 || lost != 14 || added != 17 {
		t.Errorf("%d came, %d lost, %d added up", came, lost, added)
	}
}

// What recorders lost, and what could not be read, is told once.
func TestDeltaNotes(t *testing.T) {
	w := NewWindow(Limits{})
	in := w.Input("").Writer()
	delta := w.Delta(stacks.Limits{})
	var got []int64
	for n := range 4 {
		if n == 0 {
			in.Add(op.Record{Gap: &op.Gap{Dropped: 12}}, nil)
			in.Add(op.Record{}, &op.SyntaxError{File: "f", Line: 1, Msg: "nonsense"})
			in.Flush()
		}
		i := check.Must(delta.Next(false))(t)
		got = append(got, i.Dropped, i.Unread)
	}
	check.Equal(t, "dropped and unread by interval", []int64{0, 0, 12, 1, 0, 0, 0, 0}, got)
}
