package analyze

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

const jobStart = 1_760_000_000_000_000_000

// rankedJob generates a job whose ranks wait for each other at the end of each step: a trace per rank with a span per
// step and operations below, one of them without a rank, an empty repeated span, and a trace of all ranks.
type rankedJob struct {
	ranks, steps int
	name         string // of the collective
	numbered     bool
	offsets      []int64 // of the clocks
	seed         uint64
}

func (j *rankedJob) records() (records []op.Record) {
	r := rand.New(rand.NewPCG(j.seed, 1))
	id := uint64(0)
	clock := int64(0) // offset of the recording clock
	add := func(s tracetest.Spec) *op.Entry {
		id++
		s.ID = id
		s.Service = "trainer"
		s.Start += clock
		s.End += clock
		if s.Rank.Known {
			s.Launch = op.Known(s.Start - 100)
		}
		records = append(records, s.Record())
		return records[len(records)-1].Entry
	}
	at := int64(jobStart)
	for step := range int64(j.steps) {
		ends := at
		computed := make([]int64, j.ranks)
		for rank := range computed {
			computed[rank] = at + 1000 + r.Int64N(100_000)
			ends = max(ends, computed[rank])
		}
		ends += 5000
		clock = 0
		add(tracetest.SpanAt("all ranks", 0, 0, at, ends).In(200))
		shared := id
		for rank := range j.ranks {
			if j.offsets != nil {
				clock = j.offsets[rank]
			}
			in := byte(rank + 1)
			add(tracetest.SpanAt(fmt.Sprint("step ", step), 0, 0, at, ends).In(in))
			root := id
			add(tracetest.SpanAt("load", 0, root, at, at+500).In(in))
			records = append(records, records[len(records)-1]) // read twice
			on := func(name string, parent uint64, end int64) tracetest.Spec {
				return tracetest.OpAt(name, 0, parent, at, end).InStep(step).OnRank(int64(rank)).In(in)
			}
			matmul := add(on("matmul", root, computed[rank]))
			add(tracetest.OpAt("tokenize", 0, root, at, at+700).InStep(step).On("").In(in))
			add(on("relu", shared, at+300).In(200))
			s := on(j.name, root, ends).As(op.KindCollective)
			s.Start = computed[rank]
			add(s).Collective = &op.Collective{Name: j.name, Group: "dp", Sequence: op.Int{V: step, Known: j.numbered}}
			if rank == 1 && step == 0 { // read twice
				records = append(records, op.Record{Entry: matmul})
			}
		}
		at = ends + r.Int64N(50_000)
	}
	return records
}

// The report on aligned times equals the report on true times, for any number of workers.
func TestAlignClocks(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		j := rankedJob{
			ranks: 2 + r.IntN(5), steps: clocks.MinCollectives + r.IntN(600), name: "all_reduce",
			numbered: r.IntN(2) == 0, seed: seed,
		}
		want := collected(r, j.records(), Options{}, 1)
		j.offsets = make([]int64, j.ranks)
		for i := range j.offsets[1:] {
			j.offsets[i+1] = r.Int64N(20_000_000_000) - 10_000_000_000
		}
		got := collected(r, j.records(), Options{AlignClocks: true}, 1+r.IntN(3))
		c := got.Clocks
		if c == nil || c.Inferred == j.numbered || len(c.Offsets) != j.ranks || len(c.Unknown) > 0 ||
			len(c.Ranks) != j.ranks {
			t.Fatalf("seed %d: clocks are %+v", seed, c)
		}
		for i, o := range c.Offsets {
			if o.OffsetNS != j.offsets[i] || o.ResidualMaxNS.V != 0 {
				t.Errorf("seed %d: rank %d has offset %+v, want %d", seed, i, o, j.offsets[i])
			}
			if at := c.Ranks[i]; at.FirstStart.V != jobStart || at.RecordedFirstStart.V != jobStart+j.offsets[i] ||
				at.RecordedLastEnd.V-at.LastEnd.V != j.offsets[i] {
				t.Errorf("seed %d: rank %d has times %+v", seed, i, at)
			}
		}
		least := slices.Min(j.offsets)
		most := slices.Max(j.offsets)
		row := c.Collectives[0]
		if row.RecordedMaxEndSkewNS != most-least || row.MaxEndSkewNS != 0 ||
			row.MaxStartSkewNS != want.Communication.Collectives[0].MaxStartSkewNS.V {
			t.Errorf("seed %d: skews are %+v, the clocks %d apart", seed, row, most-least)
		}
		check.Equal(t, fmt.Sprintf("seed %d: wall", seed), want.Total.WallNS, c.WallNS)
		got.Clocks = nil
		ignored := cmpopts.IgnoreFields(Report{}, "Slowest")
		if diff := cmp.Diff(want, got, tracetest.EqualKeys, ignored); diff != "" {
			t.Fatalf("seed %d (-true +aligned):\n%s", seed, diff)
		}
	})
}

