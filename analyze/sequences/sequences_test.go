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

// naiveRun is the operations of a run.
type naiveRun []tracetest.Spec

// naiveRuns returns the runs of short operations, by the plainest means.
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
	groups, of := []group{}, make(map[group][]int)
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
				run, end = append(run, s), max(end, s.End)
			}
		}
		finish()
	}
	return runs
}

// naiveItem is an operation, or a sequence of them with the rounds that follow each other.
type naiveItem struct {
	at, length, rounds int
	text               string // the names and rounds
	covered            bool
}

// naiveItems cuts a run into items, by rule 1 of docs/analyses.md.
func naiveItems(run naiveRun) (items []*naiveItem) {
	for at := 0; at < len(run); {
		best := naiveItem{at: at, length: 1, rounds: 1}
		for length := 1; length <= 32; length++ {
			rounds := 1
			for at+(rounds+1)*length <= len(run) && naiveNames(run, at, length) == naiveNames(run, at+rounds*length, length) {
				rounds++
			}
			if rounds > 1 && rounds*length > best.rounds*best.length {
				best.length, best.rounds = length, rounds
			}
		}
		best.text = fmt.Sprint(naiveNames(run, at, best.length), " × ", best.rounds)
		items, at = append(items, &best), at+best.rounds*best.length
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

// naiveOccurrence is an occurrence in a run.
type naiveOccurrence struct{ run, at, length, rounds int }

// naiveFound returns the occurrences of sequences of so many items, none of which is covered and no two of which overlap, from the
// first run on.
func naiveFound(items [][]*naiveItem, n int) (order []string, found map[string][]naiveOccurrence) {
	found = make(map[string][]naiveOccurrence)
	behind := make(map[string][2]int) // run and item behind the latest occurrence
	for run, list := range items {
		for i := 0; i+n <= len(list); i++ {
			text, operations, covered := "", 0, false
			for _, item := range list[i : i+n] {
				text, operations, covered = text+item.text+"\x01", operations+item.length*item.rounds, covered || item.covered
			}
			if last, ok := behind[text]; covered || operations > 32 || ok && last[0] == run && i < last[1] {
				continue
			}
			if found[text] == nil {
				order = append(order, text)
			}
			found[text], behind[text] = append(found[text], naiveOccurrence{run, list[i].at, operations, 1}), [2]int{run, i + n}
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

// naiveAdd adds an occurrence to the row of its names.
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
			row.GapNS += max(0, s.Start-end) // in which nothing of the run ran
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
	slices.SortFunc(row.Streams, func(a, b Stream) int { return cmp.Or(a.Key.Compare(b.Key), order.Ints(a.Stream, b.Stream)) })
}

// randomRun returns operations on one stream, below two parents, of which many come again.
func randomRun(r *rand.Rand) (specs []tracetest.Spec) {
	at, names, period, noise := int64(0), []string{"a", "b", "c", "d", "e"}[:1+r.IntN(5)], r.IntN(50), tracetest.Pick(r, 8, 80)
	for i := range r.IntN(120) {
		name := names[r.IntN(len(names))]
		back := 1 + period
		if noise == 8 && r.IntN(2) == 0 {
			back = 1 + r.IntN(6)
		}
		if back <= i && r.IntN(noise) > 0 {
			name = specs[i-back].Name
		}
		s := tracetest.OpAt(name, uint64(100+i), 1+uint64(r.IntN(80)/79), at, at+tracetest.Pick(r, 0, r.Int64N(101_000))).OnStream(1)
		specs, at = append(specs, s), s.End+tracetest.Pick(r, 0, r.Int64N(5000), r.Int64N(101_000))-r.Int64N(2000)*r.Int64N(2)
	}
	for again := range byte(r.IntN(4)) { // the same runs again
		for _, s := range specs[:len(specs)/int(1+again)] {
			specs = append(specs, s.In(2+again).OnStream(int64(again)))
		}
	}
	return specs
}

func TestSequencesAgainstNaive(t *testing.T) {
	count, rounds := 0, 0
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(80))
		for i := range specs {
			s := &specs[i]
			s.Start, s.End = s.Start*4000, s.Start*4000+(s.End-s.Start)*2000 // up to 240 µs
			s.Trace, s.Parent, s.Rank = s.Trace%2, s.Parent%4, op.Int{}
			if r.IntN(8) == 0 {
				s.Stream = op.Known(r.Int64N(2))
			}
		}
		if seed%2 == 1 {
			specs = randomRun(r)
		}
		forest, naive := tracetest.AddTo(trace.New(), specs...), tracetest.NewNaiveTree(specs)
		runs := naiveRuns(naive)
		want := naiveSequences(runs)
		got := Find(forest, 1000, 1e6)
		rows, operations, longest := make(map[string]*Sequence), 0, int64(math.MaxInt64)
		for _, row := range got.Rows {
			rows[strings.Join(row.Operations, "\x00")] = &row
			if row.SumNS+row.GapNS > longest {
				t.Errorf("seed %d: %v comes behind one that takes less", seed, row.Operations)
			}
			longest = row.SumNS + row.GapNS
		}
		check.Equal(t, fmt.Sprintf("seed %d: sequences", seed), want, rows)
		check.Equal(t, fmt.Sprintf("seed %d: the first of a total of 1 ms", seed), got.Rows[:min(1, len(got.Rows))], Find(forest, 1, 1e6).Rows)
		for _, row := range Find(forest, 1, 0).Rows {
			check.Equal(t, fmt.Sprintf("seed %d: the share of a total of 0", seed), op.Float{}, row.Share)
		}
		for _, run := range runs {
			operations += len(run)
		}
		if got.Runs != int64(len(runs)) || got.RunOperations != int64(operations) || got.Count != int64(len(want)) {
			t.Errorf("seed %d: %d runs of %d operations, want %d of %d", seed, got.Runs, got.RunOperations, len(runs), operations)
		}
		for _, row := range want {
			count, rounds = count+1, rounds+int(row.Rounds-row.Count)
		}
	})
	if count == 0 || rounds == 0 {
		t.Errorf("%d sequences and %d further rounds were compared", count, rounds)
	}
}

// Too many runs that differ are left out, and counted.
func TestSequencesLeaveOut(t *testing.T) {
	forest := trace.New()
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", "d"}
	const runs, length = 3, maxRunOperations / 2
	id := uint64(1)
	for run := range uint64(runs) {
		for i := range int64(length) {
			id++
			forest.Add(tracetest.OpAt(names[r.IntN(len(names))], id, 1_000_000_000+run, i*10, i*10+5).Record())
		}
	}
	got := Find(forest, 10, 0)
	if got.Runs != runs || got.LeftOut != length || got.RunOperations != runs*length {
		t.Errorf("%d of %d operations in %d runs were left out, want %d", got.LeftOut, got.RunOperations, got.Runs, length)
	}
}
