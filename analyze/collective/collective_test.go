package collective

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func onRank(rank int64) device.Key { return device.Key{Rank: op.Known(rank), DeviceID: "cuda:0"} }

func TestCollectiveSizes(t *testing.T) {
	const k = 1000
	for _, tc := range []struct {
		name             string
		elements         int64
		dtype            op.DType
		memory           op.Int
		algorithm, bytes op.Float // per second, at 1 µs, in a group of 8; 4 ranks were read
	}{
		{"all_reduce", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(7e9)},
		{"AllReduce", k, op.F16, op.Known(99), op.KnownFloat(2e9), op.KnownFloat(3.5e9)},
		{"reduce_scatter", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(3.5e9)},
		{"all-to-all", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(3.5e9)},
		{"broadcast", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(4e9)},
		{"reduce", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.KnownFloat(4e9)},
		{"send", 0, op.F32, op.Known(8 * k), op.KnownFloat(8e9), op.KnownFloat(8e9)},
		{"mystery", k, op.F32, op.Int{}, op.KnownFloat(4e9), op.Float{}},
		{"all_reduce", k, "", op.Int{}, op.Float{}, op.Float{}},
		{"all_reduce", 1 << 62, op.F32, op.Int{}, op.Float{}, op.Float{}},
	} {
		forest := trace.New()
		for rank := range int64(4) {
			forest.Add(op.Record{Entry: &op.Entry{
				Operation: "c", Kind: op.KindCollective, Rank: op.Known(rank), Duration: k, DType: tc.dtype,
				MemoryBytes: tc.memory,
				Collective: &op.Collective{Name: tc.name, GroupSize: op.Known(8), OutElements: op.Known(tc.elements),
					Sequence: op.Known(1)},
			}})
		}
		row := FindJoins(forest).Rows()[0]
		want := []op.Float{tc.algorithm, tc.bytes}
		got := []op.Float{row.AlgorithmBytesPerSecond, row.BusBytesPerSecond}
		name := fmt.Sprintf("%s of %d %s", tc.name, tc.elements, tc.dtype)
		check.Equal(t, name, want, got, cmpopts.EquateApprox(1e-12, 1e-9))
	}
}

// The rows do not depend on the division of entries among shards, and agree with the definition: for repeated numbers,
// for ranks without some numbers, and for entries without a start.
func TestCollectivesAgainstDefinition(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		parts := collectiveParts(r)
		shards := []*trace.Forest{trace.New(), trace.New(), trace.New()}
		for i, p := range parts {
			shard := shards[r.IntN(len(shards))]
			shard.StartPart(int64(i))
			shard.Add(op.Record{Entry: &p})
		}
		merged := trace.New()
		for _, s := range shards {
			merged.Merge(s)
		}
		got := FindJoins(merged).Rows()
		check.Equal(t, fmt.Sprintf("seed %d", seed), naiveCollectives(parts), got, cmpopts.EquateApprox(1e-12, 1e-9))
	})
}

// Sends of two ranks do not wait for each other, unless their numbers say so and no peer is known.
func TestSendsDoNotJoin(t *testing.T) {
	for _, c := range []struct {
		of      op.Collective
		singles int64
	}{
		{op.Collective{Name: "send"}, 2}, {op.Collective{Name: "isend", Sequence: op.Known(int64(1))}, 0},
		{op.Collective{Name: "recv", Sequence: op.Known(int64(1)), PeerRank: op.Known(int64(0))}, 2},
		{op.Collective{Name: "sendrecv"}, 0}, {op.Collective{Name: "all_reduce"}, 0},
	} {
		f := trace.New()
		for rank := range int64(2) {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: c.of.Name, Kind: op.KindCollective, DeviceID: "cuda", Rank: op.Known(rank), Start: op.Known(rank),
				Duration: 10 - rank, Collective: &c.of}})
		}
		check.Equal(t, fmt.Sprint(c.of), c.singles, FindJoins(f).Rows()[0].Single)
	}
}

