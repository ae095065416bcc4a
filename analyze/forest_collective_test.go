package analyze

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/random"
	"github.com/optrace/optrace/op"
)

// part is what one rank did of a collective: nanoseconds, sequence number.
type part struct {
	rank       int64
	start, end int64
	seq        op.Int
	bytes      int64
	timeless   bool
	group      string
}

func (p part) entry(name string) *op.Entry {
	e := &op.Entry{
		Operation: "nccl:" + name, Kind: op.KindCollective, DeviceID: "cuda:0", Rank: op.Known(p.rank),
		Start: op.Known(p.start), Duration: p.end - p.start,
		Collective: &op.Collective{Name: name, Group: p.group, Sequence: p.seq},
	}
	if p.bytes > 0 {
		e.MemoryBytes = op.Known(p.bytes)
	}
	if p.timeless {
		e.Start = op.Int{}
	}
	return e
}

func onRank(rank int64) DeviceKey { return DeviceKey{op.Known(rank), "cuda:0"} }

func TestCollectives(t *testing.T) {
	seq := op.Known
	for _, tc := range []struct {
		name       string
		collective string
		parts      []part
		want       []CollectiveRow
	}{
		{"none", "", nil, []CollectiveRow{}},
		{
			"the last to arrive waits least", "all_reduce",
			[]part{{rank: 0, start: 0, end: 100, seq: seq(7)}, {rank: 1, start: 60, end: 100, seq: seq(7)}, {rank: 2, start: 50, end: 100,
				seq: seq(7)}},
			[]CollectiveRow{{
				Name: "all_reduce", Count: 1, TransferNS: 40, WaitNS: 60 + 10, MaxStartSkewNS: op.Known(60),
				Stragglers: []Straggler{{onRank(1), 1, 70}},
			}},
		},
		{
			"without sequence numbers the n-th belong together, by start", "all_reduce",
			[]part{{rank: 0, start: 200, end: 220}, {rank: 0, start: 0, end: 30}, {rank: 1, start: 10, end: 30}, {rank: 1, start: 190, end: 220}},
			[]CollectiveRow{{
				Name: "all_reduce", Count: 2, Inferred: 2, TransferNS: 20 + 20, WaitNS: 10 + 10, MaxStartSkewNS: op.Known(10),
				Stragglers: []Straggler{{onRank(0), 1, 10}, {onRank(1), 1, 10}},
			}},
		},
		{
			"seen on one rank only", "broadcast",
			[]part{{rank: 0, start: 0, end: 10, seq: seq(0)}, {rank: 1, start: 0, end: 10, seq: seq(1)}},
			[]CollectiveRow{{Name: "broadcast", Count: 2, Single: 2, Stragglers: []Straggler{}}},
		},
		{
			"equal times have no straggler, no starts no skew", "barrier",
			[]part{{rank: 0, end: 10, seq: seq(0), timeless: true, bytes: 8}, {rank: 1, end: 10, seq: seq(0), timeless: true}},
			[]CollectiveRow{{
				Name: "barrier", Count: 1, TransferNS: 10, AlgorithmBytesPerSecond: op.KnownFloat(8e8), Stragglers: []Straggler{},
			}},
		},
		{
			"groups are apart, the largest transfer first", "all_gather",
			[]part{
				{rank: 0, end: 10, seq: seq(0), group: "dp", bytes: 100}, {rank: 1, end: 10, seq: seq(0), group: "dp", bytes: 100},
				{rank: 0, end: 40, seq: seq(0), group: "tp", bytes: 100}, {rank: 1, end: 40, seq: seq(0), group: "tp", bytes: 100},
			},
			[]CollectiveRow{
				{
					Name: "all_gather", Group: "tp", Count: 1, TransferNS: 40, MaxStartSkewNS: op.Known(0),
					AlgorithmBytesPerSecond: op.KnownFloat(2.5e9), BusBytesPerSecond: op.KnownFloat(1.25e9), Stragglers: []Straggler{},
				},
				{
					Name: "all_gather", Group: "dp", Count: 1, TransferNS: 10, MaxStartSkewNS: op.Known(0),
					AlgorithmBytesPerSecond: op.KnownFloat(1e10), BusBytesPerSecond: op.KnownFloat(5e9), Stragglers: []Straggler{},
				},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forest := NewForest()
			for _, p := range tc.parts {
				forest.addOp(p.entry(tc.collective))
			}
			if diff := cmp.Diff(tc.want, forest.collectiveRows(), cmpopts.EquateApprox(1e-12, 1e-9)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Entries of other kinds and the host's view take no part, and without the
// attributes of a collective the operation's name stands in.
func TestCollectivesAreOfTheKind(t *testing.T) {
	forest := NewForest()
	for rank := range int64(2) {
		forest.addOp(&op.Entry{Operation: "allreduce", Kind: op.KindCollective, Rank: op.Known(rank), Duration: 10})
		forest.addOp(&op.Entry{Operation: "allreduce", Kind: op.KindCollective, Rank: op.Known(rank), Duration: 90, Side: op.SideHost})
		forest.addOp(&op.Entry{Operation: "send_buffer", Kind: op.KindCompute, Rank: op.Known(rank), Duration: 90})
	}
	want := []CollectiveRow{{Name: "allreduce", Count: 1, Inferred: 1, TransferNS: 10, Stragglers: []Straggler{}}}
	if diff := cmp.Diff(want, forest.collectiveRows()); diff != "" {
		t.Error(diff)
	}
}

func TestCollectiveSizes(t *testing.T) {
	const k = 1000
	for _, tc := range []struct {
		name             string
		elements         int64
		dtype            op.DType
		memory           op.Int
		algorithm, bytes op.Float // per second, at 1 µs and 4 ranks
	}{
		{"all_reduce", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(6e9)},
		{"AllReduce", k, op.F16, op.Known(99), op.KnownFloat(2e9), op.KnownFloat(3e9)},
		{"reduce_scatter", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(3e9)},
		{"all-to-all", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(3e9)},
		{"broadcast", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(4e9)},
		{"reduce", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(4e9)},
		{"send", 0, op.F32, op.Known(8 * k), op.KnownFloat(8e9), op.KnownFloat(8e9)},
		{"mystery", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.Float{}},
		{"all_reduce", k, "", op.Int{}, op.Float{}, op.Float{}},
		{"all_reduce", 1 << 62, op.F32, op.Int{}, op.Float{}, op.Float{}},
	} {
		forest := NewForest()
		for rank := range int64(2) {
			forest.addOp(&op.Entry{
				Operation: "c", Kind: op.KindCollective, Rank: op.Known(rank), Duration: k, DType: tc.dtype, MemoryBytes: tc.memory,
				Collective: &op.Collective{Name: tc.name, GroupSize: op.Known(4), OutElements: op.Known(tc.elements)},
			})
		}
		row := forest.collectiveRows()[0]
		want := []op.Float{tc.algorithm, tc.bytes}
		got := []op.Float{row.AlgorithmBytesPerSecond, row.BusBytesPerSecond}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 1e-9)); diff != "" {
			t.Errorf("%s of %d %s: %s", tc.name, tc.elements, tc.dtype, diff)
		}
	}
}

// What the rows say follows from the entries whichever way they are sharded,
// and agrees with the definition applied to each collective.
func TestCollectivesAgainstDefinition(t *testing.T) {
	random.Seeds(60, func(seed uint64, r *rand.Rand) {
		var parts []part
		for seq := range int64(1 + r.IntN(20)) {
			for rank := range int64(4) {
				if r.IntN(5) > 0 {
					start := r.Int64N(100)
					parts = append(parts, part{rank: rank, start: start, end: start + r.Int64N(100), seq: op.Known(seq)})
				}
			}
		}
		var want CollectiveRow
		for seq := range int64(20) {
			var durations []int64
			for _, p := range parts {
				if p.seq.V == seq {
					durations = append(durations, p.end-p.start)
				}
			}
			if len(durations) > 0 {
				want.Count++
			}
			if len(durations) < 2 {
				want.Single += int64(len(durations))
				continue
			}
			shortest := slices.Min(durations)
			want.TransferNS += shortest
			for _, d := range durations {
				want.WaitNS += d - shortest
			}
		}
		shards := []*Forest{NewForest(), NewForest(), NewForest()}
		for _, p := range parts {
			shards[r.IntN(len(shards))].addOp(p.entry("all_reduce"))
		}
		merged := NewForest()
		for _, s := range shards {
			merged.Merge(s)
		}
		rows := merged.collectiveRows()
		if len(parts) == 0 {
			return
		}
		got := CollectiveRow{Count: rows[0].Count, Single: rows[0].Single, TransferNS: rows[0].TransferNS, WaitNS: rows[0].WaitNS}
		if diff := cmp.Diff(want, got); diff != "" || len(rows) != 1 {
			t.Errorf("seed %d: %d rows: %s", seed, len(rows), diff)
		}
		caused := int64(0)
		for _, s := range rows[0].Stragglers {
			caused += s.CausedWaitNS
		}
		if caused != rows[0].WaitNS {
			t.Errorf("seed %d: %d ns caused, %d waited", seed, caused, rows[0].WaitNS)
		}
	})
}
