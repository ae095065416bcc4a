package analyze

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/internal/repeats"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

func TestSequences(t *testing.T) {
	const us = 1000
	short := func(name string, id, parent uint64, at int64) spec { return opAt(name, id, parent, at*us, (at+10)*us) }
	forest := addTo(NewForest(),
		spanAt("step", 1, 0, 0, 2000*us),
		short("add", 2, 1, 0), short("mul", 3, 1, 15), short("relu", 4, 1, 30), // a gap of 5 µs twice
		opAt("matmul", 5, 1, 45*us, 200*us), // long
		short("add", 6, 1, 210).onStream(1), short("add", 7, 1, 225), short("mul", 8, 1, 245), short("relu", 9, 1, 260),
		short("add", 10, 1, 500), short("mul", 11, 1, 515), // too far behind
		spanAt("step", 1, 0, 0, 2000*us).in(2), short("add", 2, 1, 0).in(2).on("cuda:1"), short("mul", 3, 1, 15).in(2).on("cuda:1"),
	)
	none, gpu0, gpu1 := op.Int{}, DeviceKey{DeviceID: "cuda:0"}, DeviceKey{DeviceID: "cuda:1"}
	want := &Sequences{
		ShortNS: 100 * us, MaxOperations: 32, Runs: 4, RunOperations: 10, Count: 2,
		Rows: []Sequence{
			{
				Operations: []string{"add", "mul", "relu"}, Count: 2, SumNS: 60 * us, GapNS: 25 * us, Share: op.KnownFloat(0.5),
				GapShare: op.KnownFloat(25.0 / 85), Streams: []SequenceStream{{gpu0, none, 2}},
			},
			{
				Operations: []string{"add", "mul"}, Count: 2, SumNS: 40 * us, GapNS: 10 * us, Share: op.KnownFloat(1.0 / 3),
				GapShare: op.KnownFloat(0.2), Streams: []SequenceStream{{gpu0, none, 1}, {gpu1, none, 1}},
			},
		},
	}
	if diff := gocmp.Diff(want, forest.sequences(10, 120*us)); diff != "" {
		t.Errorf("sequences (-want +got):\n%s", diff)
	}
	if got := forest.sequences(1, 0); len(got.Rows) != 1 || got.Count != 2 || got.Rows[0].Share.Known {
		t.Errorf("one sequence of a total of 0: %+v", got)
	}
	if got := NewForest().sequences(10, 0); got.Count != 0 || got.Rows == nil {
		t.Errorf("sequences of nothing: %+v", got)
	}
}

// naiveRun is the operations of a run.
type naiveRun []spec

// naiveRuns returns the runs of short operations, by the plainest means.
func (n *naiveTree) naiveRuns() (runs []naiveRun) {
	type group struct {
		device DeviceKey
		stream op.Int
		trace  byte
		parent uint64
	}
	var order []int
	for i, s := range n.specs {
		if s.deviceSide() && !s.timeless && !n.repeat[i] && len(n.opsBelow(i)) == 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(n.specs[a].deviceKey().Compare(n.specs[b].deviceKey()), n.compareStart(a, b))
	})
	groups, of := []group{}, make(map[group][]int)
	for _, i := range order {
		s := n.specs[i]
		at := i
		for p := n.parent[at]; p >= 0 && n.specs[p].isOp && n.specs[p].side == op.SideHost; p = n.parent[at] {
			at = p
		}
		g := group{s.deviceKey(), s.stream, s.trace, n.specs[at].parent}
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
			s := n.specs[i]
			isShort := s.end-s.start <= int64(shortOperation)
			if !isShort || len(run) > 0 && s.start-end > int64(shortOperation) {
				finish()
			}
			if isShort {
				if len(run) == 0 {
					end = s.start
				}
				run, end = append(run, s), max(end, s.end)
			}
		}
		finish()
	}
	return runs
}

// naiveSequences finds sequences in all runs one by one.
func naiveSequences(runs []naiveRun) []Sequence {
	numbers := make(map[string]int32)
	var texts [][]int32
	for _, run := range runs {
		var text []int32
		for _, s := range run {
			if _, ok := numbers[s.name]; !ok {
				numbers[s.name] = int32(len(numbers))
			}
			text = append(text, numbers[s.name])
		}
		texts = append(texts, text)
	}
	rows := []Sequence{}
	for _, found := range repeats.Find(texts, slices.Repeat([]int64{1}, len(texts))) {
		row := Sequence{Count: found.Count}
		for k, at := range found.At {
			end := int64(0)
			for i, s := range runs[at.Text][:at.From+found.Length] {
				if i >= at.From {
					row.SumNS += s.end - s.start
				}
				if i > at.From {
					row.GapNS += max(0, s.start-end)
				}
				end = max(end, s.end)
				if i >= at.From && k == 0 {
					row.Operations = append(row.Operations, s.name)
				}
			}
			s := runs[at.Text][0]
			i := slices.IndexFunc(row.Streams, func(o SequenceStream) bool { return o.DeviceKey == s.deviceKey() && o.Stream == s.stream })
			if i < 0 {
				i = len(row.Streams)
				row.Streams = append(row.Streams, SequenceStream{s.deviceKey(), s.stream, 0})
			}
			row.Streams[i].Count++
		}
		if both := row.SumNS + row.GapNS; both > 0 {
			row.GapShare = op.KnownFloat(float64(row.GapNS) / float64(both))
		}
		rows = append(rows, row)
	}
	sortSequences(rows)
	for i := range rows {
		NewForest().sortStreams(rows[i].Streams)
	}
	return rows
}

func TestSequencesAgainstNaive(t *testing.T) {
	count := 0
	cases.Seeds(t, 1500, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(80))
		for i := range specs {
			s := &specs[i]
			s.start, s.end = s.start*4000, s.start*4000+(s.end-s.start)*2000 // up to 240 µs
			s.trace, s.parent, s.rank = s.trace%2, s.parent%4, op.Int{}
			if r.IntN(8) == 0 {
				s.stream = op.Known(r.Int64N(2))
			}
		}
		forest, naive := addTo(NewForest(), specs...), newNaiveTree(specs)
		runs := naive.naiveRuns()
		want := naiveSequences(runs)
		got := forest.sequences(1000, 0)
		if diff := gocmp.Diff(want, got.Rows); diff != "" {
			t.Errorf("seed %d: sequences (-naive +got):\n%s", seed, diff)
		}
		operations := 0
		for _, run := range runs {
			operations += len(run)
		}
		if got.Runs != int64(len(runs)) || got.RunOperations != int64(operations) || got.Count != int64(len(want)) {
			t.Errorf("seed %d: %d runs of %d operations, want %d of %d", seed, got.Runs, got.RunOperations, len(runs), operations)
		}
		count += len(want)
	})
	if cases.All() && count == 0 {
		t.Error("nothing was found")
	}
}

// Too many runs that differ are left out, and counted.
func TestSequencesLeaveOut(t *testing.T) {
	forest := NewForest()
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", "d"}
	const runs, length = 3, maxRunOperations / 2
	id := uint64(1)
	for run := range uint64(runs) {
		for i := range int64(length) {
			id++
			forest.Add(opAt(names[r.IntN(len(names))], id, 1_000_000_000+run, i*10, i*10+5).record())
		}
	}
	got := forest.sequences(10, 0)
	if got.Runs != runs || got.LeftOut != length || got.RunOperations != runs*length {
		t.Errorf("%d of %d operations in %d runs were left out, want %d", got.LeftOut, got.RunOperations, got.Runs, length)
	}
}