// Ranks in chains of equal length are pipelines.
func TestPipelinesAreChains(t *testing.T) {
	for name, test := range map[string]struct {
		links        [][2]int64
		stages, each int64
	}{
		"two pipelines of two": {
			[][2]int64{{0, 1}, {0, 1}, {1, 0}, {1, 0}, {2, 3}, {2, 3}, {3, 2}, {3, 2}}, 2, 2,
		},
		"three stages":   {[][2]int64{{0, 1}, {1, 2}, {2, 1}, {1, 0}}, 3, 1},
		"a ring":         {[][2]int64{{0, 1}, {1, 2}, {2, 0}}, 0, 0},
		"a star":         {[][2]int64{{0, 1}, {0, 2}, {0, 3}}, 0, 0},
		"unequal chains": {[][2]int64{{0, 1}, {2, 3}, {3, 4}}, 0, 0},
		"nothing":        {nil, 0, 0},
	} {
		var all []Transfer
		for _, link := range test.links {
			all = append(all, Transfer{From: link[0], To: link[1]})
		}
		stages, each := Pipelines(all)
		check.Equal(t, name, [2]int64{test.stages, test.each}, [2]int64{stages, each})
	}
}

// What follows a collective needs its data where it starts behind it alone: neither beside it nor behind several.
func TestNeededCollectives(t *testing.T) {
	for name, test := range map[string]struct {
		starts []int64 // of products of 10 ns, and, below 0, of collectives
		needed float64
	}{
		"one by one":   {[]int64{0, -10, 20, -30, 40}, 1},
		"two in a row": {[]int64{0, -10, -20, 30}, 0},
		"beside":       {[]int64{0, -5, 10}, 0},
		"one, and two": {[]int64{0, -10, 20, -30, -40, 50}, 1. / 3},
		"none":         {[]int64{0, 10}, 0},
	} {
		f := trace.New()
		for _, at := range test.starts {
			kind := op.KindCompute
			if at < 0 {
				at, kind = -at, op.KindCollective
			}
			f.Add(op.Record{Entry: &op.Entry{
				Operation: "x", Kind: kind, DeviceID: "cuda", Start: op.Known(at), Duration: 10,
			}})
		}
		f.Build()
		check.Equal(t, name, test.needed, Needed(f))
	}
}

