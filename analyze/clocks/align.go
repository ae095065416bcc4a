package clocks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// endsAtOnce lists collectives that no rank leaves before all have arrived, as lower-case words of their names without
// underscores and dashes. In others, such as a broadcast, sending ranks may finish early.
var endsAtOnce = []string{"allreduce", "allgather", "reducescatter", "alltoall", "barrier"}

// Align estimates the offsets of the ranks' clocks, moves the times of ranks with a known offset onto the clock of the
// reference, and returns the result. Rows without a rank, such as the span of a step, move with the operations below
// them if these have one rank, or without such operations with their parent.
func Align(f *trace.Forest) *Alignment {
	c := compareClocks(f)
	if len(c.Offsets) == 0 {
		return c
	}
	offsets := make(map[int64]int64, len(c.Offsets))
	for _, o := range c.Offsets {
		offsets[o.Rank] = o.OffsetNS
	}
	skews := skewsOf(f)
	times, all := timesOf(f)
	f.Shift(shifts(f, offsets), offsets)
	f.Build()
	alignedTimes, allAligned := timesOf(f)
	c.RecordedWallNS = all.wall()
	c.WallNS = allAligned.wall()
	aligned := skewsOf(f)
	names := f.Names.Collectives.Values
	for n, s := range skews {
		after := aligned[n]
		c.Collectives = append(c.Collectives, AlignedCollective{
			names[n].Name, names[n].Group, s.start, s.end, after.start, after.end,
		})
	}
	slices.SortFunc(c.Collectives, func(a, b AlignedCollective) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Group, b.Group))
	})
	for _, o := range c.Offsets {
		from, to := times[o.Rank], alignedTimes[o.Rank]
		c.Ranks = append(c.Ranks, AlignedRank{o.Rank, from.first, from.last, to.first, to.last})
	}
	return c
}

// compareClocks returns the offsets from collectives with a sequence number, or from the others without such offsets.
func compareClocks(f *trace.Forest) *Alignment {
	numbered := newComparison()
	inferred := newComparison()
	eachRanked(f, func(_ int32, parts []rankedPart) {
		if parts[0].inferred {
			inferred.add(parts)
		} else {
			numbered.add(parts)
		}
	})
	c := &Alignment{Estimate: numbered.estimate(), Collectives: []AlignedCollective{}, Ranks: []AlignedRank{}}
	if other := inferred.estimate(); len(c.Offsets) == 0 && len(other.Offsets)+len(other.Unknown) > len(c.Unknown) {
		c.Estimate = other
		c.Inferred = true
	}
	return c
}

// rankedPart is the part of one rank in a collective, until the last of its devices was done.
type rankedPart struct {
	rank, start, end int64
	inferred         bool
}

// eachRanked calls found for each collective of several ranks in endsAtOnce, with its name and its parts by rank.
func eachRanked(f *trace.Forest, found func(name int32, parts []rankedPart)) {
	plain := strings.NewReplacer("_", "", "-", "")
	atOnce := make([]bool, len(f.Names.Collectives.Values))
	for i, n := range f.Names.Collectives.Values {
		name := plain.Replace(strings.ToLower(n.Name))
		atOnce[i] = slices.ContainsFunc(endsAtOnce, func(word string) bool { return strings.Contains(name, word) })
	}
	var ranked []rankedPart
	joins := collective.FindJoins(f)
	for parts := range joins.All() {
		name := parts[0].Name
		inferred := parts[0].Inferred
		if !atOnce[name] || parts[0].Occurrence > 0 && !inferred {
			continue
		}
		ranked = ranked[:0]
		for _, p := range parts {
			rank := joins.Key(p.Device).Rank
			duration := f.Duration(p.Row)
			if !rank.Known || !p.Started || !trace.IsTime(p.Start, duration) {
				continue
			}
			part := rankedPart{rank.V, p.Start, p.Start + duration, inferred}
			if n := len(ranked); n > 0 && ranked[n-1].rank == part.rank { // devices come by rank
				last := &ranked[n-1]
				last.start = min(last.start, part.start)
				last.end = max(last.end, part.end)
				continue
			}
			ranked = append(ranked, part)
		}
		if len(ranked) > 1 {
			found(name, ranked)
		}
	}
}

