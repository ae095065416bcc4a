package stacks

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/internal/random"
)

// The lines are those of a map from stacks to weights, sorted.
func TestWriteAgainstMap(t *testing.T) {
	names := []string{"", "a", "b", "ab", "a b", "a~", "a;b", "a:b", "\n", " ", "\xff"}
	random.Seeds(100, func(seed uint64, r *rand.Rand) {
		tree, want := NewTree(), map[string]int64{}
		for range r.IntN(60) {
			stack, frames := Root, []string{}
			for range 1 + r.IntN(4) {
				name := names[r.IntN(len(names))]
				stack = tree.Below(stack, tree.Frame(name))
				frames = append(frames, Escape(name))
			}
			weight := r.Int64N(3)
			tree.Add(stack, weight)
			want[strings.Join(frames, ";")] += weight
		}
		var lines strings.Builder
		for _, stack := range slices.Sorted(maps.Keys(want)) {
			if want[stack] > 0 {
				fmt.Fprintf(&lines, "%s %d\n", stack, want[stack])
			}
		}
		var got bytes.Buffer
		if err := tree.Write(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(lines.String(), got.String()); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", seed, diff)
		}
	})
}

// A stack that is too deep counts for the one that ends in the frame Deeper.
func TestDepthIsBounded(t *testing.T) {
	tree := NewTree()
	call, stack := tree.Frame("call"), Root
	for range 2 * MaxDepth {
		stack = tree.Below(stack, call)
		tree.Add(stack, 1)
	}
	var got bytes.Buffer
	if err := tree.Write(&got); err != nil {
		t.Fatal(err)
	}
	last := strings.Repeat("call;", MaxDepth-1) + Deeper + fmt.Sprintf(" %d\n", MaxDepth+1)
	if !strings.HasSuffix(got.String(), "\n"+last) || strings.Count(got.String(), "\n") != MaxDepth {
		t.Errorf("%d lines, the last one ends in %q", strings.Count(got.String(), "\n"), got.String()[max(0, got.Len()-20):])
	}
}
