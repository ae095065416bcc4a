package timeline

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// hosts has the activity of the hosts, one rank at a time.
type hosts struct {
	forest      *trace.Forest
	first, last int64 // of all rows, and of calls but the runtime's
	// rows and calls have the host rows and calls of each rank, the calls as complements of their numbers. The unknown
	// rank has the rows and calls of all ranks.
	rows, calls map[op.Int]*layer
	rank        op.Int // the current one
	// around has the rows of the current rank, of all ranks if it has none. beside has its calls.
	around, beside *layer
	long           map[longKey][]interval
	longKeys       []longKey // of long, in order of their first gaps
	covered        map[*layer]Times
}

// longKey groups gaps with many segments for a common walk.
type longKey struct {
	place *Place
	layer *layer
	above *layer // the rows above a layer of calls
}

// A gap is walked at once up to this number of segments.
const maxWalked = 16

// layer has the innermost row or call of a host over time.
type layer struct {
	members  []int32
	segments []segment
	next     int // the first segment after the time of the last search
}

// segment begins a time with the same innermost row or call. It ends at the next segment.
type segment struct {
	from      int64
	innermost int32 // or nobody
}

const nobody = math.MinInt32

type interval struct{ from, to int64 }

// newHosts finds the host rows of f, except the requests with spans below them if owners has the request of each row.
func newHosts(f *trace.Forest, owners []int32) hosts {
	h := hosts{
		forest: f, rows: map[op.Int]*layer{{}: {}}, calls: map[op.Int]*layer{{}: {}},
		long: make(map[longKey][]interval), covered: make(map[*layer]Times),
		first: trace.MaxTime, last: -trace.MaxTime,
	}
	rankOf := RankOf(f)
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagStart) || f.Has(r, trace.FlagRepeat) {
			continue
		}
		h.first, h.last = min(h.first, f.Start(r)), max(h.last, f.End(r))
		if f.IsDeviceSide(r) || f.Duration(r) == 0 || owners != nil && owners[r] == r && len(f.Tree.Children(r)) > 0 {
			continue
		}
		addMember(h.rows, rankOf(r), r)
	}
	for i := range f.Calls {
		if c := &f.Calls[i]; !c.Inside {
			addMember(h.calls, c.Rank, ^int32(i))
			if !attrkey.IsRuntime(c.Name) { // a context is set up before the run, and taken down after it
				h.first, h.last = min(h.first, c.Start), max(h.last, c.Start+c.Duration)
			}
		}
	}
	return h
}

// WaitNS returns the time of waiting calls of hosts between two times, 0 without a forest.
func WaitNS(f *trace.Forest, from, to int64) (ns int64) {
	if f == nil {
		return 0
	}
	for i := range f.Calls {
		if c := &f.Calls[i]; attrkey.IsWait(c.Name) {
			ns += max(0, min(c.Start+c.Duration, to)-max(c.Start, from))
		}
	}
	return ns
}

// RankOf returns a function for the rank of a host's row. An operation has its own rank. A span has the rank of the
// operations below it, or else below the nearest span above with operations, or else in its trace; the rank is unknown
// if these differ. The returned function is not safe for concurrent use.
func RankOf(f *trace.Forest) func(r int32) op.Int {
	ranked := slices.ContainsFunc(f.Names.Lanes.Values, func(l trace.Lane) bool { return l.Device.Rank.Known })
	var ranks map[int32]op.Int // see ranksAbove, once a span asks
	return func(r int32) op.Int {
		switch {
		case !ranked:
			return op.Int{}
		case f.Has(r, trace.FlagOp):
			return f.DeviceKey(r).Rank
		case ranks == nil:
			ranks = ranksAbove(f)
		}
		top := r
		for _, known := ranks[top]; top != trace.NoRow && !known; _, known = ranks[top] {
			top = f.Tree.Parent[top]
		}
		rank := ranks[^f.Trace(r)]
		if top != trace.NoRow {
			rank = ranks[top]
		}
		for p := r; p != top; p = f.Tree.Parent[p] { // each row once
			ranks[p] = rank
		}
		return rank
	}
}

// ranksAbove returns the ranks of operations by the rows above them, and by the complements of their traces.
func ranksAbove(f *trace.Forest) map[int32]op.Int {
	ranks := make(map[int32]op.Int)
	add := func(k int32, rank op.Int) (isNew bool) {
		before, known := ranks[k]
		if known && (before == rank || !before.Known) {
			return false
		}
		if known {
			rank = op.Int{}
		}
		ranks[k] = rank
		return true
	}
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagOp) {
			continue
		}
		rank := f.DeviceKey(r).Rank
		add(^f.Trace(r), rank)
		p := r
		if len(f.Tree.Children(r)) == 0 { // most operations
			p = f.Tree.Parent[r]
		}
		for ; p != trace.NoRow && add(p, rank); p = f.Tree.Parent[p] {
		}
	}
	return ranks
}

func addMember(layers map[op.Int]*layer, rank op.Int, i int32) {
	layers[op.Int{}].members = append(layers[op.Int{}].members, i)
	if !rank.Known {
		return
	}
	if layers[rank] == nil {
		layers[rank] = new(layer)
	}
	layers[rank].members = append(layers[rank].members, i)
}

// enter makes a rank the current one.
func (h *hosts) enter(rank op.Int) {
	h.rank = rank
	h.around = cmp.Or(h.rows[rank], h.rows[op.Int{}])
	h.beside = h.calls[rank]
	h.divide(h.around)
	h.divide(h.beside)
}

func (h *hosts) times(i int32) (start, end int64) {
	if i < 0 {
		c := &h.forest.Calls[^i]
		return c.Start, c.Start + c.Duration
	}
	return h.forest.Start(i), h.forest.End(i)
}

