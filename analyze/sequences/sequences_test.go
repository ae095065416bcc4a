package sequences

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

type naiveRun []tracetest.Spec

func naiveRuns(n *tracetest.NaiveTree) (runs []naiveRun) {
	type group struct {
		device device.Key
		stream op.Int
		trace  byte
		parent uint64
	}
	var order []int
	for i, s := range n.Specs {
		if s.DeviceSide() && !s.Timeless && !n.Repeat[i] && len(n.OpsBelow(i)) == 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(n.Specs[a].DeviceKey().Compare(n.Specs[b].DeviceKey()), n.CompareStart(a, b))
	})
	var groups []group
	of := make(map[group][]int)
	for _, i := range order {
		s := n.Specs[i]
		at := i
		for p := n.Parent[at]; p >= 0 && n.Specs[p].IsOp && n.Specs[p].Side == op.SideHost; p = n.Parent[at] {
			at = p
		}
		g := group{s.DeviceKey(), s.Stream, s.Trace, n.Specs[at].Parent}
		if of[g] == nil {
			groups = append(groups, g)
		}
		of[g] = append(of[g], i)
	}
	for _, g := range groups {
		var run naiveRun
		end := int64(0)
		finish := func() {
			if len(run) > 1 {
				runs = append(runs, run)
			}
			run = nil
		}
		for _, i := range of[g] {
			s := n.Specs[i]
			isShort := s.End-s.Start <= 100_000
			if !isShort || len(run) > 0 && s.Start-end > 100_000 {
				finish()
			}
			if isShort {
				if len(run) == 0 {
					end = s.Start
				}
				run = append(run, s)
				end = max(end, s.End)
			}
		}
		finish()
	}
	return runs
}

type naiveItem struct {
	at, length, rounds int
	text               string // names and rounds
	covered            bool
}

// naiveItems cuts a run into items, by rule 1 of docs/analyses.md.
func naiveItems(run naiveRun) (items []*naiveItem) {
	for at := 0; at < len(run); {
		best := naiveItem{at: at, length: 1, rounds: 1}
		for length := 1; length <= min(32, len(run)-at); length++ {
			rounds := 1
			names := naiveNames(run, at, length)
			for at+(rounds+1)*length <= len(run) && names == naiveNames(run, at+rounds*length, length) {
				rounds++
			}
			if rounds > 1 && rounds*length > best.rounds*best.length {
				best.length = length
				best.rounds = rounds
			}
		}
		best.text = fmt.Sprint(naiveNames(run, at, best.length), " × ", best.rounds)
		items = append(items, &best)
		at += best.rounds * best.length
	}
	return items
}

func naiveNames(run naiveRun, at, length int) string {
	var names []string
	for _, s := range run[at : at+length] {
		names = append(names, s.Name)
	}
	return strings.Join(names, "\x00")
}

type naiveOccurrence struct{ run, at, length, rounds int }

// naiveFound returns the occurrences of sequences of n items, without covered items and overlaps, from the first run
// on.
func naiveFound(items [][]*naiveItem, n int) (order []string, found map[string][]naiveOccurrence) {
	found = make(map[string][]naiveOccurrence)
	behind := make(map[string][2]int) // run and item after the latest occurrence
	for run, list := range items {
		for i := 0; i+n <= len(list); i++ {
			text := ""
			operations := 0
			covered := false
			for _, item := range list[i : i+n] {
				text += item.text + "\x01"
				operations += item.length * item.rounds
				covered = covered || item.covered
			}
			if last, ok := behind[text]; covered || operations > 32 || ok && last[0] == run && i < last[1] {
				continue
			}
			if found[text] == nil {
				order = append(order, text)
			}
			found[text] = append(found[text], naiveOccurrence{run, list[i].at, operations, 1})
			behind[text] = [2]int{run, i + n}
		}
	}
	return order, found
}

// naiveSequences finds sequences in runs by the rules of docs/analyses.md.
func naiveSequences(runs []naiveRun) map[string]*Sequence {
	var items [][]*naiveItem
	for _, run := range runs {
		items = append(items, naiveItems(run))
	}
	rows := make(map[string]*Sequence)
	for n := 32; n > 1; n-- { // rule 2
		order, before := naiveFound(items, n)
		slices.SortStableFunc(order, func(a, b string) int { return len(before[b]) - len(before[a]) })
		for _, text := range order {
			if len(before[text]) < 2 {
				break
			}
			_, now := naiveFound(items, n)
			if len(now[text]) < 2 {
				continue
			}
			for _, o := range now[text] {
				naiveAdd(rows, runs[o.run], o)
				for _, item := range items[o.run] {
					item.covered = item.covered || item.at >= o.at && item.at < o.at+o.length
				}
			}
		}
	}
	for run, list := range items { // rule 3
		for _, item := range list {
			if !item.covered && item.rounds > 1 {
				naiveAdd(rows, runs[run], naiveOccurrence{run, item.at, item.length, item.rounds})
			}
		}
	}
	return rows
}

