package marks_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

// Names of ranges have the meanings in testdata/names.txt.
func TestOf(t *testing.T) {
	golden.Lines(t, "testdata/names.txt", func(name string) string {
		m, ok := marks.Of(name)
		if !ok {
			return "none"
		}
		kind := "range"
		if m.IsStep() {
			kind = "step"
		}
		cells := []string{kind, m.Number.String(), m.Tokens.String(), m.Requests.String(), cmp.Or(m.Phase, "-")}
		return strings.ReplaceAll(strings.Join(cells, " | "), "unknown", "-")
	})
}

func TestStepsAt(t *testing.T) {
	var steps marks.Steps
	for _, s := range []struct {
		rank       int
		process    int64
		start, end int64
		number     int64
	}{
		{rank: 1, process: 1, start: 20, end: 30, number: 8}, {rank: 1, process: 1, start: 10, end: 20, number: 7},
		{rank: 2, process: 1, start: 30, end: 40, number: 9}, // a profiler's step beside an engine's
		{rank: 2, process: 2, end: 5, number: 1},
		{rank: 1, process: 3, start: 10, end: 20, number: -1}, {rank: 1, process: 3, start: 12, end: 14, number: -1},
		// one in another
		{rank: 1, process: 3, start: 20, end: 25, number: -1},
	} {
		m := marks.Mark{Rank: s.rank}
		if s.number >= 0 {
			m.Number = op.Known(s.number)
		}
		steps.Add(&m, marks.Step{Process: s.process, Start: s.start, End: s.end})
	}
	steps.Settle(func(yield func(uint32, marks.Step) bool) {
		for i := range int64(4) { // "a" comes four times, "b" three times and takes longer; process 1 has marks
			_ = yield(7, marks.Step{Process: 4, Start: 100 * i, End: 100*i + 10, Name: 1}) &&
				(i == 0 || yield(7, marks.Step{Process: 4, Start: 100*i + 20, End: 100*i + 90, Name: 2})) &&
				yield(8, marks.Step{Process: 1, Start: 100 * i, End: 100*i + 90, Name: 3})
		}
	})
	var got []int64
	at := [][2]int64{
		{1, 9}, {1, 10}, {1, 19}, {1, 20}, {1, 29}, {1, 30}, {2, 4}, {2, 15}, {5, 4}, {0, 4},
		{3, 11}, {3, 13}, {3, 19}, {3, 22}, {4, 5}, {4, 30}, {4, 305}, {4, 350},
	}
	for _, a := range at {
		n := int64(-1)
		if s := steps.At(a[0], a[1]); s != nil {
			n = s.Number.V
		}
		got = append(got, n)
	}
	want := []int64{-1, 7, 7, 8, 8, -1, 1, -1, -1, -1, 0, 0, 0, 1, 0, -1, 3, -1}
	check.Equal(t, fmt.Sprintf("steps at %v", at), want, got)
}