// skew is the largest difference between the starts, and between the ends, of the ranks in collectives of a name.
type skew struct{ start, end int64 }

func skewsOf(f *trace.Forest) map[int32]skew {
	all := make(map[int32]skew)
	eachRanked(f, func(name int32, parts []rankedPart) {
		least, most := parts[0], parts[0]
		for _, p := range parts {
			least.start = min(least.start, p.start)
			least.end = min(least.end, p.end)
			most.start = max(most.start, p.start)
			most.end = max(most.end, p.end)
		}
		s := all[name]
		all[name] = skew{max(s.start, most.start-least.start), max(s.end, most.end-least.end)}
	})
	return all
}

type timeRange struct{ first, last op.Int }

func (t *timeRange) add(start, end int64) {
	if !t.first.Known || start < t.first.V {
		t.first = op.Known(start)
	}
	if !t.last.Known || end > t.last.V {
		t.last = op.Known(end)
	}
}

func timesOf(f *trace.Forest) (ranks map[int64]timeRange, all timeRange) {
	byLane := make([]timeRange, len(f.Names.Lanes.Values))
	for r := range f.Rows() {
		if f.CountsInSums(r) && f.Has(r, trace.FlagStart) {
			byLane[f.Lane(r)].add(f.Start(r), f.End(r))
		}
	}
	ranks = make(map[int64]timeRange)
	for i, times := range byLane {
		if !times.first.Known {
			continue
		}
		all.add(times.first.V, times.last.V)
		if rank := f.Names.Lanes.Values[i].Device.Rank; rank.Known {
			t := ranks[rank.V]
			t.add(times.first.V, times.last.V)
			ranks[rank.V] = t
		}
	}
	return ranks, all
}

func (t *timeRange) wall() op.Int {
	return op.Int{V: wide.Between(t.first.V, t.last.V), Known: t.first.Known}
}

// rankMixed stands for several ranks below a row.
const rankMixed int32 = -2

func shifts(f *trace.Forest, offsets map[int64]int64) []int64 {
	lanes := make([]int32, len(f.Names.Lanes.Values)) // the number of the rank, trace.NoRow without one
	var ranks symbols.Table[int64]
	for i, l := range f.Names.Lanes.Values {
		if lanes[i] = trace.NoRow; l.Device.Rank.Known {
			lanes[i] = ranks.ID(l.Device.Rank.V)
		}
	}
	list := make([]int64, f.Rows())
	for r, rank := range rowRanks(f, lanes) {
		if rank >= 0 {
			list[r] = offsets[ranks.Values[rank]]
		}
	}
	return list
}

// rowRanks returns the rank of each row, given the ranks of lanes: the operation's own, else the common rank of all
// operations below, else the rank of the nearest row above. A duplicate has the rank of its original.
func rowRanks(f *trace.Forest, lanes []int32) []int32 {
	ranks := slices.Repeat([]int32{trace.NoRow}, int(f.Rows()))
	rows := f.Nesting().Rows()
	for _, r := range slices.Backward(rows) { // first with the ranks of rows below
		own := trace.NoRow
		if f.Has(r, trace.FlagOp) {
			own = lanes[f.Lane(r)]
		}
		if above := f.Tree.Parent[r]; above != trace.NoRow {
			for _, rank := range []int32{ranks[r], own} {
				if ranks[above] == trace.NoRow {
					ranks[above] = rank
				} else if rank != trace.NoRow && rank != ranks[above] {
					ranks[above] = rankMixed
				}
			}
		}
		if own != trace.NoRow {
			ranks[r] = own
		}
	}
	for _, r := range rows {
		if above := f.Tree.Parent[r]; ranks[r] == trace.NoRow && above != trace.NoRow {
			ranks[r] = ranks[above]
		}
	}
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagDuplicate) {
			continue
		}
		if ranks[r] = ranks[f.Tree.Originals[r]]; f.Has(r, trace.FlagOp) && lanes[f.Lane(r)] >= 0 {
			ranks[r] = lanes[f.Lane(r)]
		}
	}
	return ranks
}
