package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/pattern"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// selection is a set of rows and of calls.
type selection struct {
	rows  []bool
	calls map[int32]bool // by index
	count int64
}

// UnknownError is a selection that matches nothing.
type UnknownError struct {
	Select string
	// Names are those that could be meant: operations, or the keys of a selection KEY=VALUE.
	Names []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("%q selects nothing", e.Select) }

// properties are the keys of a selection.
var properties = map[string]func(f *trace.Forest, r int32) string{
	"operation": (*trace.Forest).RowName,
	"operator":  (*trace.Forest).LauncherName,
	"service":   (*trace.Forest).Service,
	"kind":      func(f *trace.Forest, r int32) string { return f.Kind(r).String() },
	"device":    func(f *trace.Forest, r int32) string { return f.DeviceKey(r).DeviceID },
	"host":      func(f *trace.Forest, r int32) string { return f.DeviceKey(r).Host },
	"rank":      func(f *trace.Forest, r int32) string { return known(f.DeviceKey(r).Rank) },
	"stream":    func(f *trace.Forest, r int32) string { return known(f.Names.Lanes.Values[f.Lane(r)].Stream) },
	"collective": func(f *trace.Forest, r int32) string {
		if i, ok := trace.CollectiveOf(f.Collectives, r); ok {
			return f.Names.Collectives.Values[f.Collectives[i].Name].Name
		}
		return ""
	},
	"peer": func(f *trace.Forest, r int32) string { // the rank on the other side of a send or receive
		if i, ok := trace.CollectiveOf(f.Collectives, r); ok && f.Collectives[i].Peer >= 0 {
			return strconv.Itoa(int(f.Collectives[i].Peer))
		}
		return ""
	},
	"step":  func(f *trace.Forest, r int32) string { return known(f.Node(r).Step()) },
	"phase": func(f *trace.Forest, r int32) string { return f.Names.Marks.Values[f.Mark(r)].Phase },
}

func known(v op.Int) string {
	if !v.Known {
		return ""
	}
	return strconv.FormatInt(v.V, 10)
}

// find returns what text selects: the name of an operation, an operator, a span or a call, or KEY=VALUE,KEY=VALUE.
func (g *Graph) find(text string) (*selection, error) {
	f := g.forest
	s := &selection{rows: make([]bool, f.Len()), calls: make(map[int32]bool)}
	if matches := conditions(f, text); matches != nil {
		for r := range f.Rows() {
			s.add(r, g.begin[r] != none && f.Has(r, trace.FlagOp) && matches(r))
		}
		return s, s.check(text, nil)
	}
	operation := int32(slices.Index(f.Names.Operations.Values, text))
	spans := make([]bool, len(f.Names.Spans.Values))
	for i := range spans {
		spans[i] = f.Names.Spans.Values[i].Name == text
	}
	for r := range f.Rows() {
		isNamed := f.Name(r) == operation
		if !f.Has(r, trace.FlagOp) {
			isNamed = spans[f.Name(r)]
		}
		s.add(r, isNamed && g.begin[r] != none)
	}
	for i := range f.Calls {
		if f.Calls[i].Name == text {
			s.calls[int32(i)] = true
			s.count++
		}
	}
	onDevice := false
	for r := range f.Rows() {
		onDevice = onDevice || s.rows[r] && f.IsDeviceSide(r)
	}
	for r := range f.Rows() {
		s.add(r, !onDevice && g.begin[r] != none && f.IsDeviceSide(r) && f.LauncherName(r) == text)
	}
	return s, s.check(text, f)
}

// conditions returns the test of a text KEY=VALUE,KEY=VALUE, nil for another text.
func conditions(f *trace.Forest, text string) func(r int32) bool {
	var all []func(r int32) bool
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		of := properties[key]
		if !ok || of == nil {
			return nil
		}
		all = append(all, func(r int32) bool { return pattern.Matches(value, of(f, r)) })
	}
	return func(r int32) bool {
		return !slices.ContainsFunc(all, func(matches func(int32) bool) bool { return !matches(r) })
	}
}

func (s *selection) add(r int32, selected bool) {
	if selected && !s.rows[r] {
		s.rows[r] = true
		s.count++
	}
}

func (s *selection) check(text string, f *trace.Forest) error {
	if s.count > 0 {
		return nil
	}
	err := &UnknownError{Select: text}
	if f != nil {
		err.Names = append(slices.Clone(f.Names.Operations.Values), f.Names.Launchers.Values...)
		for i := range f.Calls {
			if name := f.Calls[i].Name; !slices.Contains(err.Names, name) {
				err.Names = append(err.Names, name)
			}
		}
	}
	return err
}

