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

// endsAtOnce lists the collectives that no rank can leave before all have come, by words of
// their names without underscores and dashes, in lower case. Of others, such as a broadcast,
// the ranks that only send may be done long before.
var endsAtOnce = []string{"allreduce", "allgather", "reducescatter", "alltoall", "barrier"}

// Align estimates how far the clocks of ranks are apart, moves the times of the ranks for which that is known onto the
// clock of the reference, and returns what it did. What states no rank, such as the span of a step, moves with the
// operations below it if these are of one rank, and where there are none with what is above.
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
	f.Shift(shifts(f, offsets))
	f.Build()
	alignedTimes, allAligned := timesOf(f)
	c.RecordedWallNS, c.WallNS = all.wall(), allAligned.wall()
	aligned, names := skewsOf(f), f.Names.Collectives.Values
	for n, s := range skews {
		after := aligned[n]
		c.Collectives = append(c.Collectives, AlignedCollective{names[n].Name, names[n].Group, s.start, s.end, after.start, after.end})
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

// compareClocks returns the offsets, from collectives with a sequence number, or where these
// say nothing from the others.
func compareClocks(f *trace.Forest) *Alignment {
	numbered, inferred := newComparison(), newComparison()
	eachRanked(f, func(_ int32, parts []rankedPart) {
		if parts[0].inferred {
			inferred.add(parts)
		} else {
			numbered.add(parts)
		}
	})
	c := &Alignment{Estimate: numbered.estimate(), Collectives: []AlignedCollective{}, Ranks: []AlignedRank{}}
	if other := inferred.estimate(); len(c.Offsets) == 0 && len(other.Offsets)+len(other.Unknown) > len(c.Unknown) {
		c.Estimate, c.Inferred = other, true
	}
	return c
}

// rankedPart is the part that one rank had in a collective: until the last of its devices was
// done.
type rankedPart struct {
	rank, start, end int64
	inferred         bool
}

// eachRanked calls found with the number of the name and the parts, in order of the ranks, of each collective of
// several ranks that ends for all of them at once and is no repeat.
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
		name, inferred := parts[0].Name, parts[0].Inferred
		if !atOnce[name] || parts[0].Occurrence > 0 && !inferred {
			continue
		}
		ranked = ranked[:0]
		for _, p := range parts {
			rank, duration := joins.Key(p.Device).Rank, f.Duration(p.Row)
			if !rank.Known || !p.Started || !trace.IsTime(p.Start, duration) {
				continue
			}
			part := rankedPart{rank.V, p.Start, p.Start + duration, inferred}
			if n := len(ranked); n > 0 && ranked[n-1].rank == part.rank { // devices come by rank
				ranked[n-1].start, ranked[n-1].end = min(ranked[n-1].start, part.start), max(ranked[n-1].end, part.end)
				continue
			}
			ranked = append(ranked, part)
		}
		if len(ranked) > 1 {
			found(name, ranked)
		}
	}
}

// skew says how far the ranks of the collectives of a name begin and end apart at most.
type skew struct{ start, end int64 }

// skewsOf returns those of all names, as the times are now.
func skewsOf(f *trace.Forest) map[int32]skew {
	all := make(map[int32]skew)
	eachRanked(f, func(name int32, parts []rankedPart) {
		least, most := parts[0], parts[0]
		for _, p := range parts {
			least.start, least.end = min(least.start, p.start), min(least.end, p.end)
			most.start, most.end = max(most.start, p.start), max(most.end, p.end)
		}
		s := all[name]
		all[name] = skew{max(s.start, most.start-least.start), max(s.end, most.end-least.end)}
	})
	return all
}

// timeRange is from a first start to a last end.
type timeRange struct{ first, last op.Int }

func (t *timeRange) add(start, end int64) {
	if !t.first.Known || start < t.first.V {
		t.first = op.Known(start)
	}
	if !t.last.Known || end > t.last.V {
		t.last = op.Known(end)
	}
}

// timesOf returns the times of the operations of each rank, and of all.
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

// rankMixed stands for the ranks of operations below a row that are not all the same.
const rankMixed int32 = -2

// shifts returns how far the clock is ahead by which the times of each row are.
func shifts(f *trace.Forest, offsets map[int64]int64) []int64 {
	lanes := make([]int32, len(f.Names.Lanes.Values)) // the number of the rank, trace.NoRow for none
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

// rowRanks returns the rank of each row, given those of lanes: that of the operation, or else
// that of all operations below that have one, or else that of the nearest row above. A
// duplicate has the rank of the row that it repeats.
func rowRanks(f *trace.Forest, lanes []int32) []int32 {
	ranks, rows := slices.Repeat([]int32{trace.NoRow}, int(f.Rows())), f.Nesting().Rows()
	for _, r := range slices.Backward(rows) { // ranks has what is below
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
