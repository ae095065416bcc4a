// Package selection finds the operations, spans and calls of a recording by name, and their parts.
package selection

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/internal/pattern"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

const (
	noThread = -1 // an unknown thread, as in [trace.Names]
	maxDepth = 64 // of the operators above a launch
)

// Recording is a recording to select rows from.
type Recording struct {
	Forest *trace.Forest
	// Has reports whether a row is replayed, OnDevice whether it is an operation of a device.
	Has, OnDevice func(row int32) bool
	Ops           []int32 // of devices
	Process       []int32 // by row
}

// Set is a set of rows and of calls.
type Set struct {
	Rows  []bool
	Calls map[int32]bool // by index
	Count int64          // of selected rows and calls

	covered func(owner int32, x span) int64 // set by AddWithin
}

// span is a time in Unix ns.
type span struct{ start, end int64 }

// Covered returns the part of a time on the thread of a row, or of the complement of a call's index, that is within what
// [Recording.AddWithin] found selected, in ns.
func (s *Set) Covered(owner int32, start, end int64) int64 {
	if s.covered == nil {
		return 0
	}
	return s.covered(owner, span{start, end})
}

// properties are the keys of a selection.
var properties = map[string]func(f *trace.Forest, r int32) string{
	"operation": (*trace.Forest).RowName,
	"operator":  (*trace.Forest).LauncherName,
	"service":   (*trace.Forest).Service,
	"kind":      func(f *trace.Forest, r int32) string { return f.Kind(r).String() },
	"device":    func(f *trace.Forest, r int32) string { return f.DeviceKey(r).DeviceID },
	"host":      func(f *trace.Forest, r int32) string { return f.DeviceKey(r).Host },
	"rank":      func(f *trace.Forest, r int32) string { return Known(f.DeviceKey(r).Rank) },
	"stream":    func(f *trace.Forest, r int32) string { return Known(f.Names.Lanes.Values[f.Lane(r)].Stream) },
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
	"step":  func(f *trace.Forest, r int32) string { return Known(f.Node(r).Step()) },
	"path":  func(f *trace.Forest, r int32) string { return f.Names.Paths.Values[f.Path(r)] },
	"phase": func(f *trace.Forest, r int32) string { return f.Names.Marks.Values[f.Mark(r)].Phase },
	failed: func(f *trace.Forest, r int32) string { // the name of a failed operation or span
		if f.Has(r, trace.FlagFailed) {
			return f.RowName(r)
		}
		return ""
	},
}

// failed is the key that selects spans, too.
const failed = "failed"

// Known returns a number as properties have it, "" if unknown.
func Known(v op.Int) string {
	if !v.Known {
		return ""
	}
	return strconv.FormatInt(v.V, 10)
}

// Find returns the selection of text: the name of an operation, an operator, a span or a call, or KEY=VALUE,KEY=VALUE.
func (g *Recording) Find(text string) *Set {
	f := g.Forest
	s := &Set{Rows: make([]bool, f.Len()), Calls: make(map[int32]bool)}
	if matches := conditions(f, text); matches != nil {
		isOfSpans := strings.HasPrefix(text, failed+"=")
		for r := range f.Rows() {
			s.Add(r, g.Has(r) && (isOfSpans || f.Has(r, trace.FlagOp)) && matches(r))
		}
		return s
	}
	operation := int32(slices.Index(f.Names.Operations.Values, text))
	spans := make([]bool, len(f.Names.Spans.Values))
	for i := range spans {
		spans[i] = f.Names.Spans.Values[i].Name == text
	}
	onDevice := false
	for r := range f.Rows() {
		isNamed := f.Name(r) == operation
		if !f.Has(r, trace.FlagOp) {
			isNamed = spans[f.Name(r)]
		}
		if isNamed && g.Has(r) {
			s.Add(r, true)
			onDevice = onDevice || f.IsDeviceSide(r)
		}
	}
	for i := range f.Calls {
		if f.Calls[i].Name == text {
			s.Calls[int32(i)] = true
			s.Count++
		}
	}
	if onDevice {
		return s
	}
	for r := range f.Rows() {
		s.Add(r, g.Has(r) && f.IsDeviceSide(r) && f.LauncherName(r) == text)
	}
	return s
}

// Names returns the names of operations, operators and calls.
func Names(f *trace.Forest) []string {
	names := append(slices.Clone(f.Names.Operations.Values), f.Names.Launchers.Values...)
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		seen[name] = true
	}
	for i := range f.Calls {
		if name := f.Calls[i].Name; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// IsProperties reports whether a text is KEY=VALUE,KEY=VALUE.
func IsProperties(text string) bool { return conditions(nil, text) != nil }

// conditions returns the test of a text KEY=VALUE,KEY=VALUE, nil for another text.
func conditions(f *trace.Forest, text string) func(r int32) bool {
	var all []func(r int32) bool
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		of := properties[key]
		if !ok || of == nil {
			return nil
		}
		all = append(all, func(r int32) bool {
			return pattern.Matches(value, of(f, r)) || key == "operator" && isBelow(f, r, value)
		})
	}
	return func(r int32) bool {
		return !slices.ContainsFunc(all, func(matches func(int32) bool) bool { return !matches(r) })
	}
}

// Computed returns the time of the computations that operators of a name launch, also by operators within them.
func Computed(f *trace.Forest, operator string) (ns int64) {
	for _, r := range f.Devices.ByStart {
		isOf := f.Kind(r) == op.KindCompute && f.CountsInSums(r) && f.IsDeviceSide(r)
		if isOf && (f.LauncherName(r) == operator || isBelow(f, r, operator)) {
			ns += f.Duration(r)
		}
	}
	return ns
}

