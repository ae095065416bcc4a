package analyze

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

func TestSuspectDurations(t *testing.T) {
	kernel := func(name string, start, end int64) spec {
		return opAt(name, 0, 0, start, end).onStream(7)
	}
	for _, tc := range []struct {
		name  string
		specs []spec
		want  []string
	}{
		{"one after the other", []spec{kernel("a", 0, 100*us), kernel("b", 100*us, 200*us)}, nil},
		{"runs over its successors", []spec{
			kernel("a", 0, 100*us), kernel("long", 100*us, 3000*ms), kernel("b", 110*us, 210*us), kernel("c", 220*us, 320*us),
		}, []string{"long"}},
		{"runs over the last one only", []spec{kernel("long", 0, 200*us), kernel("b", 100*us, 190*us)}, []string{"long"}},
		{"runs into its successor", []spec{kernel("a", 0, 150*us), kernel("b", 100*us, 200*us)}, nil},
		{"ends with its successor", []spec{kernel("a", 0, 200*us), kernel("b", 100*us, 200*us)}, nil},
		{"5 µs beyond the start", []spec{kernel("a", 0, 105*us), kernel("b", 100*us, 101*us)}, []string{"a"}},
		{"less than 5 µs beyond the start", []spec{kernel("a", 0, 105*us-1), kernel("b", 100*us, 101*us)}, nil},
		{"1 % beyond the start", []spec{kernel("a", 0, 10*ms), kernel("b", 9900*us, 9901*us)}, []string{"a"}},
		{"less than 1 % beyond the start", []spec{kernel("a", 0, 10*ms), kernel("b", 9900*us+1, 9901*us)}, nil},
		{"less than 1 % of a length without a whole hundredth", []spec{kernel("a", 0, 10*ms+1), kernel("b", 9900*us+1, 9901*us)}, nil},
		{"several in one another", []spec{
			kernel("outer", 0, 900*us), kernel("inner", 10*us, 800*us), kernel("b", 20*us, 30*us),
		}, []string{"outer", "inner"}},
		{"found after others that outlast it", []spec{
			kernel("long", 0, 500*us), kernel("b", 10*us, 600*us), kernel("c", 20*us, 700*us), kernel("d", 30*us, 40*us),
		}, []string{"long", "b", "c"}},
		{"another stream", []spec{kernel("a", 0, 300*us), kernel("b", 100*us, 200*us).onStream(8)}, nil},
		{"another device", []spec{kernel("a", 0, 300*us), kernel("b", 100*us, 200*us).on("cuda:1")}, nil},
		{"another rank", []spec{kernel("a", 0, 300*us), kernel("b", 100*us, 200*us).onRank(1)}, nil},
		{"no stream", []spec{opAt("a", 0, 0, 0, 300*us), opAt("b", 0, 0, 100*us, 200*us)}, nil},
		{"host side", []spec{kernel("a", 0, 300*us).fromHost(), kernel("b", 100*us, 200*us).fromHost()}, nil},
		{"no start", []spec{kernel("a", 0, 300*us).withoutStart(), kernel("b", 100*us, 200*us)}, nil},
		{"its own parts", []spec{
			opAt("a", 1, 0, 0, 300*us).onStream(7), opAt("b", 2, 1, 100*us, 200*us).onStream(7),
			opAt("c", 3, 2, 110*us, 120*us).onStream(7), spanAt("span", 4, 1, 0, 0), opAt("d", 5, 4, 210*us, 220*us).onStream(7),
		}, nil},
		{"parts listed first", []spec{
			opAt("b", 2, 1, 0, 200*us).onStream(7), opAt("a", 1, 0, 0, 300*us).onStream(7),
		}, nil},
		{"its own parts and another", []spec{
			opAt("a", 1, 0, 0, 300*us).onStream(7), opAt("b", 2, 1, 100*us, 200*us).onStream(7), kernel("other", 210*us, 220*us),
		}, []string{"a"}},
		{"a part over the next one", []spec{
			opAt("a", 1, 0, 0, 300*us).onStream(7), opAt("b", 2, 1, 10*us, 200*us).onStream(7), opAt("c", 3, 1, 20*us, 30*us).onStream(7),
		}, []string{"b"}},
		{"start at once, the long one first", []spec{kernel("a", 0, 300*us), kernel("b", 0, 100*us)}, []string{"a"}},
		{"start at once, the short one first", []spec{kernel("b", 0, 100*us), kernel("a", 0, 300*us)}, nil},
		{"the same parts twice", []spec{
			opAt("a", 1, 0, 0, 300*us).onStream(7), opAt("b", 2, 1, 100*us, 200*us).onStream(7),
			opAt("a", 1, 0, 0, 300*us).onStream(7), opAt("b", 2, 1, 100*us, 200*us).onStream(7),
		}, nil},
		{"the same ids at other times", []spec{
			opAt("a", 1, 0, 0, 300*us).onStream(7), opAt("b", 2, 1, 100*us, 200*us).onStream(7),
			opAt("a", 1, 0, 0, 400*us).onStream(7), opAt("b", 2, 1, 100*us, 210*us).onStream(7),
			opAt("c", 3, 0, 210*us, 310*us).onStream(7),
		}, []string{"a"}},
		{"without length", []spec{kernel("a", 0, 0), kernel("b", 0, 0), kernel("c", 0, 100*us), kernel("d", 100*us, 100*us)}, nil},
		{"a later one without length", []spec{kernel("a", 0, 100*us), kernel("b", 50*us, 50*us)}, []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forest := addTo(NewForest(), tc.specs...)
			var got []string
			for _, r := range forest.suspects().durations {
				got = append(got, forest.rowName(r))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClockProblems(t *testing.T) {
	parent := spanAt("parent", 1, 0, 10*ms, 20*ms)
	for _, tc := range []struct {
		name  string
		specs []spec
		want  []int64 // how far off
	}{
		{"within", []spec{parent, opAt("a", 2, 1, 12*ms, 15*ms)}, nil},
		{"outlives its parent", []spec{parent, opAt("a", 2, 1, 12*ms, 90*ms)}, nil},
		{"a millisecond early", []spec{parent, opAt("a", 2, 1, 9*ms, 15*ms)}, nil},
		{"more than a millisecond early", []spec{parent, opAt("a", 2, 1, 9*ms-1, 15*ms)}, []int64{-ms - 1}},
		{"a millisecond late", []spec{parent, opAt("a", 2, 1, 21*ms, 22*ms)}, nil},
		{"more than a millisecond late", []spec{parent, opAt("a", 2, 1, 21*ms+1, 22*ms)}, []int64{ms + 1}},
		{"late, launched in time", []spec{parent, opAt("a", 2, 1, 50*ms, 60*ms).launchedAt(20 * ms)}, nil},
		{"late, launched too late", []spec{parent, opAt("a", 2, 1, 50*ms, 60*ms).launchedAt(40 * ms)}, []int64{20 * ms}},
		{"early, whatever its launch", []spec{parent, opAt("a", 2, 1, 0, ms).launchedAt(12 * ms)}, []int64{-10 * ms}},
		{"a span, before its parent was read", []spec{spanAt("a", 2, 1, 0, 1), parent}, []int64{-10 * ms}},
		{"below one", []spec{parent, spanAt("a", 2, 1, 0, ms), opAt("b", 3, 2, 0, ms)}, []int64{-10 * ms}},
		{"twice the same", []spec{parent, opAt("a", 2, 1, 0, ms), opAt("a", 2, 1, 0, ms)}, []int64{-10 * ms}},
		{"no parent", []spec{parent, opAt("a", 2, 0, 0, ms), opAt("b", 3, 9, 0, ms)}, nil},
		{"no start", []spec{parent, opAt("a", 2, 1, 0, ms).withoutStart(), opAt("b", 3, 2, 0, ms)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forest := addTo(NewForest(), tc.specs...)
			var got []int64
			for _, r := range forest.suspects().clock {
				got = append(got, forest.clockOffset(r))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The worst of each kind is the example, the first in the input of several.
func TestSuspectExamples(t *testing.T) {
	forest := addTo(NewForest(),
		opAt("short", 0, 0, 0, 300*us).onStream(7), opAt("b", 0, 0, 100*us, 200*us).onStream(7),
		opAt("long", 11, 0, 1*ms, 9*ms).onStream(7).onRank(3), opAt("b", 12, 0, 2*ms, 3*ms).onStream(7).onRank(3),
		opAt("equally long", 0, 0, 11*ms, 19*ms).onStream(7), opAt("b", 0, 0, 12*ms, 13*ms).onStream(7),
		spanAt("request", 20, 0, 100*ms, 200*ms), opAt("late", 21, 20, 250*ms, 260*ms), spanAt("early", 22, 20, 0, 5),
		spanAt("x", 31, 32, 10, 20), opAt("y", 32, 31, 5, 20).on(""), opAt("z", 33, 33, 0, 10),
		opAt("y", 32, 31, 5, 20).on(""), opAt("late", 21, 20, 250*ms, 260*ms),
	)
	want := []Suspect{
		{
			What: SuspectDuration, Operation: "long", DeviceID: "cuda:0", Rank: op.Known(3), Stream: op.Known(7),
			StartUnixNS: op.Known(ms), DurationNS: 8 * ms, TraceID: op.TraceID{15: 1}, SpanID: op.SpanID{7: 11},
		},
		{
			What: SuspectClock, Operation: "early", StartUnixNS: op.Known(0), DurationNS: 5,
			TraceID: op.TraceID{15: 1}, SpanID: op.SpanID{7: 22}, OffNS: op.Known(-100 * ms),
		},
		{
			What: SuspectCycle, Operation: "y", DeviceID: UnknownDevice, StartUnixNS: op.Known(5), DurationNS: 15,
			TraceID: op.TraceID{15: 1}, SpanID: op.SpanID{7: 32},
		},
		{
			What: SuspectRepeat, Operation: "late", DeviceID: "cuda:0", StartUnixNS: op.Known(250 * ms), DurationNS: 10 * ms,
			TraceID: op.TraceID{15: 1}, SpanID: op.SpanID{7: 21},
		},
	}
	if diff := cmp.Diff(want, forest.examples(forest.suspects())); diff != "" {
		t.Error(diff)
	}
}

func TestSuspectsAgreeWithNaive(t *testing.T) {
	var inputs [3]int // with suspects of each kind
	cases.Seeds(t, 400, func(seed uint64, r *rand.Rand) {
		specs := suspiciousSpecs(r, 1+r.IntN(60))
		durations, clock := naiveSuspects(specs)
		forest := addTo(NewForest(), specs...)
		got := forest.suspects()
		if diff := cmp.Diff(durations, got.durations); diff != "" {
			t.Errorf("seed %d: durations (-naive +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(clock, got.clock); diff != "" {
			t.Errorf("seed %d: clock (-naive +got):\n%s", seed, diff)
		}
		if tree := newNaiveTree(specs); int64(tree.cycles) != forest.counts.Cycles || tree.cycles != len(forest.tree.cut) {
			t.Errorf("seed %d: %d cycles, cut at %d, want %d", seed, forest.counts.Cycles, len(forest.tree.cut), tree.cycles)
		}
		for _, r := range forest.tree.cut {
			if forest.tree.parent[r] != noRow || forest.parentID(r) == 0 {
				t.Errorf("seed %d: row %d is none where a ring was cut", seed, r)
			}
		}
		for kind, n := range []int{len(durations), len(clock), len(forest.tree.cut)} {
			inputs[kind] += min(n, 1)
		}
	})
	if cases.All() && slices.Min(inputs[:]) < 40 {
		t.Errorf("only %d inputs with suspects of each kind", inputs)
	}
}

// However the input is divided, merging the parts finds the same suspects.
func TestSuspectsAreIndependentOfShards(t *testing.T) {
	cases.Seeds(t, 40, func(seed uint64, r *rand.Rand) {
		specs := suspiciousSpecs(r, 2+r.IntN(60))
		whole := addTo(NewForest(), specs...)
		merged := NewForest()
		for shard := range slices.Chunk(specs, 1+len(specs)/3) {
			merged.Merge(addTo(NewForest(), shard...))
		}
		if diff := cmp.Diff(whole.examples(whole.suspects()), merged.examples(merged.suspects())); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
	})
}

// Inputs that are made to take long take no longer than others.
func TestSuspectsOfHostileInput(t *testing.T) {
	n := int64(cases.Count(t, 20_000, 200_000))
	for name, tc := range map[string]struct {
		add  func(*Forest)
		want int64
	}{
		"one over a great many": {func(f *Forest) {
			f.Add(opAt("long", 0, 0, 0, n*ms).onStream(1).record())
			for i := range n - 1 {
				f.Add(opAt("a", 0, 0, i*ms, i*ms+10).onStream(1).record())
			}
		}, 1},
		"each within the one before": {func(f *Forest) {
			for i := range n {
				f.Add(opAt("a", uint64(i+1), uint64(i), i*us, 2*n*us-i*us).onStream(1).record())
			}
		}, 0},
		"each within the one before, and no parents": {func(f *Forest) {
			for i := range n {
				f.Add(opAt("a", 0, 0, i*us, 4*n*us-i*us).onStream(1).record())
			}
		}, n - 1},
		"a chain, and others that outlast it": {func(f *Forest) {
			for i := range n / 2 {
				f.Add(opAt("a", uint64(i+1), uint64(i), i, 10*n*us-i).onStream(1).record())
			}
			for i := range n / 4 {
				f.Add(opAt("b", uint64(n+2*i), 0, n+i*us, 20*n*us+i).onStream(1).record())
				f.Add(opAt("c", uint64(n+2*i+1), uint64(n/2), n+i*us+1, n+i*us+2).onStream(1).record())
			}
		}, n / 4},
	} {
		t.Run(name, func(t *testing.T) {
			forest := NewForest()
			tc.add(forest)
			if got := int64(len(forest.suspects().durations)); got != tc.want {
				t.Errorf("%d suspects, want %d", got, tc.want)
			}
		})
	}
}
