package suspects

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

const (
	us = tracetest.Microsecond
	ms = tracetest.Millisecond
)

func kernel(name string, start, end int64) tracetest.Spec {
	return tracetest.OpAt(name, 0, 0, start, end).OnStream(7)
}

func TestSuspectDurations(t *testing.T) {
	for _, tc := range []struct {
		name  string
		specs []tracetest.Spec
		want  []string
	}{
		{"5 µs beyond the start", []tracetest.Spec{kernel("a", 0, 105*us), kernel("b", 100*us, 101*us)}, []string{"a"}},
		{
			"less than 5 µs beyond the start",
			[]tracetest.Spec{kernel("a", 0, 105*us-1), kernel("b", 100*us, 101*us)}, nil,
		},
		{"1 % beyond the start", []tracetest.Spec{kernel("a", 0, 10*ms), kernel("b", 9900*us, 9901*us)}, []string{"a"}},
		{
			"less than 1 % beyond the start",
			[]tracetest.Spec{kernel("a", 0, 10*ms), kernel("b", 9900*us+1, 9901*us)}, nil,
		},
		{
			"less than 1 % of a length without a whole hundredth",
			[]tracetest.Spec{kernel("a", 0, 10*ms+1), kernel("b", 9900*us+1, 9901*us)}, nil,
		},
		{"an end in the year 2206", []tracetest.Spec{kernel("a", 0, 236*365*24*3600*1000*ms)}, []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forest := tracetest.AddTo(trace.New(), tc.specs...)
			var got []string
			for _, r := range Find(forest).Durations {
				got = append(got, forest.RowName(r))
			}
			check.Equal(t, "", tc.want, got)
		})
	}
}

func TestReasonIsTrueOfAll(t *testing.T) {
	long := kernel("long", 0, 236*365*24*3600*1000*ms)
	later := []tracetest.Spec{kernel("a", 0, 105*us), kernel("b", 100*us, 101*us)}
	for want, specs := range map[string][]tracetest.Spec{
		"longer than a year": {long},
		"still running when a later operation of the stream had ended":                       later,
		"longer than a year or still running when a later operation of the stream had ended": append(later, long),
	} {
		forest := tracetest.AddTo(trace.New(), specs...)
		found := Find(forest)
		check.Equal(t, "", want, Reason(Examples(forest, found), int64(len(found.Durations))))
	}
}

func TestClockProblems(t *testing.T) {
	parent := tracetest.SpanAt("parent", 1, 0, 10*ms, 20*ms)
	for _, tc := range []struct {
		name string
		spec tracetest.Spec
		want []int64 // offsets
	}{
		{"a millisecond early", tracetest.OpAt("a", 2, 1, 9*ms, 15*ms), nil},
		{"more than a millisecond early", tracetest.OpAt("a", 2, 1, 9*ms-1, 15*ms), []int64{-ms - 1}},
		{"a millisecond late", tracetest.OpAt("a", 2, 1, 21*ms, 22*ms), nil},
		{"more than a millisecond late", tracetest.OpAt("a", 2, 1, 21*ms+1, 22*ms), []int64{ms + 1}},
		{"early, whatever its launch", tracetest.OpAt("a", 2, 1, 0, ms).LaunchedAt(12 * ms), []int64{-10 * ms}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forest := tracetest.AddTo(trace.New(), parent, tc.spec)
			var got []int64
			for _, r := range Find(forest).Clock {
				got = append(got, clockOffset(forest, r))
			}
			check.Equal(t, "", tc.want, got)
		})
	}
}