// naiveCollectives applies the definition of [Row] to one collective after the other.
func naiveCollectives(parts []op.Entry) []Row {
	rows := []Row{}
	for _, name := range []string{"all_gather", "all_reduce", "broadcast"} {
		for _, group := range []string{"", "dp"} {
			var mine []op.Entry
			for _, p := range parts {
				isDevice := p.Kind == op.KindCollective && p.Side == op.SideNone
				if isDevice && p.Collective.Name == name && p.Collective.Group == group {
					mine = append(mine, p)
				}
			}
			if len(mine) > 0 {
				rows = append(rows, naiveRow(name, group, mine))
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return int(b.TransferNS.V - a.TransferNS.V) })
	return rows
}

func naiveRow(name, group string, parts []op.Entry) Row {
	row := Row{Name: name, Group: group, Stragglers: []Straggler{}, Waits: []Wait{}}
	var stragglers [4]Straggler
	var waits [4]Wait
	var transferred, moved, carried float64
	for _, number := range []op.Int{{}, op.Known(0), op.Known(1), op.Known(2), op.Known(3)} {
		for k, met := range naiveOccurrences(parts, number) {
			row.Count++
			if !number.Known {
				row.Inferred++
			} else if k > 0 {
				row.Repeats++
			}
			if len(met) < 2 {
				row.Single++
				continue
			}
			last := met[0]
			var wait, bytes, skew int64
			for _, p := range met {
				if p.Duration < last.Duration {
					last = p
				}
				bytes = max(bytes, p.MemoryBytes.V)
			}
			timeless := false
			for _, p := range met {
				waited := p.Duration - last.Duration
				wait += waited
				waits[p.Rank.V].Count++
				waits[p.Rank.V].WaitNS += waited
				timeless = timeless || !p.Start.Known
				for _, o := range met {
					skew = max(skew, p.Start.V-o.Start.V)
				}
			}
			if !timeless {
				row.MaxStartSkewNS = op.Known(max(row.MaxStartSkewNS.V, skew))
			}
			row.TransferNS = op.Known(row.TransferNS.V + last.Duration)
			row.WaitNS = op.Known(row.WaitNS.V + wait)
			if wait > 0 {
				stragglers[last.Rank.V].Count++
				stragglers[last.Rank.V].CausedWaitNS += wait
			}
			if bytes > 0 && last.Duration > 0 {
				ranks := int64(len(met))
				for _, p := range met {
					ranks = max(ranks, p.Collective.GroupSize.V)
				}
				n := float64(ranks)
				transferred += float64(last.Duration)
				moved += float64(bytes)
				share := (n - 1) / n
				factors := map[string]float64{"all_gather": share, "all_reduce": 2 * share, "broadcast": 1}
				carried += float64(bytes) * factors[name]
			}
		}
	}
	if transferred > 0 {
		row.AlgorithmBytesPerSecond = op.KnownFloat(moved / transferred * 1e9)
		row.BusBytesPerSecond = op.KnownFloat(carried / transferred * 1e9)
	}
	for rank := range waits {
		waits[rank].Key = onRank(int64(rank))
		stragglers[rank].Key = onRank(int64(rank))
		if waits[rank].Count > 0 {
			row.Waits = append(row.Waits, waits[rank])
		}
		if stragglers[rank].Count > 0 {
			row.Stragglers = append(row.Stragglers, stragglers[rank])
		}
	}
	slices.SortStableFunc(row.Stragglers, func(a, b Straggler) int { return int(b.Count - a.Count) })
	slices.SortStableFunc(row.Waits, func(a, b Wait) int { return int(b.WaitNS - a.WaitNS) })
	return row
}

// naiveOccurrences returns the collectives with a sequence number in order. The k-th one has the k-th part of each rank
// by start; parts without a start come last.
func naiveOccurrences(parts []op.Entry, number op.Int) [][]op.Entry {
	var all [][]op.Entry
	for rank := range int64(4) {
		var mine []op.Entry
		for _, p := range parts {
			if p.Collective.Sequence == number && p.Rank.V == rank {
				mine = append(mine, p)
			}
		}
		slices.SortStableFunc(mine, func(a, b op.Entry) int {
			return cmp.Or(order.Flags(b.Start.Known, a.Start.Known), cmp.Compare(a.Start.V, b.Start.V),
				cmp.Compare(a.Duration, b.Duration))
		})
		for k, p := range mine {
			if k == len(all) {
				all = append(all, nil)
			}
			all[k] = append(all[k], p)
		}
	}
	return all
}

// collectiveParts returns up to 59 parts of collectives on four ranks. Some lack a start, a size or a sequence number, and
// some are no collectives.
func collectiveParts(r *rand.Rand) []op.Entry {
	parts := make([]op.Entry, r.IntN(60))
	for i := range parts {
		p := &parts[i]
		name := tracetest.Pick(r, "all_reduce", "broadcast", "all_gather")
		*p = op.Entry{
			Operation: "nccl:" + name, Kind: op.KindCollective, DeviceID: "cuda:0", Rank: op.Known(r.Int64N(4)),
			Duration: r.Int64N(100), Collective: &op.Collective{Name: name, Group: tracetest.Pick(r, "", "dp")},
		}
		switch r.IntN(12) {
		case 0:
			p.Kind = op.KindCompute
		case 1:
			p.Side = op.SideHost
		}
		if r.IntN(8) > 0 {
			p.Start = op.Known(r.Int64N(100))
		}
		if r.IntN(3) > 0 {
			p.MemoryBytes = op.Known(r.Int64N(3) * 64)
		}
		if r.IntN(4) > 0 {
			p.Collective.Sequence = op.Known(r.Int64N(4))
		}
		if r.IntN(2) == 0 {
			p.Collective.GroupSize = op.Known(1 + r.Int64N(6)) // possibly more than were read
		}
	}
	return parts
}
