package requests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestDivisionIsExact(t *testing.T) {
	for _, tt := range []struct {
		total    int64
		n        int
		weights  []int64
		dropped  int64
		want     []int64
		unlinked int64
	}{
		{100, 3, []int64{1, 2, 4}, 0, []int64{14, 29, 57}, 0},
		{1<<63 - 1, 2, []int64{1<<63 - 1, 1<<63 - 1}, 0, []int64{1 << 62, 1<<62 - 1}, 0},
		{
			1<<63 - 1, 3, []int64{1<<63 - 1, 1<<63 - 1, 1<<63 - 1}, 0,
			[]int64{3074457345618258603, 3074457345618258602, 3074457345618258602}, 0,
		},
		{100, 2, []int64{1, 3}, 2, []int64{13, 37}, 50}, // a dropped link weighs 2
		{100, 2, []int64{1 << 62, 1 << 62}, 2, []int64{25, 25}, 50},
		{100, 1, []int64{1}, 1<<63 - 1, []int64{0}, 100},
	} {
		e := &trace.Execution{Led: tt.n, Requests: make([]int32, tt.n), Weights: tt.weights}
		got, unlinked := divide(tt.total, e.Weights, e, tt.dropped)
		name := fmt.Sprintf("divide(%d, %d, %v, %d)", tt.total, tt.n, tt.weights, tt.dropped)
		check.Equal(t, name, append(tt.want, tt.unlinked), append(got, unlinked))
		check.Equal(t, name+" adds up", tt.total, naiveSum(got)+unlinked)
	}
}

func naiveSum(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// naiveParts divides a small total nanosecond by nanosecond, each to the part farthest below its due, the first among
// equals. Dropped links count as mean ones, in the last part.
func naiveParts(total int64, n int, weights []int64, links int, dropped int64) []int64 {
	if naiveSum(weights) == 0 {
		weights = slices.Repeat([]int64{1}, n)
		links = n
	}
	weights = append(slices.Clone(weights), naiveSum(weights)*dropped/int64(links))
	all := naiveSum(weights)
	parts := make([]int64, len(weights))
	left := total
	for i, w := range weights {
		parts[i] = total * w / all
		left -= parts[i]
	}
	for ; left > 0; left-- {
		next := 0
		for i, w := range weights {
			if total*w-parts[i]*all > total*weights[next]-parts[next]*all {
				next = i
			}
		}
		parts[next]++
	}
	return parts
}

type executionRow struct {
	Name            string
	Links, Requests int
	Ops             int
	Sum, Unlinked   int64
}

func executionRows(all *Requests) []executionRow {
	var rows []executionRow
	for i := range all.Shared {
		e := &all.Shared[i]
		rows = append(rows, executionRow{e.Name, e.Links, e.Requests, e.Ops(), e.SumNS, e.UnlinkedNS})
	}
	return rows
}

// The executions and the parts of the requests agree with a naive computation.
func TestSharedExecutionsAgainstNaive(t *testing.T) {
	found := 0
	attended := 0
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		for i := range specs {
			if specs[i].IsOp && r.IntN(3) == 0 {
				specs[i].Name = "FLASH_ATTN_EXT"
			}
		}
		naive := tracetest.NewNaiveTree(specs)
		if !naive.FindExecutions() {
			return
		}
		var want []executionRow
		shared := make(map[int]int64)
		for _, e := range naive.Executions {
			row := executionRow{Name: specs[e].Name, Links: len(specs[e].Links), Requests: len(naive.WorksFor[e])}
			attention := int64(0)
			for i, s := range specs {
				if naive.Execution[i] == e && s.IsOp && !naive.Duplicate[i] {
					row.Ops++
					if s.DeviceSide() {
						row.Sum += s.End - s.Start
						if s.Name == "FLASH_ATTN_EXT" && naiveSum(naive.Attention[e]) > 0 {
							attention += s.End - s.Start
						}
					}
				}
			}
			for _, part := range []struct {
				ns      int64
				weights []int64
			}{{attention, naive.Attention[e]}, {row.Sum - attention, naive.Weights[e]}} {
				parts := naiveParts(part.ns, row.Requests, part.weights, naive.Led[e], specs[e].Dropped)
				row.Unlinked += parts[row.Requests]
				for k, ns := range parts[:row.Requests] {
					shared[naive.WorksFor[e][k]] += ns
				}
			}
			want = append(want, row)
			if found++; attention > 0 && attention < row.Sum {
				attended++
			}
		}
		all := Find(tracetest.AddTo(trace.New(), specs...))
		check.Equal(t, fmt.Sprintf("seed %d: executions", seed), want, executionRows(all))
		sums := make(map[int64]int) // how often each sum occurs
		for _, ns := range shared {
			sums[ns]++
		}
		for i := range all.List {
			if q := &all.List[i]; len(q.shared) > 0 {
				sums[q.SharedNS]--
			}
		}
		for ns, n := range sums {
			if n != 0 {
				t.Errorf("seed %d: %d more requests with %d ns of shared executions than wanted", seed, n, ns)
			}
		}
	})
	if cases.All() && (found < 1000 || attended < 10) {
		t.Errorf("only %d executions in all inputs, %d with weights for attention", found, attended)
	}
}