// has reports whether the owner of an edge is selected.
func (s *selection) has(owner int32) bool {
	if owner >= 0 {
		return s.rows[owner]
	}
	return owner != noOwner && s.calls[^owner]
}

// hasRow reports whether the owner of an edge is a selected row.
func (s *selection) hasRow(owner int32) bool { return owner >= 0 && s.rows[owner] }

// joinGaps makes one of the times in which a host recorded nothing around removed events: the longest stays.
func (g *Graph) joinGaps(s *selection, v *variant) {
	f := g.forest
	const stays, goes = 1, 2
	events := make([]uint8, g.g.Nodes()) // what begins at a node of a host
	for r := range f.Rows() {
		if p := g.begin[r]; s.rows[r] && f.Has(r, trace.FlagHost) && p != none {
			events[p>>1] = goes
		}
	}
	for e := range g.g.owned(isRow) {
		switch {
		case e.kind != afterLaunch || !f.Has(e.owner, trace.FlagLaunch):
		case s.rows[e.owner]:
			events[e.from>>1] |= goes
		default:
			events[e.from>>1] |= stays
		}
	}
	longest := make([]int64, g.g.Nodes()) // of the times up to a node, since the event before that stays
	isGone := make([]bool, g.g.Nodes())
	for node := g.g.Owned(); node < g.g.Nodes(); node++ {
		from := g.g.From(^node)
		if from == none || g.g.Kind(^node) != onThread {
			continue
		}
		before := from >> 1
		isInside := s.has(g.g.owner[node])
		isGone[node] = isInside || events[node] == goes
		switch {
		case isInside:
			longest[node] = longest[before]
		case (isGone[node] || isGone[before]) && g.isUnrecorded(edge{^node, from, node << 1, g.g.owner[node], onThread}):
			lag := v.Lag(^node)
			longest[node] = max(lag, longest[before])
			v.Set(^node, longest[node]-longest[before])
			if !isGone[node] {
				longest[node] = 0
			}
		}
	}
}

// addBelow selects all below selected rows of hosts, without counting it.
func (g *Graph) addBelow(s *selection) {
	tree := &g.forest.Tree
	var left []int32
	for r := range g.forest.Rows() {
		if s.rows[r] && !g.isOnDevice(r) && (tree.Parent[r] == trace.NoRow || !s.rows[tree.Parent[r]]) {
			left = append(left, tree.Children(r)...)
		}
	}
	for len(left) > 0 {
		r := left[len(left)-1]
		s.rows[r] = true
		left = append(left[:len(left)-1], tree.Children(r)...)
	}
}

// addWithin selects, within selected calls and operations of hosts, the calls and operations of their threads, and the
// operations of devices launched there.
func (g *Graph) addWithin(s *selection) {
	type thread struct {
		rank op.Int
		id   int64
	}
	type span struct{ start, end int64 }
	f := g.forest
	ofRow := func(r int32) thread { return thread{f.DeviceKey(r).Rank, f.Names.Threads.Values[f.Thread(r)]} }
	ofCall := func(c *trace.Call) (thread, span) {
		t := thread{c.Rank, noThread}
		if c.Thread.Known {
			t.id = c.Thread.V
		}
		return t, span{c.Start, c.Start + c.Duration}
	}
	isHost := func(r int32) bool { return f.Has(r, trace.FlagHost|trace.FlagStart) }
	selected := make(map[thread][]span)
	for r := range f.Rows() {
		if s.rows[r] && isHost(r) {
			selected[ofRow(r)] = append(selected[ofRow(r)], span{f.Start(r), f.End(r)})
		}
	}
	for i := range s.calls {
		t, at := ofCall(&f.Calls[i])
		selected[t] = append(selected[t], at)
	}
	for t, spans := range selected {
		slices.SortFunc(spans, func(a, b span) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
		})
		outer := spans[:1]
		for _, x := range spans[1:] {
			if x.end > outer[len(outer)-1].end {
				outer = append(outer, x)
			}
		}
		selected[t] = outer
	}
	isWithin := func(t thread, x span) bool {
		spans := selected[t]
		i := sort.Search(len(spans), func(i int) bool { return spans[i].start > x.start })
		return i > 0 && spans[i-1].end >= x.end
	}
	for i := range f.Calls {
		if isWithin(ofCall(&f.Calls[i])) {
			s.calls[int32(i)] = true
		}
	}
	for r := range f.Rows() {
		switch {
		case isHost(r):
			s.rows[r] = s.rows[r] || isWithin(ofRow(r), span{f.Start(r), f.End(r)})
		case g.isOnDevice(r) && f.Has(r, trace.FlagLaunch):
			s.rows[r] = s.rows[r] || isWithin(ofRow(r), span{f.Launch(r), f.Launched(r)})
		}
	}
}