func naiveAdd(rows map[string]*Sequence, run naiveRun, o naiveOccurrence) {
	names := naiveNames(run, o.at, o.length)
	row := rows[names]
	if row == nil {
		row = &Sequence{Operations: strings.Split(names, "\x00")}
		rows[names] = row
	}
	row.Count++
	row.Rounds += int64(o.rounds)
	end := run[0].Start
	for i, s := range run[:o.at+o.length*o.rounds] {
		if i >= o.at {
			row.SumNS += s.End - s.Start
		}
		if i > o.at {
			row.GapNS += max(0, s.Start-end) // idle in the run
		}
		end = max(end, s.End)
	}
	row.GapShare = op.Float{}
	if both := row.SumNS + row.GapNS; both > 0 {
		row.GapShare = op.KnownFloat(float64(row.GapNS) / float64(both))
	}
	row.Share = op.KnownFloat(float64(row.SumNS) / 1e6)
	on := Stream{run[0].DeviceKey(), run[0].Stream, 1}
	for i := range row.Streams {
		if s := &row.Streams[i]; s.Key == on.Key && s.Stream == on.Stream {
			s.Count++
			return
		}
	}
	row.Streams = append(row.Streams, on)
	slices.SortFunc(row.Streams, func(a, b Stream) int {
		return cmp.Or(a.Key.Compare(b.Key), order.Ints(a.Stream, b.Stream))
	})
}

func TestSequencesAgainstNaive(t *testing.T) {
	var count, rounds int
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(80))
		for i := range specs {
			s := &specs[i]
			duration := 2000 * (s.End - s.Start) // up to 240 µs
			s.Start *= 4000
			s.End = s.Start + duration
			s.Trace %= 2
			s.Parent %= 4
			s.Rank = op.Int{}
			if r.IntN(8) == 0 {
				s.Stream = op.Known(r.Int64N(2))
			}
		}
		if seed%2 == 1 {
			specs = repetitions(r)
		}
		naive := tracetest.NewNaiveTree(specs)
		forest := tracetest.AddTo(trace.New(), specs...)
		runs := naiveRuns(naive)
		want := naiveSequences(runs)
		got := Find(forest, 1000, 1e6)
		rows := make(map[string]*Sequence)
		operations := 0
		longest := int64(math.MaxInt64)
		for _, row := range got.Rows {
			rows[strings.Join(row.Operations, "\x00")] = &row
			if row.SumNS+row.GapNS > longest {
				t.Errorf("seed %d: %v comes behind one that takes less", seed, row.Operations)
			}
			longest = row.SumNS + row.GapNS
		}
		check.Equal(t, fmt.Sprintf("seed %d: sequences", seed), want, rows)
		first := Find(forest, 1, 1e6).Rows
		check.Equal(t, fmt.Sprintf("seed %d: the first row", seed), got.Rows[:min(1, len(got.Rows))], first)
		for _, row := range Find(forest, 1, 0).Rows {
			check.Equal(t, fmt.Sprintf("seed %d: the share of a total of 0", seed), op.Float{}, row.Share)
		}
		for _, run := range runs {
			operations += len(run)
		}
		sums := [3]int64{got.Runs, got.RunOperations, got.Count}
		wantSums := [3]int64{int64(len(runs)), int64(operations), int64(len(want))}
		check.Equal(t, fmt.Sprintf("seed %d: runs, operations and sequences", seed), wantSums, sums)
		for _, row := range want {
			count++
			rounds += int(row.Rounds - row.Count)
		}
	})
	if count == 0 || rounds == 0 {
		t.Errorf("%d sequences and %d further rounds were compared", count, rounds)
	}
}

// Different runs beyond the bound are left out, and counted.
func TestDifferentRunsAreBounded(t *testing.T) {
	forest := trace.New()
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", "d"}
	const runs = 3
	const length = maxRunOperations / 2
	id := uint64(1)
	for run := range uint64(runs) {
		for i := range int64(length) {
			id++
			forest.Add(tracetest.OpAt(names[r.IntN(len(names))], id, 1_000_000_000+run, i*10, i*10+5).Record())
		}
	}
	got := Find(forest, 10, 0)
	check.Equal(t, "runs, operations and left out", [3]int64{runs, runs * length, length},
		[3]int64{got.Runs, got.RunOperations, got.LeftOut})
}

func BenchmarkFindSequences(b *testing.B) {
	forest := tracetest.AddTo(trace.New(), tracetest.ServerRequests(200, 100)...)
	forest.Build()
	b.ReportAllocs()
	for b.Loop() {
		Find(forest, 10, 1e6)
	}
}

// repetitions returns operations on one stream, below two parents, with many repeated sequences, and the same runs again
// in other traces.
func repetitions(r *rand.Rand) (specs []tracetest.Spec) {
	names := []string{"a", "b", "c", "d", "e"}[:1+r.IntN(5)]
	period := r.IntN(50)
	noise := tracetest.Pick(r, 8, 80)
	at := int64(0)
	for i := range r.IntN(120) {
		name := tracetest.Pick(r, names...)
		back := 1 + period
		if noise == 8 && r.IntN(2) == 0 {
			back = 1 + r.IntN(6)
		}
		if back <= i && r.IntN(noise) > 0 {
			name = specs[i-back].Name
		}
		parent := 1 + uint64(r.IntN(80)/79)
		end := at + tracetest.Pick(r, 0, r.Int64N(101_000))
		specs = append(specs, tracetest.OpAt(name, uint64(100+i), parent, at, end).OnStream(1))
		at = end + tracetest.Pick(r, 0, r.Int64N(5000), r.Int64N(101_000)) - r.Int64N(2000)*r.Int64N(2)
	}
	for again := range byte(r.IntN(4)) {
		for _, s := range specs[:len(specs)/int(1+again)] {
			specs = append(specs, s.In(2+again).OnStream(int64(again)))
		}
	}
	return specs
}