// Without the option or data to compare, times stay as recorded.
func TestClocksThatStay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, test := range []struct {
		name    string
		job     rankedJob
		opts    Options
		unknown int
	}{
		{"not asked for", rankedJob{ranks: 3, steps: 20, name: "all_reduce", numbered: true}, Options{}, -1},
		{"sums only", rankedJob{ranks: 3, steps: 20, name: "all_reduce"}, Options{AlignClocks: true, SumsOnly: true},
			-1},
		{"too few", rankedJob{ranks: 3, steps: clocks.MinCollectives - 1, name: "all_reduce", numbered: true},
			Options{AlignClocks: true}, 3},
		{"too few, inferred", rankedJob{ranks: 3, steps: 3, name: "ncclDevKernel_AllReduce_Sum"},
			Options{AlignClocks: true}, 3},
		{"ends that differ", rankedJob{ranks: 3, steps: 20, name: "broadcast", numbered: true},
			Options{AlignClocks: true}, 0},
		{"one rank", rankedJob{ranks: 1, steps: 20, name: "all_reduce", numbered: true}, Options{AlignClocks: true}, 0},
		{"no input", rankedJob{name: "all_reduce"}, Options{AlignClocks: true}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.job.offsets = []int64{0, 1_000_000, -2_000_000}
			records := test.job.records()
			without := test.opts
			without.AlignClocks = false
			want, got := collected(r, records, without, 1), collected(r, records, test.opts, 2)
			if c := got.Clocks; test.unknown < 0 && c != nil ||
				test.unknown >= 0 && (c == nil || c.Reference != nil || len(c.Offsets) > 0 ||
					len(c.Unknown) != test.unknown || c.WallNS.Known) {
				t.Errorf("clocks are %+v", c)
			}
			got.Clocks = nil
			check.Equal(t, "", want, got, cmp.Options{tracetest.EqualKeys})
		})
	}
}

// Times shifted out of range become unknown.
func TestAlignClocksAtTheEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	j := rankedJob{ranks: 2, steps: 9, name: "all_reduce", numbered: true, offsets: []int64{0, 1 << 60}}
	records := append(j.records(), op.Record{Entry: &op.Entry{
		Operation: "early", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(1),
		Start: op.Known(-trace.MaxTime), Duration: 5,
	}})
	rep := collected(r, records, Options{AlignClocks: true}, 1)
	if rep.Clocks.Offsets[1].OffsetNS != 1<<60 || rep.Input.Warnings[warnTimeOutOfRange] != 1 {
		t.Errorf("clocks are %+v, warnings %v", rep.Clocks, rep.Input.Warnings)
	}
}

func FuzzAlignClocks(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		var records []op.Record
		for ; len(data) >= 8; data = data[8:] {
			e := &op.Entry{
				Operation: "all_reduce", Kind: op.KindCollective, Rank: op.Known(int64(data[0] % 3)),
				Start:    op.Known(int64(data[1]) << (data[2] % 63)),
				Duration: int64(data[3]), TraceID: op.TraceID{1}, SpanID: op.SpanID{data[4] % 16},
				ParentSpanID: op.SpanID{data[5] % 16},
				Collective:   &op.Collective{Sequence: op.Int{V: int64(data[6] % 8), Known: data[6] < 200}},
			}
			if data[0] >= 192 {
				e.Rank = op.Int{}
			}
			rec := op.Record{Entry: e}
			if data[7]%4 == 0 {
				rec = op.Record{Span: &op.Span{
					Name: "s", TraceID: e.TraceID, SpanID: e.SpanID, ParentSpanID: e.ParentSpanID, Start: e.Start,
					Duration: 9,
				}}
			}
			records = append(records, rec)
		}
		collected(rand.New(rand.NewPCG(1, 1)), records, Options{AlignClocks: true}, 1)
	})
}