// The worst of each kind is the example, the first by time among equals.
func TestSuspectExamples(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.OpAt("short", 0, 0, 0, 300*us).OnStream(7), tracetest.OpAt("b", 0, 0, 100*us, 200*us).OnStream(7),
		tracetest.OpAt("long", 11, 0, 1*ms, 9*ms).OnStream(7).OnRank(3),
		tracetest.OpAt("b", 12, 0, 2*ms, 3*ms).OnStream(7).OnRank(3),
		tracetest.OpAt("equally long", 0, 0, 11*ms, 19*ms).OnStream(7),
		tracetest.OpAt("b", 0, 0, 12*ms, 13*ms).OnStream(7),
		tracetest.SpanAt("request", 20, 0, 100*ms, 200*ms), tracetest.OpAt("late", 21, 20, 250*ms, 260*ms),
		tracetest.SpanAt("early", 22, 20, 0, 5),
		tracetest.SpanAt("x", 31, 32, 10, 20), tracetest.OpAt("y", 32, 31, 5, 20).On(""),
		tracetest.OpAt("z", 33, 33, 0, 10),
		tracetest.OpAt("y", 32, 31, 5, 20).On(""), tracetest.OpAt("late", 21, 20, 250*ms, 260*ms),
	)
	golden.JSON(t, "testdata/examples.json", Examples(forest, Find(forest)))
}

func TestSuspectsAgreeWithNaive(t *testing.T) {
	var inputs [3]int // inputs with suspects, by kind
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.SuspiciousSpecs(r, 1+r.IntN(60))
		durations, clock := tracetest.NaiveSuspects(specs)
		forest := tracetest.AddTo(trace.New(), specs...)
		got := Find(forest)
		check.Equal(t, fmt.Sprintf("seed %d: durations", seed), durations, got.Durations)
		check.Equal(t, fmt.Sprintf("seed %d: clock", seed), clock, got.Clock)
		tree := tracetest.NewNaiveTree(specs)
		cycles := [2]int{int(forest.Counts.Cycles), len(forest.Tree.Cut)}
		check.Equal(t, fmt.Sprintf("seed %d: cycles", seed), [2]int{tree.Cycles, tree.Cycles}, cycles)
		for _, r := range forest.Tree.Cut {
			if forest.Tree.Parent[r] != trace.NoRow || forest.ParentID(r) == 0 {
				t.Errorf("seed %d: row %d is no end of a cut cycle", seed, r)
			}
		}
		for kind, n := range []int{len(durations), len(clock), len(forest.Tree.Cut)} {
			inputs[kind] += min(n, 1)
		}
	})
	if cases.All() && slices.Min(inputs[:]) < 40 {
		t.Errorf("only %d inputs with suspects of each kind", inputs)
	}
}

// Hostile inputs take no longer than others.
func TestSuspectsOfHostileInput(t *testing.T) {
	n := int64(cases.Count(t, 20_000, 200_000))
	for name, tc := range map[string]struct {
		add  func(*trace.Forest)
		want int64
	}{
		"one over a great many": {func(f *trace.Forest) {
			f.Add(tracetest.OpAt("long", 0, 0, 0, n*ms).OnStream(1).Record())
			for i := range n - 1 {
				f.Add(tracetest.OpAt("a", 0, 0, i*ms, i*ms+10).OnStream(1).Record())
			}
		}, 1},
		"each within the one before": {func(f *trace.Forest) {
			for i := range n {
				f.Add(tracetest.OpAt("a", uint64(i+1), uint64(i), i*us, 2*n*us-i*us).OnStream(1).Record())
			}
		}, 0},
		"each within the one before, and no parents": {func(f *trace.Forest) {
			for i := range n {
				f.Add(tracetest.OpAt("a", 0, 0, i*us, 4*n*us-i*us).OnStream(1).Record())
			}
		}, n - 1},
		"a chain, and others that outlast it": {func(f *trace.Forest) {
			for i := range n / 2 {
				f.Add(tracetest.OpAt("a", uint64(i+1), uint64(i), i, 10*n*us-i).OnStream(1).Record())
			}
			for i := range n / 4 {
				f.Add(tracetest.OpAt("b", uint64(n+2*i), 0, n+i*us, 20*n*us+i).OnStream(1).Record())
				f.Add(tracetest.OpAt("c", uint64(n+2*i+1), uint64(n/2), n+i*us+1, n+i*us+2).OnStream(1).Record())
			}
		}, n / 4},
	} {
		t.Run(name, func(t *testing.T) {
			forest := trace.New()
			tc.add(forest)
			check.Equal(t, "suspects", tc.want, int64(len(Find(forest).Durations)))
		})
	}
}
