package analyze

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

func TestStacks(t *testing.T) {
	request := stacks.Request{Name: "POST /predict", TraceID: op.TraceID{15: 1}, SpanID: op.SpanID{7: 1}}
	onCUDA := stacks.Labels{Device: "cuda:0", Kind: op.KindCompute, Request: request}
	row := func(v stacks.Values, frames ...string) stacks.Row {
		v.Count = max(1, v.Count)
		return stacks.Row{Frames: append([]string{"POST /predict", "cuda:0"}, frames...), Labels: onCUDA, Values: v}
	}
	tests := []struct {
		name  string
		specs []spec
		want  []stacks.Row
	}{
		{
			name: "an operation below another takes its time from that",
			specs: []spec{
				spanAt("POST /predict", 1, 0, 0, 100),
				opAt("relu", 3, 1, 0, 100).writing(8), opAt("matmul", 4, 3, 20, 80), opAt("matmul", 5, 3, 80, 90),
			},
			want: []stacks.Row{
				row(stacks.Values{TimeNS: 30, SelfNS: 30, Bytes: 8}, "relu"),
				row(stacks.Values{Count: 2, TimeNS: 70, SelfNS: 70}, "relu", "matmul"),
			},
		},
		{
			name: "operations that run at the same time leave no time below 0, and cover it once",
			specs: []spec{
				spanAt("POST /predict", 1, 0, 0, 100), opAt("both", 3, 1, 0, 100), opAt("a", 4, 3, 0, 60), opAt("b", 5, 3, 20, 70),
				opAt("late", 6, 1, 0, 10), opAt("after", 7, 6, 10, 40),
			},
			want: []stacks.Row{
				row(stacks.Values{TimeNS: 0, SelfNS: 30}, "both"),
				row(stacks.Values{TimeNS: 60, SelfNS: 60}, "both", "a"),
				row(stacks.Values{TimeNS: 50, SelfNS: 50}, "both", "b"),
				row(stacks.Values{TimeNS: 0, SelfNS: 10}, "late"),
				row(stacks.Values{TimeNS: 30, SelfNS: 30}, "late", "after"),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := gocmp.Diff(tt.want, addTo(NewForest(), tt.specs...).Stacks().Rows()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Shapes are labels where the forest was made to keep them.
func TestStacksHaveShapes(t *testing.T) {
	e := opAt("matmul", 1, 0, 0, 10).entry()
	e.InputShapes, e.DType, e.FLOPs = []op.Shape{{2, 3}}, "f32", op.Known(12)
	forest := NewForest()
	forest.KeepShapes()
	forest.Add(op.Record{Entry: e})
	want := []stacks.Row{{
		Frames: []string{"cuda:0", "matmul"}, Labels: stacks.Labels{Device: "cuda:0", Kind: op.KindCompute, Shape: "2x3 f32"},
		Values: stacks.Values{Count: 1, TimeNS: 10, SelfNS: 10, FLOPs: 12},
	}}
	if diff := gocmp.Diff(want, forest.Stacks().Rows()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// naiveTime returns the duration of operation i without those of the operations of
// devices that are the nearest below it.
func (n *naiveTree) naiveTime(i int) int64 {
	left := n.specs[i].end - n.specs[i].start
	var below func(int)
	below = func(i int) {
		for _, c := range n.children(i) {
			if n.specs[c].deviceSide() {
				left -= n.specs[c].end - n.specs[c].start
			} else {
				below(c)
			}
		}
	}
	below(i)
	return max(0, left)
}

// naiveRequest returns what operation i worked for.
func (n *naiveTree) naiveRequest(i int) stacks.Request {
	owner := n.naiveOwner(i)
	if n.execution[i] >= 0 {
		owner = n.execution[i]
	}
	switch {
	case owner < 0:
		return stacks.Request{}
	case owner >= len(n.specs):
		s := n.specs[owner-len(n.specs)]
		return naiveIDs(s.root, s.traceID(), s.rootID)
	}
	s := n.specs[owner]
	return naiveIDs(s.name, s.traceID(), s.id)
}

func naiveIDs(name string, trace op.TraceID, id uint64) stacks.Request {
	if trace.IsZero() {
		id = 0
	}
	return stacks.Request{Name: name, TraceID: trace, SpanID: spanID(id)}
}

func TestStacksAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(30))
		forest, naive := addTo(NewForest(), specs...), newNaiveTree(specs)
		if !naive.findExecutions() {
			return // links in a circle: see TestSharedExecutionsAddUp
		}
		ranks := make(map[op.Int]bool)
		for _, s := range specs {
			if s.deviceSide() {
				ranks[s.rank] = true
			}
		}
		var want []stacks.Row
		hosts, duplicates := int64(0), int64(0)
		for i, s := range specs {
			switch {
			case !s.isOp || naive.repeat[i]:
				continue
			case !s.deviceSide():
				hosts++
				continue
			case naive.duplicate[i]:
				duplicates++
				continue
			}
			row := stacks.Row{Labels: stacks.Labels{
				Kind: s.kind, Request: naive.naiveRequest(i), Producer: stacks.Producer{Service: s.service, Rank: s.rank},
			}}
			row.Frames, _ = naive.rawStack(i, len(ranks) > 1)
			if s.device != "" {
				row.Device = s.deviceKey().Label(len(ranks) > 1)
			}
			at := slices.IndexFunc(want, func(w stacks.Row) bool { return w.Labels == row.Labels && slices.Equal(w.Frames, row.Frames) })
			if at < 0 {
				at, want = len(want), append(want, row)
			}
			want[at].Add(stacks.Values{Count: 1, TimeNS: naive.naiveTime(i), SelfNS: naive.self(i), Bytes: s.memory})
		}
		table := forest.Stacks()
		if table.HostSide != hosts || table.Duplicates != duplicates {
			t.Errorf("seed %d: %d of the host, %d duplicates, want %d and %d", seed, table.HostSide, table.Duplicates, hosts, duplicates)
		}
		order := func(a, b stacks.Row) int {
			return cmp.Compare(fmt.Sprintf("%q%v", a.Frames, a.Labels), fmt.Sprintf("%q%v", b.Frames, b.Labels))
		}
		got := table.Rows()
		slices.SortFunc(want, order)
		slices.SortFunc(got, order)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", seed, diff)
		}
	})
}

// The table does not depend on how many goroutines walk the trees.
func TestStacksDoNotDependOnWorkers(t *testing.T) {
	cases.Seeds(t, 30, func(seed uint64, r *rand.Rand) {
		forest := addTo(NewForest(), randomSpecs(r, 60)...)
		want := forest.Stacks()
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
		for _, workers := range []int{1, 3, 16} {
			runtime.GOMAXPROCS(workers)
			got := forest.Stacks()
			if diff := gocmp.Diff(want.Rows(), got.Rows()); diff != "" || want.Start != got.Start || want.End != got.End {
				t.Errorf("seed %d, %d workers (-want +got):\n%s", seed, workers, diff)
			}
		}
	})
}

// What is added up in parts is, together, what is added up at once.
func TestStacksOfParts(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		forest := addTo(NewForest(), randomSpecs(r, 40)...)
		want, got := forest.Stacks(), stacks.NewTable(stacks.Limits{})
		for first := 0; first < forest.Len(); {
			end := min(forest.Len(), first+1+r.IntN(20))
			got.Merge(forest.StacksOf(first, end))
			first = end
		}
		diff := gocmp.Diff(want.Rows(), got.Rows())
		if diff != "" || want.Start != got.Start || want.End != got.End || want.HostSide != got.HostSide || want.Duplicates != got.Duplicates {
			t.Errorf("seed %d (-at once +in parts):\n%s", seed, diff)
		}
		if rows := forest.StacksOf(-1, -1).Rows(); len(rows) != 0 {
			t.Errorf("seed %d: none of the operations make %d rows", seed, len(rows))
		}
	})
}