// With any links, every operation counts once: for its request, for the requests of its execution, or as unattached.
// The parts of a path are the sums of its segments.
func TestSharedExecutionsAddUp(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(30))
		forest := tracetest.AddTo(trace.New(), specs...)
		naive := tracetest.NewNaiveTree(specs)
		total := int64(0)
		want := 0
		for i, s := range specs {
			if s.IsOp && !naive.Duplicate[i] {
				if want++; s.DeviceSide() {
					total += s.End - s.Start
				}
			}
		}
		all := Find(forest)
		got := int64(0)
		ops := 0
		for i := range all.List {
			q := &all.List[i]
			got += q.OwnNS + q.SharedNS
			ops += q.Ops()
			checkParts(t, seed, forest, all, q)
		}
		for _, e := range all.Shared {
			ops += e.Ops()
			got += e.UnlinkedNS
			if e.Requests == 0 {
				t.Errorf("seed %d: an execution for no request: %+v", seed, e)
			}
		}
		for n := range all.Unattached() {
			ops++
			if n.Side() == op.SideNone {
				got += n.Duration()
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: ns", seed), total, got)
		check.Equal(t, fmt.Sprintf("seed %d: operations", seed), want, ops)
	})
}

// checkParts checks that the parts of a request's path are the sums of its segments.
func checkParts(t *testing.T, seed uint64, forest *trace.Forest, all *Requests, q *Request) {
	t.Helper()
	type part struct {
		NS, Segments int64
		Longest      path.Window
	}
	want := make(map[path.Share]part)
	got := make(map[path.Share]part)
	if longest := path.Of(forest, q.Root); longest != nil {
		for _, s := range longest.Segments {
			row := path.Share{Operation: s.Node.Name(), Kind: path.KindHost}
			if s.Node.IsOp() {
				if row.Key = s.Node.Device(); s.Node.Side() == op.SideNone {
					row.Kind = s.Node.Kind().String()
				}
			}
			p := want[row]
			p.NS += s.DurationNS
			p.Segments++
			if s.DurationNS > p.Longest.To-p.Longest.From {
				p.Longest = path.Window{Row: s.Node.Row, From: s.StartNS, To: s.StartNS + s.DurationNS}
			}
			want[row] = p
		}
	}
	if sum := all.Path(q); sum != nil {
		for row, share := range sum.Rows() {
			got[row] = part{share.Time.Int64(), share.Segments, share.Longest}
		}
	}
	check.Equal(t, fmt.Sprintf("seed %d: parts", seed), want, got)
}
