package sequences

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/repeats"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

func TestSequences(t *testing.T) {
	const us = 1000
	short := func(name string, id, parent uint64, at int64) tracetest.Spec {
		return tracetest.OpAt(name, id, parent, at*us, (at+10)*us)
	}
	forest := tracetest.AddTo(trace.New(),
		tracetest.SpanAt("step", 1, 0, 0, 2000*us),
		short("add", 2, 1, 0), short("mul", 3, 1, 15), short("relu", 4, 1, 30), // a gap of 5 µs twice
		tracetest.OpAt("matmul", 5, 1, 45*us, 200*us), // long
		short("add", 6, 1, 210).OnStream(1), short("add", 7, 1, 225), short("mul", 8, 1, 245), short("relu", 9, 1, 260),
		short("add", 10, 1, 500), short("mul", 11, 1, 515), // too far behind
		tracetest.SpanAt("step", 1, 0, 0, 2000*us).In(2), short("add", 2, 1, 0).In(2).On("cuda:1"), short("mul", 3, 1, 15).In(2).On("cuda:1"),
	)
	none, gpu0, gpu1 := op.Int{}, device.Key{DeviceID: "cuda:0"}, device.Key{DeviceID: "cuda:1"}
	want := &Sequences{
		ShortNS: 100 * us, MaxOperations: 32, Runs: 4, RunOperations: 10, Count: 2,
		Rows: []Sequence{
			{
				Operations: []string{"add", "mul", "relu"}, Count: 2, Rounds: 2, SumNS: 60 * us, GapNS: 25 * us, Share: op.KnownFloat(0.5),
				GapShare: op.KnownFloat(25.0 / 85), Streams: []Stream{{gpu0, none, 2}},
			},
			{
				Operations: []string{"add", "mul"}, Count: 2, Rounds: 2, SumNS: 40 * us, GapNS: 10 * us, Share: op.KnownFloat(1.0 / 3),
				GapShare: op.KnownFloat(0.2), Streams: []Stream{{gpu0, none, 1}, {gpu1, none, 1}},
			},
		},
	}
	check.Equal(t, "sequences", want, Find(forest, 10, 120*us))
	if got := Find(forest, 1, 0); len(got.Rows) != 1 || got.Count != 2 || got.Rows[0].Share.Known {
		t.Errorf("one sequence of a total of 0: %+v", got)
	}
	if got := Find(trace.New(), 10, 0); got.Count != 0 || got.Rows == nil {
		t.Errorf("sequences of nothing: %+v", got)
	}
}

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
			isShort := s.End-s.Start <= int64(shortOperation)
			if !isShort || len(run) > 0 && s.Start-end > int64(shortOperation) {
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

// naiveSequences finds sequences in all runs one by one.
func naiveSequences(runs []naiveRun) []Sequence {
	numbers := make(map[string]int32)
	var texts [][]int32
	for _, run := range runs {
		var text []int32
		for _, s := range run {
			if _, ok := numbers[s.Name]; !ok {
				numbers[s.Name] = int32(len(numbers))
			}
			text = append(text, numbers[s.Name])
		}
		texts = append(texts, text)
	}
	rows := []Sequence{}
	for _, found := range repeats.Find(texts, slices.Repeat([]int64{1}, len(texts))) {
		row := Sequence{Count: found.Count, Rounds: found.Rounds}
		for k, at := range found.At {
			end := int64(0)
			for i, s := range runs[at.Text][:at.From+found.Length*at.Rounds] {
				if i >= at.From {
					row.SumNS += s.End - s.Start
				}
				if i > at.From {
					row.GapNS += max(0, s.Start-end)
				}
				end = max(end, s.End)
				if i >= at.From && i < at.From+found.Length && k == 0 {
					row.Operations = append(row.Operations, s.Name)
				}
			}
			s := runs[at.Text][0]
			i := slices.IndexFunc(row.Streams, func(o Stream) bool { return o.Key == s.DeviceKey() && o.Stream == s.Stream })
			if i < 0 {
				i = len(row.Streams)
				row.Streams = append(row.Streams, Stream{s.DeviceKey(), s.Stream, 0})
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
		sortStreams(rows[i].Streams)
	}
	return rows
}

func TestSequencesAgainstNaive(t *testing.T) {
	count := 0
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
		forest, naive := tracetest.AddTo(trace.New(), specs...), tracetest.NewNaiveTree(specs)
		runs := naiveRuns(naive)
		want := naiveSequences(runs)
		got := Find(forest, 1000, 0)
		check.Equal(t, fmt.Sprintf("seed %d: sequences", seed), want, got.Rows)
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
