package replay

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// fuse runs each occurrence of a sequence of names on a stream as one launch.
func (g *Graph) fuse(text string, v *variant) (int64, error) {
	f := g.forest
	length := g.shortRun
	keepsTime := false // only launches and gaps go
	switch text {
	case ShortRuns:
	case Elementwise:
		length = g.elementwiseRun
	default:
		keepsTime = true
		names := strings.Split(text, ";")
		for _, name := range names {
			if _, err := g.find(name); err != nil {
				return 0, err
			}
		}
		length = func(rows []int32) int {
			for i, name := range names {
				if i == len(rows) || f.RowName(rows[i]) != name {
					return 0
				}
			}
			return len(names)
		}
	}
	s := &selection{rows: make([]bool, f.Len())}
	n := int64(0)
	for run := range g.runs(g.ops(), length) {
		stays := run[0]
		if text == Elementwise {
			stays = slices.MaxFunc(run, func(a, b int32) int { return cmp.Compare(f.Duration(a), f.Duration(b)) })
		}
		for _, r := range run {
			s.rows[r] = r != stays
		}
		n++
	}
	if n == 0 {
		return 0, &UnknownError{Select: text}
	}
	g.addHosts(s)
	g.addPairs(s)
	for e := range g.g.owned(s.hasRow) {
		switch e.kind {
		case afterLaunch:
			v.Set(e.index, dropped)
		case own:
			if !keepsTime {
				v.Set(e.index, 0)
			}
		default:
			v.Set(e.index, min(v.Lag(e.index), 0))
		}
	}
	g.joinGaps(s, v)
	return n, nil
}

// runs yields the runs of operations on each stream. length returns the number of operations of the run that rows begin
// with, 0 without one.
func (g *Graph) runs(ops []int32, length func(rows []int32) int) iter.Seq[[]int32] {
	f := g.forest
	return func(yield func([]int32) bool) {
		streams, first := order.GroupRows(ops, f.Devices.NumStreams(), nil, func(i int32) int32 {
			return f.DeviceStreamOf(ops[i])
		})
		for stream := range first[1:] {
			rows := streams[first[stream]:first[stream+1]]
			order.Rows(rows, f.Start, f.CompareStart)
			for len(rows) > 0 {
				n := length(rows)
				if n > 0 && !yield(rows[:n]) {
					return
				}
				rows = rows[max(1, n):]
			}
		}
	}
}

// Most returns a bound on the time by which a change shortens all operations and pauses, found without the graph. It is
// known for ShortRuns and Pauses, in recordings without operations and calls of hosts.
func (g *Graph) Most(c Change) (ns int64, known bool) {
	f := g.forest
	isFuse := c.Kind == Fuse && c.Select == ShortRuns
	if !isFuse && c.Kind != Pauses || len(f.Calls) > 0 {
		return 0, false
	}
	var ops []int32
	for _, r := range f.Devices.ByStart {
		if g.placed(r) && g.isOnDevice(r) {
			ops = append(ops, r)
		}
	}
	for r := range f.Rows() {
		isOp := f.Has(r, trace.FlagOp)
		if isOp && !g.isOnDevice(r) || c.Kind == Pauses && (!isOp || f.Has(r, trace.FlagLaunch)) {
			return 0, false
		}
	}
	if isFuse {
		for run := range g.runs(ops, g.shortRun) {
			first, last := run[0], run[len(run)-1]
			for _, r := range run {
				ns += f.Duration(r)
			}
			ns += max(0, f.Start(last)-f.Start(first))
			if f.Has(first, trace.FlagLaunch) && f.Has(last, trace.FlagLaunch) { // the host's time between goes
				ns += max(0, f.Launched(last)-f.Launch(first))
			}
		}
	}
	return ns, true
}

// elementwiseRun returns the number of elementwise operations at the begin of rows of a stream, 0 for a single one.
func (g *Graph) elementwiseRun(rows []int32) int {
	n := 0
	for n < len(rows) && strings.Contains(g.forest.RowName(rows[n]), "elementwise_kernel") {
		n++
	}
	if n < 2 {
		return 0
	}
	return n
}

// shortRun returns the number of short operations of a step at the begin of rows of a stream, 0 for a few.
func (g *Graph) shortRun(rows []int32) int {
	const (
		few   = 4
		short = 10 * microsecond
	)
	n := 0
	f := g.forest
	for n < len(rows) && f.Duration(rows[n]) < short && f.Kind(rows[n]) == op.KindCompute && f.Step(rows[n]) == f.Step(rows[0]) {
		n++
	}
	if n < few {
		return 0
	}
	return n
}
