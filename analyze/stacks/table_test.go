package stacks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/random"
	"github.com/optrace/optrace/op"
)

// addition is a call of Add.
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
	for range 1 + r.IntN(3) {
		a.frames = append(a.frames, hostileNames[r.IntN(len(hostileNames))])
	}
	if r.IntN(2) == 0 {
		a.Request = Request{Name: hostileNames[r.IntN(3)], SpanID: op.SpanID{7: byte(r.IntN(3))}, TraceID: op.TraceID{15: byte(r.IntN(2))}}
	}
	return a
}

// Without limits the rows are those of a map.
func TestRowsAgainstMap(t *testing.T) {
	random.Seeds(100, func(seed uint64, r *rand.Rand) {
		table := NewTable(Limits{})
		var want []Row
		for range r.IntN(80) {
			a := randomAddition(r)
			a.addTo(table)
			i := slices.IndexFunc(want, func(w Row) bool { return w.Labels == a.Labels && slices.Equal(w.Frames, a.frames) })
			if i < 0 {
				i, want = len(want), append(want, Row{Frames: a.frames, Labels: a.Labels})
			}
			want[i].Add(a.Values)
		}
		slices.SortFunc(want, compareRows)
		if diff := cmp.Diff(want, table.Rows(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", seed, diff)
		}
		if stacks, rows := table.Overflowed(); stacks != 0 || rows != 0 {
			t.Errorf("seed %d: %d stacks and %d rows beyond the limits", seed, stacks, rows)
		}
	})
}

// Beyond the limits the rows still add up, and depend neither on the order of additions
// nor on how these are divided among tables.
func TestRowsDoNotDependOnOrder(t *testing.T) {
	random.Seeds(200, func(seed uint64, r *rand.Rand) {
		limits := Limits{Stacks: 1 + r.IntN(20), Rows: 1 + r.IntN(20)}
		whole := NewTable(limits)
		var all []addition
		var want Values
		for range r.IntN(80) {
			a := randomAddition(r)
			a.addTo(whole)
			all = append(all, a)
			want.Add(a.Values)
		}
		rows := whole.Rows()
		var got Values
		for _, row := range rows {
			got.Add(row.Values)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: the sum of the rows (-want +got):\n%s", seed, diff)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		parts := make([]*Table, 1+r.IntN(4))
		for i := range parts {
			parts[i] = NewTable(limits)
		}
		for i := range all {
			all[i].addTo(parts[r.IntN(len(parts))])
		}
		for len(parts) > 1 { // in any tree of merges
			i := r.IntN(len(parts) - 1)
			parts[i].Merge(parts[i+1])
			parts = slices.Delete(parts, i+1, i+2)
		}
		if diff := cmp.Diff(rows, parts[0].Rows()); diff != "" {
			t.Errorf("seed %d: merged (-whole +merged):\n%s", seed, diff)
		}
		if whole.Start != parts[0].Start || whole.End != parts[0].End {
			t.Errorf("seed %d: %v to %v, merged %v to %v", seed, whole.Start, whole.End, parts[0].Start, parts[0].End)
		}
		s1, r1 := whole.Overflowed()
		if s2, r2 := parts[0].Overflowed(); s1 != s2 || r1 != r2 {
			t.Errorf("seed %d: %d stacks and %d rows beyond the limits, merged %d and %d", seed, s1, r1, s2, r2)
		}
	})
}

// What there is no room for is in rows that say so: first shapes and requests, then
// stacks.
func TestOverflow(t *testing.T) {
	table := NewTable(Limits{Stacks: 2, Rows: 3})
	for i := range 10 {
		request := Request{Name: "request", SpanID: op.SpanID{7: byte(i + 1)}}
		table.Add(pathOf("a"), &Labels{Request: request}, Values{Count: 1, SelfNS: 5})
	}
	table.Add(pathOf("a"), &Labels{}, Values{Count: 1, SelfNS: 7})
	kept, other := 0, Row{}
	for _, row := range table.Rows() {
		if row.Shape == Other {
			other = row
		} else if row.Request.Name == "request" {
			kept++
		}
	}
	if want := (Row{[]string{"a"}, Labels{Shape: Other, Request: Request{Name: Other}}, Values{Count: 7, SelfNS: 35}}); kept != 3 ||
		!cmp.Equal(want, other) {
		t.Errorf("%d requests are kept, and others %+v", kept, other)
	}
	for i := range 5 {
		table.Add(pathOf(fmt.Sprint("b", i)), &Labels{}, Values{Count: 1, SelfNS: 1})
	}
	rows := table.Rows()
	i := slices.IndexFunc(rows, func(r Row) bool { return slices.Equal(r.Frames, []string{Other}) })
	if i < 0 || rows[i].Labels != (Labels{}) {
		t.Errorf("no row of other stacks: %+v", rows)
	}
	if stacks, details := table.Overflowed(); stacks != 4 || details != 7 {
		t.Errorf("%d stacks and %d rows beyond the limits, want 4 and 7", stacks, details)
	}
}

// Sums stop at the largest number instead of wrapping around.
func TestSumsSaturate(t *testing.T) {
	table := NewTable(Limits{})
	for range 3 {
		table.Add(pathOf("a"), &Labels{Shape: "s"}, Values{1, math.MaxInt64, math.MaxInt64, math.MaxInt64, -5})
	}
	want := []Row{{[]string{"a"}, Labels{Shape: "s"}, Values{3, math.MaxInt64, math.MaxInt64, math.MaxInt64, 0}}}
	if diff := cmp.Diff(want, table.Rows()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What path and labels hold may change after they were added.
func TestNothingIsKept(t *testing.T) {
	table := NewTable(Limits{})
	path := pathOf("a", "b")
	table.Add(path, &Labels{}, Values{Count: 1})
	path.Cut(0)
	path.Push("x")
	path.Push("y")
	if got := table.Rows()[0].Frames; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("frames %q", got)
	}
}
