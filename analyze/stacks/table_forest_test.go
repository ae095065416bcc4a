package stacks

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

func TestStacks(t *testing.T) {
	request := Request{Name: "POST /predict", TraceID: op.TraceID{15: 1}, SpanID: op.SpanID{7: 1}}
	onCUDA := Labels{Device: "cuda:0", Kind: op.KindCompute, Request: request}
	row := func(v Values, frames ...string) Row {
		v.Count = max(1, v.Count)
		return Row{Frames: append([]string{"POST /predict", "cuda:0"}, frames...), Labels: onCUDA, Values: v}
	}
	tests := []struct {
		name  string
		specs []tracetest.Spec
		want  []Row
	}{
		{
			name: "an operation below another takes its time from that",
			specs: []tracetest.Spec{
				tracetest.SpanAt("POST /predict", 1, 0, 0, 100),
				tracetest.OpAt("relu", 3, 1, 0, 100).Writing(8), tracetest.OpAt("matmul", 4, 3, 20, 80), tracetest.OpAt("matmul", 5, 3, 80, 90),
			},
			want: []Row{
				row(Values{TimeNS: 30, SelfNS: 30, Bytes: 8}, "relu"),
				row(Values{Count: 2, TimeNS: 70, SelfNS: 70}, "relu", "matmul"),
			},
		},
		{
			name: "operations that run at the same time leave no time below 0, and cover it once",
			specs: []tracetest.Spec{
				tracetest.SpanAt("POST /predict", 1, 0, 0, 100), tracetest.OpAt("both", 3, 1, 0, 100), tracetest.OpAt("a", 4, 3, 0, 60),
				tracetest.OpAt("b", 5, 3, 20, 70),
				tracetest.OpAt("late", 6, 1, 0, 10), tracetest.OpAt("after", 7, 6, 10, 40),
			},
			want: []Row{
				row(Values{TimeNS: 0, SelfNS: 30}, "both"),
				row(Values{TimeNS: 60, SelfNS: 60}, "both", "a"),
				row(Values{TimeNS: 50, SelfNS: 50}, "both", "b"),
				row(Values{TimeNS: 0, SelfNS: 10}, "late"),
				row(Values{TimeNS: 30, SelfNS: 30}, "late", "after"),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check.Equal(t, "", tt.want, Of(tracetest.AddTo(trace.New(), tt.specs...)).Rows())
		})
	}
}

// Shapes are labels where the forest was made to keep them.
func TestStacksHaveShapes(t *testing.T) {
	e := tracetest.OpAt("matmul", 1, 0, 0, 10).Entry()
	e.InputShapes, e.DType, e.FLOPs = []op.Shape{{2, 3}}, "f32", op.Known(12)
	forest := trace.New()
	forest.KeepShapes()
	forest.Add(op.Record{Entry: e})
	want := []Row{{
		Frames: []string{"cuda:0", "matmul"}, Labels: Labels{Device: "cuda:0", Kind: op.KindCompute, Shape: "2x3 f32"},
		Values: Values{Count: 1, TimeNS: 10, SelfNS: 10, FLOPs: 12},
	}}
	check.Equal(t, "", want, Of(forest).Rows())
}

// naiveTime returns the duration of operation i without those of the operations of
// devices that are the nearest below it.
func naiveTime(n *tracetest.NaiveTree, i int) int64 {
	if n.Duplicate[i] {
		return n.Specs[i].End - n.Specs[i].Start
	}
	left := n.Specs[i].End - n.Specs[i].Start
	var below func(int)
	below = func(i int) {
		for _, c := range n.Children(i) {
			if n.Specs[c].DeviceSide() {
				left -= n.Specs[c].End - n.Specs[c].Start
			} else {
				below(c)
			}
		}
	}
	below(i)
	return max(0, left)
}

// naiveRequest returns what operation i worked for.
func naiveRequest(n *tracetest.NaiveTree, i int) Request {
	if n.Duplicate[i] {
		return Request{}
	}
	owner := n.NaiveOwner(i)
	if n.Execution[i] >= 0 {
		owner = n.Execution[i]
	}
	switch {
	case owner < 0:
		return Request{}
	case owner >= len(n.Specs):
		s := n.Specs[owner-len(n.Specs)]
		return naiveIDs(s.Root, s.TraceID(), s.RootID)
	}
	s := n.Specs[owner]
	return naiveIDs(s.Name, s.TraceID(), s.ID)
}

