package analyze

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// selfTimes returns the self time of each operation by name.
func selfTimes(forest *Forest) map[string]int64 {
	times := make(map[string]int64)
	for n, self := range forest.selfTimes() {
		times[n.Name()] = self
	}
	return times
}

func TestSelfTimes(t *testing.T) {
	tests := []struct {
		name  string
		specs []spec
		want  map[string]int64
	}{
		{
			name: "children that overlap count once",
			specs: []spec{
				opAt("relu", 1, 0, 0, 100), opAt("matmul", 2, 1, 10, 50), opAt("softmax", 3, 1, 40, 70),
			},
			want: map[string]int64{"relu": 40, "matmul": 40, "softmax": 30},
		},
		{
			name: "C7: a child that outlives its parent is clipped, one outside does not count",
			specs: []spec{
				opAt("launch", 1, 0, 10, 20), opAt("kernel", 2, 1, 15, 90), opAt("later", 3, 1, 30, 40), opAt("early", 4, 1, 0, 10),
			},
			want: map[string]int64{"launch": 5, "kernel": 75, "later": 10, "early": 10},
		},
		{
			name: "C7: never negative",
			specs: []spec{
				opAt("short", 1, 0, 10, 20), opAt("a", 2, 1, 0, 90), opAt("b", 3, 1, 0, 90),
			},
			want: map[string]int64{"short": 0, "a": 90, "b": 90},
		},
		{
			name: "spans that are no operations are looked through, and do not clip",
			specs: []spec{
				opAt("block", 1, 0, 0, 100), spanAt("layer", 2, 1, 0, 20), spanAt("part", 3, 2, 0, 10),
				opAt("matmul", 4, 3, 10, 40), opAt("add", 5, 1, 30, 50), opAt("inner", 6, 4, 90, 95),
			},
			want: map[string]int64{"block": 60, "matmul": 30, "add": 20, "inner": 5},
		},
		{
			name: "grandchildren do not count twice",
			specs: []spec{
				opAt("a", 1, 0, 0, 100), opAt("b", 2, 1, 0, 60), opAt("c", 3, 2, 0, 60),
			},
			want: map[string]int64{"a": 40, "b": 0, "c": 60},
		},
		{
			name: "without a start",
			specs: []spec{
				opAt("a", 1, 0, 0, 100), opAt("b", 2, 1, 0, 60).withoutStart(), opAt("c", 3, 2, 0, 10), opAt("d", 4, 1, 90, 100),
			},
			want: map[string]int64{"a": 90, "b": 60, "c": 10, "d": 10},
		},
		{
			name:  "a repeat has no self time",
			specs: []spec{opAt("a", 1, 0, 0, 100), opAt("again", 1, 0, 0, 100)},
			want:  map[string]int64{"a": 100},
		},
		{
			name: "a duplicate has its duration, and no place in the tree",
			specs: []spec{
				opAt("a", 1, 0, 0, 100), opAt("b", 2, 1, 0, 60), opAt("a again", 1, 0, 0, 90), opAt("b again", 2, 1, 60, 100),
				opAt("b once more", 2, 1, 60, 100),
			},
			want: map[string]int64{"a": 40, "b": 60, "a again": 90, "b again": 40},
		},
		{
			name:  "zero durations stay",
			specs: []spec{opAt("a", 1, 0, 5, 5), opAt("b", 2, 1, 5, 5)},
			want:  map[string]int64{"a": 0, "b": 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, selfTimes(addTo(NewForest(), tt.specs...))); diff != "" {
				t.Errorf("self times (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelfTimesAgainstNaive(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(25))
		forest, naive := addTo(NewForest(), specs...), newNaiveTree(specs)
		got := make(map[int]int64)
		for n, self := range forest.selfTimes() {
			got[int(n.row)] = self
			if self < 0 || self > n.Duration() {
				t.Errorf("seed %d: self time %d of an operation of %d ns", seed, self, n.Duration())
			}
		}
		want := make(map[int]int64)
		sums := make(map[operationKey]int64)
		for i, s := range specs {
			if s.isOp && !naive.repeat[i] {
				want[i] = naive.self(i)
				sums[operationKey{s.name, s.side}] += want[i]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: self times (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(sums, forest.operationSelfTimes()); diff != "" {
			t.Errorf("seed %d: sums (-want +got):\n%s", seed, diff)
		}
	})
}

func TestOperationSelfTimes(t *testing.T) {
	forest := addTo(NewForest(),
		opAt("matmul", 1, 0, 0, 100), opAt("matmul", 2, 0, 0, 50), opAt("matmul", 3, 0, 0, 30).fromHost(),
		opAt("relu", 4, 1, 0, 10), opAt("relu", 5, 0, 0, math.MaxInt64).withoutStart(),
	)
	want := map[operationKey]int64{
		{"matmul", op.SideNone}: 140,
		{"matmul", op.SideHost}: 30,
		{"relu", op.SideNone}:   math.MaxInt64, // does not wrap around
	}
	if diff := cmp.Diff(want, forest.operationSelfTimes()); diff != "" {
		t.Errorf("self times (-want +got):\n%s", diff)
	}
}

// C5: nothing recurses on the depth of the tree.
func TestMillionDeepChain(t *testing.T) {
	depth := cases.Count(t, 50_000, 1_000_000)
	forest := NewForest()
	for i := range depth {
		s := opAt("call", uint64(i+1), uint64(i), int64(i), int64(2*depth-i))
		if i%3 == 1 {
			s = spanAt("layer", uint64(i+1), uint64(i), int64(i), int64(2*depth-i))
		}
		forest.Add(s.record())
	}
	total := int64(0)
	for _, self := range forest.selfTimes() {
		total += self
	}
	if total != int64(2*depth) {
		t.Errorf("self times add up to %d, want the root's %d", total, 2*depth)
	}
	root := forest.node(0)
	path := forest.CriticalPath(root)
	length := int64(0)
	for _, s := range path.Segments {
		length += s.DurationNS
	}
	if length != root.Duration() {
		t.Errorf("the critical path takes %d ns, want %d", length, root.Duration())
	}
	if n := len(forest.Requests().unattached); n != int(forest.structure().Ops) {
		t.Errorf("%d unattached operations, want all %d", n, forest.structure().Ops)
	}
}