func (h *hosts) name(i int32) string {
	if i < 0 {
		return h.forest.Calls[^i].Name
	}
	return h.forest.RowName(i)
}

// compareTied orders rows and calls with equal starts, last end first.
func (h *hosts) compareTied(a, b int32) int {
	if a >= 0 {
		return cmp.Or(cmp.Compare(h.forest.End(b), h.forest.End(a)), h.forest.CompareStart(a, b))
	}
	x := &h.forest.Calls[^a]
	y := &h.forest.Calls[^b]
	return cmp.Or(cmp.Compare(y.Duration, x.Duration), strings.Compare(x.Name, y.Name), cmp.Compare(x.Rank.V, y.Rank.V))
}

// divide finds the segments of a layer. The innermost row or call is the last running one to start.
func (h *hosts) divide(l *layer) {
	if l == nil || len(l.members) == 0 {
		return
	}
	order.Rows(l.members, func(i int32) int64 {
		start, _ := h.times(i)
		return start
	}, h.compareTied)
	l.segments = make([]segment, 0, 2*len(l.members))
	put := func(from int64, innermost int32) {
		if n := len(l.segments); n > 0 && l.segments[n-1].from == from {
			l.segments = l.segments[:n-1]
		}
		l.segments = append(l.segments, segment{from, innermost})
	}
	var open []int32
	endBy := func(limit int64) {
		for len(open) > 0 {
			_, end := h.times(open[len(open)-1])
			if end > limit {
				return
			}
			innermost := int32(nobody)
			for innermost == nobody && len(open) > 0 {
				if _, e := h.times(open[len(open)-1]); e > end {
					innermost = open[len(open)-1]
				} else {
					open = open[:len(open)-1]
				}
			}
			put(end, innermost)
		}
	}
	for _, i := range l.members {
		start, _ := h.times(i)
		endBy(start)
		put(start, i)
		open = append(open, i)
	}
	endBy(trace.MaxTime)
	l.members = nil
}

// find returns the innermost row or call at a time, and the end of its segment. It is fastest for ascending times.
func (l *layer) find(at int64) (innermost int32, until int64) {
	if l == nil {
		return nobody, trace.MaxTime
	}
	if l.next > 0 && l.segments[l.next-1].from > at {
		l.next = 0
	}
	for step := 1; ; step *= 2 {
		later := l.segments[l.next:min(l.next+step, len(l.segments))]
		if n := len(later); n > 0 && later[n-1].from <= at {
			l.next += n
			continue
		}
		l.next += sort.Search(len(later), func(k int) bool { return later[k].from > at })
		break
	}
	innermost = nobody
	until = trace.MaxTime
	if l.next > 0 {
		innermost = l.segments[l.next-1].innermost
	}
	if l.next < len(l.segments) {
		until = l.segments[l.next].from
	}
	return innermost, until
}

// isLong tells whether an interval has more than maxWalked segments.
func (l *layer) isLong(from, to int64) bool {
	if l == nil {
		return false
	}
	l.find(from)
	k := l.next + maxWalked
	return k < len(l.segments) && l.segments[k].from < to
}

// walk calls add for each part of an idle time of the current rank, with the innermost row, or else call, or nobody. It
// leaves long times to [hosts.walkLong].
func (h *hosts) walk(place *Place, from, to int64, add func(innermost int32, ns int64)) (isLong bool) {
	rows, calls := h.around, h.beside
	if rows.isLong(from, to) || calls.isLong(from, to) {
		h.leave(longKey{place, rows, nil}, from, to)
		h.leave(longKey{place, calls, rows}, from, to)
		return true
	}
	for at := from; at < to; {
		innermost, until := rows.find(at)
		if innermost == nobody {
			var limit int64
			innermost, limit = calls.find(at)
			until = min(until, limit)
		}
		until = min(until, to)
		add(innermost, until-at)
		at = until
	}
	return false
}

func (h *hosts) leave(k longKey, from, to int64) {
	if k.layer == nil {
		return
	}
	if h.long[k] == nil {
		h.longKeys = append(h.longKeys, k)
	}
	h.long[k] = append(h.long[k], interval{from, to})
}

// walkLong calls add for each row and call with its total time in the long idle times.
func (h *hosts) walkLong(add func(place *Place, innermost int32, ns int64)) {
	for _, k := range h.longKeys {
		if h.forest.Ended() {
			return
		}
		k.layer.overlaps(h.long[k], func(innermost int32, times int, from, to int64) {
			if ns := h.within(k, from, to); ns > 0 {
				add(k.place, innermost, int64(times)*ns)
			}
		})
	}
}

// within returns the part of a time without a running row in the layer above k.
func (h *hosts) within(k longKey, from, to int64) int64 {
	if k.above == nil {
		return to - from
	}
	rows, found := h.covered[k.above]
	if !found {
		for n, s := range k.above.segments {
			if s.innermost != nobody {
				rows.Add(s.from, k.above.segments[n+1].from)
			}
		}
		h.covered[k.above] = rows
	}
	return to - from - rows.Within(from, to)
}

// overlaps calls add with parts of segments and the number of intervals they are in.
func (l *layer) overlaps(intervals []interval, add func(innermost int32, times int, from, to int64)) {
	type edge struct {
		at   int64
		step int
	}
	edges := make([]edge, 0, 2*len(intervals))
	for _, i := range intervals {
		edges = append(edges, edge{i.from, 1}, edge{i.to, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	open := 0
	for k, e := range edges {
		if open += e.step; open == 0 {
			continue
		}
		for at := e.at; at < edges[k+1].at; {
			innermost, until := l.find(at)
			until = min(until, edges[k+1].at)
			if innermost != nobody {
				add(innermost, open, at, until)
			}
			at = until
		}
	}
}
