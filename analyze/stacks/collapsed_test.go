package stacks

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// hostileNames are names that collapsed stacks have to escape or to keep apart.
var hostileNames = []string{"", "a", "b", "ab", "a b", "a~", "a;b", "a:b", "\n", " ", "\xff"}

// pathOf returns a path of the frames.
func pathOf(frames ...string) *Path {
	var p Path
	for _, f := range frames {
		p.Push(f)
	}
	return &p
}

// The lines are those of a map from stacks to weights, sorted.
func TestWriteCollapsedAgainstMap(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		table, want := NewTable(Limits{}), map[string]int64{}
		for range r.IntN(60) {
			var path Path
			var frames []string
			for range 1 + r.IntN(4) {
				name := hostileNames[r.IntN(len(hostileNames))]
				path.Push(name)
				frames = append(frames, strings.ReplaceAll(Clean(name), ";", ":"))
			}
			weight := r.Int64N(3)
			table.Add(&path, &Labels{Device: hostileNames[r.IntN(3)]}, Values{Count: 1, SelfNS: weight})
			want[strings.Join(frames, ";")] += weight
		}
		var lines strings.Builder
		for _, stack := range slices.Sorted(maps.Keys(want)) {
			if want[stack] > 0 {
				fmt.Fprintf(&lines, "%s %d\n", stack, want[stack])
			}
		}
		var got bytes.Buffer
		check.OK(t, table.WriteCollapsed(&got))
		check.Equal(t, fmt.Sprintf("seed %d", seed), lines.String(), got.String())
	})
}

// A stack that is too deep counts for the one that ends in the frame Deeper.
func TestDepthIsBounded(t *testing.T) {
	table := NewTable(Limits{})
	var path Path
	for range 2 * MaxDepth {
		path.Push("call")
		table.Add(&path, &Labels{}, Values{Count: 1, SelfNS: 1})
	}
	var got bytes.Buffer
	check.OK(t, table.WriteCollapsed(&got))
	last := strings.Repeat("call;", MaxDepth-1) + Deeper + fmt.Sprintf(" %d\n", MaxDepth+1)
	if !strings.HasSuffix(got.String(), "\n"+last) || strings.Count(got.String(), "\n") != MaxDepth {
		t.Errorf("%d lines, the last one ends in %q", strings.Count(got.String(), "\n"), got.String()[max(0, got.Len()-20):])
	}
}

// So does one whose names are too long, until frames are taken away again.
func TestLengthIsBounded(t *testing.T) {
	path := pathOf("a", strings.Repeat("b", MaxBytes-100), "c")
	path.Push(strings.Repeat("d", 100))
	path.Push("e")
	check.Equal(t, "depth", 4, path.Depth())
	path.Cut(1)
	path.Push("f")
	check.Equal(t, "", []string{"a", "f"}, framesOf(string(path.text)))
	if got := framesOf(string(pathOf(strings.Repeat("x", MaxBytes+1), "y").text)); !slices.Equal(got, []string{Deeper}) {
		t.Errorf("a frame that is too long: %d frames", len(got))
	}
}