// isBelow reports whether an operator above the launch of row r matches a pattern.
func isBelow(f *trace.Forest, r int32, of string) bool {
	h := f.Launcher(r)
	for depth := 0; h != trace.NoRow && f.Has(h, trace.FlagHost) && depth < maxDepth; depth++ {
		if pattern.Matches(of, f.RowName(h)) {
			return true
		}
		h = f.Tree.Parent[h]
	}
	return false
}

// Add adds a row if it is selected.
func (s *Set) Add(r int32, selected bool) {
	if selected && !s.Rows[r] {
		s.Rows[r] = true
		s.Count++
	}
}

// Has reports whether the owner of an edge is selected.
func (s *Set) Has(owner int32) bool {
	if owner >= 0 {
		return s.Rows[owner]
	}
	return s.Calls[^owner]
}

// HasRow reports whether the owner of an edge is a selected row.
func (s *Set) HasRow(owner int32) bool { return owner >= 0 && s.Rows[owner] }

// AddBelow selects all below selected rows of hosts, without counting it.
func (g *Recording) AddBelow(s *Set) {
	tree := &g.Forest.Tree
	var left []int32
	for r := range g.Forest.Rows() {
		if s.Rows[r] && !g.OnDevice(r) && (tree.Parent[r] == trace.NoRow || !s.Rows[tree.Parent[r]]) {
			left = append(left, tree.Children(r)...)
		}
	}
	for len(left) > 0 {
		r := left[len(left)-1]
		s.Rows[r] = true
		left = append(left[:len(left)-1], tree.Children(r)...)
	}
}

// AddWithin selects, within selected calls and operations of hosts, the calls and operations of their threads, and the
// operations of devices launched there.
func (g *Recording) AddWithin(s *Set) {
	type thread struct {
		rank op.Int
		id   int64
	}
	f := g.Forest
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
		if s.Rows[r] && isHost(r) {
			selected[ofRow(r)] = append(selected[ofRow(r)], span{f.Start(r), f.End(r)})
		}
	}
	for i := range s.Calls {
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
	ending := func(t thread, at int64) []span { // the spans that end at a time or later
		spans := selected[t]
		return spans[sort.Search(len(spans), func(i int) bool { return spans[i].end >= at }):]
	}
	isWithin := func(t thread, x span) bool {
		spans := ending(t, x.end)
		return len(spans) > 0 && spans[0].start <= x.start
	}
	s.covered = func(owner int32, x span) int64 {
		t := thread{id: noThread}
		switch {
		case owner >= 0:
			t = ofRow(owner)
		case int(^owner) < len(f.Calls):
			t, _ = ofCall(&f.Calls[^owner])
		}
		ns := int64(0)
		for _, y := range ending(t, x.start) {
			if y.start >= x.end {
				break
			}
			from := max(x.start, y.start)
			x.start = min(x.end, y.end)
			ns += x.start - from
		}
		return ns
	}
	for i := range f.Calls {
		if isWithin(ofCall(&f.Calls[i])) {
			s.Calls[int32(i)] = true
		}
	}
	for r := range f.Rows() {
		switch {
		case isHost(r):
			s.Rows[r] = s.Rows[r] || isWithin(ofRow(r), span{f.Start(r), f.End(r)})
		case g.OnDevice(r) && f.Has(r, trace.FlagLaunch):
			s.Rows[r] = s.Rows[r] || isWithin(ofRow(r), span{f.Launch(r), f.Launched(r)})
		}
	}
}

// AddHosts selects the host operators all of whose operations are selected, and the ones within, without counting
// them.
func (g *Recording) AddHosts(s *Set) {
	f := g.Forest
	if !f.HasLaunchers() {
		return
	}
	left := make(map[int32]int) // unselected operations below each operator, or -1 without selected ones
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
	for _, r := range g.Ops {
		if s.Rows[r] {
			climb(r, func(h int32) { hosts[h] = true })
		}
	}
	if len(hosts) == 0 {
		return
	}
	for _, r := range g.Ops {
		if !s.Rows[r] {
			climb(r, func(h int32) { left[h]++ })
		}
	}
	for h := range hosts {
		if left[h] > 0 {
			delete(hosts, h)
		}
	}
	for h := range hosts {
		s.Rows[h] = true
	}
	g.AddBelow(s)
}

// AddPairs adds, in recordings without launchers, the operations of hosts that run as often as selected operations of a
// name, pair by pair in the order of their starts. More names of the host than of devices leave it open which.
func (g *Recording) AddPairs(s *Set) {
	f := g.Forest
	hasHosts := false
	for r := range f.Rows() {
		hasHosts = hasHosts || f.Has(r, trace.FlagHost)
	}
	if !hasHosts || slices.ContainsFunc(g.Ops, func(r int32) bool {
		return s.Rows[r] && f.Launcher(r) != trace.NoRow
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
			isSide := f.Has(r, trace.FlagOp) && g.Has(r) && g.OnDevice(r) == (side == 0)
			if isSide && (side == 0 || f.Has(r, trace.FlagHost) && len(f.Tree.Children(r)) == 0) {
				k := set{g.Process[r], f.Name(r)}
				lists[side][k] = append(lists[side][k], r)
			}
		}
	}
	selected := make(map[times][]int32)
	names := make(map[times]int)
	for k, rows := range lists[0] {
		slices.SortStableFunc(rows, f.CompareStart)
		if of := (times{k.process, len(rows)}); slices.ContainsFunc(rows, func(r int32) bool { return s.Rows[r] }) {
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
			s.Rows[rows[i]] = s.Rows[rows[i]] || s.Rows[r]
		}
	}
}