// addHosts selects the host operators all of whose operations are selected, and those within them, without counting
// them.
func (g *Graph) addHosts(s *selection) {
	f := g.forest
	if !f.HasLaunchers() {
		return
	}
	left := make(map[int32]int) // operations below each operator that are not selected, or -1 without selected ones
	climb := func(r int32, visit func(host int32)) {
		h := f.Launcher(r)
		for depth := 0; h != trace.NoRow && depth < maxDepth; depth++ {
			if !f.Has(h, trace.FlagHost) {
				return
			}
			visit(h)
			h = f.Tree.Parent[h]
		}
	}
	hosts := make(map[int32]bool)
	for _, r := range g.ops() {
		if s.rows[r] {
			climb(r, func(h int32) { hosts[h] = true })
		}
	}
	if len(hosts) == 0 {
		return
	}
	for _, r := range g.ops() {
		if !s.rows[r] {
			climb(r, func(h int32) { left[h]++ })
		}
	}
	for h := range hosts {
		if left[h] > 0 {
			delete(hosts, h)
		}
	}
	for h := range hosts {
		s.rows[h] = true
	}
	g.addBelow(s)
}

// request returns the rows of the requests of a selection request=TRACE_ID.
func (g *Graph) request(text string) (map[int32]bool, error) {
	rows := make(map[int32]bool)
	id, ok := op.ParseTraceID([]byte(strings.TrimPrefix(text, "request=")))
	for _, r := range g.roots {
		if ok && g.forest.Node(r).TraceID() == id {
			rows[r] = true
		}
	}
	if len(rows) == 0 {
		return nil, &UnknownError{Select: text}
	}
	return rows, nil
}

// typical returns the median duration of like calls.
func (g *Graph) typical(s *selection) map[trace.Likeness]int64 {
	times := make(map[trace.Likeness]*[]int64)
	for r := range g.forest.Rows() {
		if s.rows[r] {
			list := order.At(times, g.forest.Likeness(r))
			*list = append(*list, g.forest.Duration(r))
		}
	}
	medians := make(map[trace.Likeness]int64, len(times))
	for k, list := range times {
		slices.Sort(*list)
		medians[k] = (*list)[len(*list)/2]
	}
	return medians
}

// addPairs adds, in recordings without launchers, the operations of hosts that run as often as selected operations of a
// name, pair by pair in the order of their starts. More names of the host than of devices leave it open which.
func (g *Graph) addPairs(s *selection) {
	f := g.forest
	hasHosts := false
	for r := range f.Rows() {
		hasHosts = hasHosts || f.Has(r, trace.FlagHost)
	}
	if !hasHosts || slices.ContainsFunc(g.ops(), func(r int32) bool {
		return s.rows[r] && f.Launcher(r) != trace.NoRow
	}) {
		return
	}
	type set struct{ process, name int32 }
	type times struct {
		process int32
		n       int
	}
	var lists [2]map[set][]int32 // of devices and of hosts
	for side := range lists {
		lists[side] = make(map[set][]int32)
		for r := range f.Rows() {
			isSide := f.Has(r, trace.FlagOp) && g.begin[r] != none && g.isOnDevice(r) == (side == 0)
			if isSide && (side == 0 || f.Has(r, trace.FlagHost) && len(f.Tree.Children(r)) == 0) {
				k := set{g.process[r], f.Name(r)}
				lists[side][k] = append(lists[side][k], r)
			}
		}
	}
	selected := make(map[times][]int32)
	names := make(map[times]int)
	for k, rows := range lists[0] {
		slices.SortStableFunc(rows, f.CompareStart)
		if of := (times{k.process, len(rows)}); slices.ContainsFunc(rows, func(r int32) bool { return s.rows[r] }) {
			names[of]++
			if before := selected[of]; before == nil || k.name < f.Name(before[0]) {
				selected[of] = rows
			}
		} else {
			names[of] = math.MinInt32
		}
	}
	for k := range lists[1] {
		names[times{k.process, len(lists[1][k])}]--
	}
	for k, rows := range lists[1] {
		of := times{k.process, len(rows)}
		if names[of] < 0 {
			continue
		}
		slices.SortStableFunc(rows, f.CompareStart)
		for i, r := range selected[of] {
			s.rows[rows[i]] = s.rows[rows[i]] || s.rows[r]
		}
	}
}
