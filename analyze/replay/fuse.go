package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
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
	ops := g.ops()
	streams, first := order.GroupRows(ops, g.numStreams(), nil, func(i int32) int32 { return f.DeviceStreamOf(ops[i]) })
	s := &selection{rows: make([]bool, f.Len())}
	n := int64(0)
	for stream := range first[1:] {
		rows := streams[first[stream]:first[stream+1]]
		order.Rows(rows, f.Start, f.CompareStart)
		for i := 0; i < len(rows); i++ {
			k := length(rows[i:])
			if k == 0 {
				continue
			}
			stays := rows[i]
			if text == Elementwise {
				stays = slices.MaxFunc(rows[i:i+k], func(a, b int32) int { return cmp.Compare(f.Duration(a), f.Duration(b)) })
			}
			for _, r := range rows[i : i+k] {
				s.rows[r] = r != stays
			}
			i += k - 1
			n++
		}
	}
	g.addHosts(s)
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
	if keepsTime {
		g.removeLaunches(s, v)
	}
	if n == 0 {
		return 0, &UnknownError{Select: text}
	}
	return n, nil
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
