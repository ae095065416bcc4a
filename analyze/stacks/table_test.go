package stacks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

type addition struct {
	frames []string
	Labels
	Values
	start, end int64
}

func (a *addition) addTo(t *Table) {
	t.Add(pathOf(a.frames...), &a.Labels, a.Values)
	t.AddTime(a.start, a.end)
}

func randomAddition(r *rand.Rand) addition {
	a := addition{
		Labels: Labels{Device: hostileNames[r.IntN(3)], Kind: op.Kind(r.IntN(3)), Shape: hostileNames[r.IntN(3)]},
		Values: Values{1, r.Int64N(100), r.Int64N(100), r.Int64N(100), r.Int64N(100)},
		start:  r.Int64N(100), end: 100 + r.Int64N(100),
	}
	if r.IntN(3) == 0 {
		a.Producer = Producer{
			Service: hostileNames[r.IntN(2)], Rank: op.Known(int64(r.IntN(2))), Host: hostileNames[r.IntN(2)],
		}
	}
	for range 1 + r.IntN(3) {
		a.frames = append(a.frames, hostileNames[r.IntN(len(hostileNames))])
	}
	if r.IntN(2) == 0 {
		a.Request = Request{
			Name: hostileNames[r.IntN(3)], SpanID: op.SpanID{7: byte(r.IntN(3))}, TraceID: op.TraceID{15: byte(r.IntN(2))},
		}
	}
	return a
}

// Each addition is in its own row or, beyond the limits, in the row for dropped requests of its stack and shape, for
// dropped shapes of its stack, or for dropped stacks, in any order of additions.
func TestRowsAgainstDefinition(t *testing.T) {
	cases.Seeds(t, 400, func(seed uint64, r *rand.Rand) {
		limits := Limits{Stacks: 1 + r.IntN(20), Shapes: 1 + r.IntN(20), Requests: 1 + r.IntN(20)}
		limits = tracetest.Pick(r, limits, Limits{}, Limits{Shapes: limits.Shapes}, Limits{Requests: limits.Requests})
		whole := NewTable(limits)
		all := make([]addition, r.IntN(80))
		for i := range all {
			all[i] = randomAddition(r)
			all[i].addTo(whole)
		}
		rows := whole.Rows()
		want := slices.Clone(rows)
		for i := range want {
			want[i].Values = Values{}
		}
		lost := [4]map[string]bool{{}, {}, {}, {}} // the dropped rows, by level
		added := 0
		for _, a := range all {
			own := Row{Frames: a.frames, Labels: a.Labels}
			noRequest := own
			noRequest.Request = Request{Name: Other}
			noShape := noRequest
			noShape.Shape = Other
			for level, row := range []Row{own, noRequest, noShape, {Frames: []string{Other}}} {
				i := slices.IndexFunc(want, func(w Row) bool {
					return w.Labels == row.Labels && slices.Equal(w.Frames, row.Frames)
				})
				if i < 0 {
					continue
				}
				want[i].Add(a.Values)
				added++
				request := fmt.Sprint(a.Request)
				shape := fmt.Sprintf("%q%v", a.frames, noRequest)
				stack := fmt.Sprintf("%q%v", a.frames, noShape)
				lost[level][[]string{request, request, shape, stack}[level]] = true
				break
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d", seed), want, rows)
		check.Equal(t, fmt.Sprintf("seed %d: operations", seed), len(all), added)
		got := whole.Overflowed()
		beyond := Overflow{int64(len(lost[3])), int64(len(lost[2])), int64(len(lost[1]))}
		bounded := got.Stacks == beyond.Stacks && (limits.Stacks > 0 || got.Shapes == beyond.Shapes)
		if got != beyond && !(limits.Shapes > 0 && bounded) {
			t.Errorf("seed %d: %+v beyond %+v, want %v", seed, got, limits, lost)
		}
		for request := range lost[0] {
			if limits.Shapes == 0 && lost[1][request] {
				t.Errorf("seed %d: operations of %s are in own rows and in others", seed, request)
			}
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		shuffled := NewTable(limits)
		for i := range all {
			all[i].addTo(shuffled)
		}
		check.Equal(t, fmt.Sprintf("seed %d: in another order", seed), rows, shuffled.Rows())
		if whole.Start != shuffled.Start || whole.End != shuffled.End || shuffled.Overflowed() != got {
			t.Errorf("seed %d: %v to %v, %v beyond the limits, in another order %v to %v, %v", seed, whole.Start,
				whole.End, got, shuffled.Start, shuffled.End, shuffled.Overflowed())
		}
	})
}

// Sums stop at the largest number and do not wrap around.
func TestSumsSaturate(t *testing.T) {
	table := NewTable(Limits{})
	for range 3 {
		table.Add(pathOf("a"), &Labels{Shape: "s"}, Values{1, math.MaxInt64, math.MaxInt64, math.MaxInt64, -5})
	}
	want := []Row{{[]string{"a"}, Labels{Shape: "s"}, Values{3, math.MaxInt64, math.MaxInt64, math.MaxInt64, 0}}}
	check.Equal(t, "", want, table.Rows())
}

// Add does not keep the path.
func TestAddDoesNotKeepThePath(t *testing.T) {
	table := NewTable(Limits{})
	path := pathOf("a", "b")
	table.Add(path, &Labels{}, Values{Count: 1})
	path.Cut(0)
	path.Push("x")
	path.Push("y")
	check.Equal(t, "frames", []string{"a", "b"}, table.Rows()[0].Frames)
}

// hostileNames are names that collapsed stacks must escape or keep apart.
var hostileNames = []string{"", "a", "b", "ab", "a b", "a~", "a;b", "a:b", "\n", " ", "\xff"}

func pathOf(frames ...string) *Path {
	var p Path
	for _, f := range frames {
		p.Push(f)
	}
	return &p
}

// A stack of too many or too long names ends in the frame Deeper, until frames are cut.
func TestStackDepthIsBounded(t *testing.T) {
	path := pathOf("a", strings.Repeat("b", MaxBytes-100), "c", strings.Repeat("d", 100), "e")
	check.Equal(t, "depth", 4, path.Depth())
	path.Cut(1)
	path.Push("f")
	check.Equal(t, "", []string{"a", "f"}, framesOf(string(path.text)))
	check.Equal(t, "too long", []string{Deeper}, framesOf(string(pathOf(strings.Repeat("x", MaxBytes+1), "y").text)))
	deep := pathOf(slices.Repeat([]string{"call"}, 3000)...)
	check.Equal(t, "too deep", append(slices.Repeat([]string{"call"}, MaxDepth-1), Deeper), framesOf(string(deep.text)))
}
