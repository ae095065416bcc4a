package stacks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
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
	if r.IntN(3) == 0 {
		a.Producer = Producer{Service: hostileNames[r.IntN(2)], Rank: op.Int{V: int64(r.IntN(2)), Known: true}, Host: hostileNames[r.IntN(2)]}
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
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
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
		check.Equal(t, fmt.Sprintf("seed %d", seed), want, table.Rows(), cmpopts.EquateEmpty())
		check.Equal(t, fmt.Sprintf("seed %d: beyond the limits", seed), Overflow{}, table.Overflowed())
	})
}

// Beyond the limits the rows still add up, and depend neither on the order of additions
// nor on how these are divided among tables.
func TestRowsDoNotDependOnOrder(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		limits := Limits{Stacks: 1 + r.IntN(20), Shapes: 1 + r.IntN(20), Requests: 1 + r.IntN(20)}
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
		check.Equal(t, fmt.Sprintf("seed %d: operations", seed), want.Count, whole.Operations())
		check.Equal(t, fmt.Sprintf("seed %d: the sum of the rows", seed), want, got)
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
		check.Equal(t, fmt.Sprintf("seed %d: merged", seed), rows, parts[0].Rows())
		if whole.Start != parts[0].Start || whole.End != parts[0].End {
			t.Errorf("seed %d: %v to %v, merged %v to %v", seed, whole.Start, whole.End, parts[0].Start, parts[0].End)
		}
		if want, got := whole.Overflowed(), parts[0].Overflowed(); want != got {
			t.Errorf("seed %d: %+v beyond the limits, merged %+v", seed, want, got)
		}
	})
}

// Each stack and shape has one row for the requests that there was no room for, each
// stack one for the shapes, and all stacks together one.
func TestOverflow(t *testing.T) {
	table := NewTable(Limits{Stacks: 2, Shapes: 3, Requests: 4})
	for i := range 9 {
		request := Request{Name: "request", SpanID: op.SpanID{7: byte(i + 1)}}
		table.Add(pathOf("a"), &Labels{Shape: "2", Request: request}, Values{Count: 1, SelfNS: 5})
		table.Add(pathOf("a"), &Labels{Request: request}, Values{Count: 1, SelfNS: 1})
	}
	table.Add(pathOf("a"), &Labels{Shape: "2"}, Values{Count: 1, SelfNS: 7})
	requests := make(map[op.SpanID]int)
	others := make(map[string]Values)
	for _, row := range table.Rows() {
		if row.Request.Name == "request" {
			requests[row.Request.SpanID]++
		} else {
			others[row.Shape+" "+row.Request.Name] = row.Values
		}
	}
	kept := int64(0)
	for id, rows := range requests {
		if kept++; rows != 2 {
			t.Errorf("of request %s there are %d rows", id, rows)
		}
	}
	lost := 9 - kept
	want := map[string]Values{
		"2 ": {Count: 1, SelfNS: 7}, "2 (other)": {Count: lost, SelfNS: 5 * lost}, " (other)": {Count: lost, SelfNS: lost},
	}
	if diff := cmp.Diff(want, others); diff != "" || kept < 1 || kept > 2 {
		t.Errorf("%d requests are kept; others (-want +got):\n%s", kept, diff)
	}
	check.Equal(t, "beyond the limits", Overflow{Requests: lost}, table.Overflowed())

	table = NewTable(Limits{Stacks: 3, Shapes: 2})
	for i := range 5 {
		table.Add(pathOf("a"), &Labels{Shape: fmt.Sprint(i)}, Values{Count: 1, Bytes: 1})
	}
	if got := table.Rows(); len(got) != 3 || !slices.ContainsFunc(got, func(r Row) bool {
		return r.Labels == Labels{Shape: Other, Request: Request{Name: Other}} && r.Values == Values{Count: 3, Bytes: 3}
	}) {
		t.Errorf("rows of other shapes: %+v", got)
	}
	for i := range 5 {
		table.Add(pathOf(fmt.Sprint("b", i)), &Labels{}, Values{Count: 1, FLOPs: 1})
	}
	check.Equal(t, "beyond the limits", Overflow{Stacks: 3, Shapes: 3}, table.Overflowed())
	if rows := table.Rows(); !slices.ContainsFunc(rows, func(r Row) bool {
		return slices.Equal(r.Frames, []string{Other}) && r.Labels == Labels{} && r.Count >= 3
	}) {
		t.Errorf("no row of other stacks: %+v", rows)
	}
}

// Of the requests all rows are kept or none, whatever the order of additions.
func TestRequestsAreKeptAsAWhole(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		table := NewTable(Limits{Requests: 1 + r.IntN(30)})
		want := make(map[op.SpanID]int64)
		for range 200 {
			request := Request{Name: "r", SpanID: op.SpanID{7: byte(1 + r.IntN(12))}}
			table.Add(pathOf(fmt.Sprint(r.IntN(4))), &Labels{Shape: hostileNames[r.IntN(4)], Request: request}, Values{Count: 1})
			want[request.SpanID]++
		}
		got := make(map[op.SpanID]int64)
		for _, row := range table.Rows() {
			if row.Request.Name == "r" {
				got[row.Request.SpanID] += row.Count
			}
		}
		for id, n := range got {
			if n != want[id] {
				t.Errorf("seed %d: %d of %d operations of %s", seed, n, want[id], id)
			}
		}
		if lost := table.Overflowed().Requests; lost != int64(len(want)-len(got)) {
			t.Errorf("seed %d: %d of %d requests are kept, %d are not", seed, len(got), len(want), lost)
		}
	})
}

// Sums stop at the largest number instead of wrapping around.
func TestSumsSaturate(t *testing.T) {
	table := NewTable(Limits{})
	for range 3 {
		table.Add(pathOf("a"), &Labels{Shape: "s"}, Values{1, math.MaxInt64, math.MaxInt64, math.MaxInt64, -5})
	}
	want := []Row{{[]string{"a"}, Labels{Shape: "s"}, Values{3, math.MaxInt64, math.MaxInt64, math.MaxInt64, 0}}}
	check.Equal(t, "", want, table.Rows())
}

// What path and labels hold may change after they were added.
func TestNothingIsKept(t *testing.T) {
	table := NewTable(Limits{})
	path := pathOf("a", "b")
	table.Add(path, &Labels{}, Values{Count: 1})
	path.Cut(0)
	path.Push("x")
	path.Push("y")
	check.Equal(t, "frames", []string{"a", "b"}, table.Rows()[0].Frames)
}