func naiveIDs(name string, of op.TraceID, id uint64) Request {
	if of.IsZero() {
		id = 0
	}
	return Request{Name: name, TraceID: of, SpanID: trace.SpanID(id)}
}

func TestStacksAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(30))
		forest, naive := tracetest.AddTo(trace.New(), specs...), tracetest.NewNaiveTree(specs)
		if !naive.FindExecutions() {
			return // links in a circle: see TestSharedExecutionsAddUp
		}
		ranks := make(map[op.Int]bool)
		for _, s := range specs {
			if s.DeviceSide() {
				ranks[s.Rank] = true
			}
		}
		var want []Row
		hosts, duplicates := int64(0), int64(0)
		for i, s := range specs {
			switch {
			case !s.IsOp || naive.Repeat[i]:
				continue
			case !s.DeviceSide():
				hosts++
				continue
			case naive.Duplicate[i]:
				duplicates++
			}
			row := Row{Labels: Labels{
				Kind: s.Kind, Request: naiveRequest(naive, i), Producer: Producer{Service: s.Service, Rank: s.Rank},
			}}
			row.Frames, _ = rawStack(naive, i, len(ranks) > 1)
			if s.Device != "" {
				row.Device = s.DeviceKey().Label(len(ranks) > 1)
			}
			at := slices.IndexFunc(want, func(w Row) bool { return w.Labels == row.Labels && slices.Equal(w.Frames, row.Frames) })
			if at < 0 {
				at, want = len(want), append(want, row)
			}
			want[at].Add(Values{Count: 1, TimeNS: naiveTime(naive, i), SelfNS: naive.Self(i), Bytes: s.Memory})
		}
		table := Of(forest)
		if table.HostSide != hosts || table.Duplicates != duplicates {
			t.Errorf("seed %d: %d of the host, %d duplicates, want %d and %d", seed, table.HostSide, table.Duplicates, hosts, duplicates)
		}
		order := func(a, b Row) int {
			return cmp.Compare(fmt.Sprintf("%q%v", a.Frames, a.Labels), fmt.Sprintf("%q%v", b.Frames, b.Labels))
		}
		got := table.Rows()
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		check.Equal(t, fmt.Sprintf("seed %d", seed), want, got)
	})
}

// The table does not depend on how many goroutines walk the trees.
func TestStacksDoNotDependOnWorkers(t *testing.T) {
	cases.Seeds(t, 30, func(seed uint64, r *rand.Rand) {
		forest := tracetest.AddTo(trace.New(), tracetest.RandomSpecs(r, 60)...)
		want := Of(forest)
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
		for _, workers := range []int{1, 3, 16} {
			runtime.GOMAXPROCS(workers)
			got := Of(forest)
			if diff := gocmp.Diff(want.Rows(), got.Rows()); diff != "" || want.Start != got.Start || want.End != got.End {
				t.Errorf("seed %d, %d workers (-want +got):\n%s", seed, workers, diff)
			}
		}
	})
}

// What is added up in parts is, together, what is added up at once.
func TestStacksOfParts(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		forest := tracetest.AddTo(trace.New(), tracetest.RandomSpecs(r, 40)...)
		want, got := Of(forest), NewTable(Limits{})
		for first := 0; first < forest.Len(); {
			end := min(forest.Len(), first+1+r.IntN(20))
			got.Merge(OfRange(forest, first, end))
			first = end
		}
		diff := gocmp.Diff(want.Rows(), got.Rows())
		if diff != "" || want.Start != got.Start || want.End != got.End || want.HostSide != got.HostSide || want.Duplicates != got.Duplicates {
			t.Errorf("seed %d (-at once +in parts):\n%s", seed, diff)
		}
		if rows := OfRange(forest, -1, -1).Rows(); len(rows) != 0 {
			t.Errorf("seed %d: none of the operations make %d rows", seed, len(rows))
		}
	})
}
