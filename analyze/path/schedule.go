package path

import (
	"slices"

	"github.com/optrace/optrace/analyze/collective"
	schedule "github.com/optrace/optrace/analyze/internal/treeschedule"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// scheduler makes schedules of traces and executions. Times count from the start of the window.
type scheduler struct {
	schedule.Schedule
	forest *trace.Forest
	sets   func(name, device int32, kind op.Kind) [2]int16
	joins  *collective.Joins
	saved  func(w Window) []int64 // time saved in an execution, may be nil

	// rows has the row of each node, NoRow for a first node without one, the complement for a closed node.
	rows []int32
}

// build makes the schedule of a window.
func (s *scheduler) build(w Window, roots []int32) {
	s.Reset()
	s.rows = append(s.rows[:0], w.Row)
	s.Add(s.node(w.Row, schedule.None), 0, w.To-w.From)
	for i := int32(0); int(i) < len(s.rows) && !s.forest.EndedAt(int(i)); i++ {
		children := roots
		switch r := s.rows[i]; {
		case i == 0 && r == trace.NoRow:
		case r < 0:
			continue
		default:
			children = s.forest.PathChildren(r)
		}
		for _, r := range slices.Backward(children) { // the first to end first
			s.addChild(i, r, w.From)
		}
	}
	s.Connect()
}

// addChild adds row r below node i, unless none of its time lies within.
func (s *scheduler) addChild(i, r int32, origin int64) {
	f := s.forest
	if !f.Has(r, trace.FlagStart) {
		return
	}
	first, last := s.Times(i)
	start := f.Start(r) - origin
	from := max(start, first)
	to := min(start+f.Duration(r), last)
	if from >= to {
		return
	}
	if parent := s.rows[i]; parent == trace.NoRow || f.Tree.Parent[r] == parent {
		s.rows = append(s.rows, r)
		s.Add(s.node(r, i), from, to)
		return
	}
	s.rows = append(s.rows, ^r) // an execution, by a link
	s.Add(s.node(trace.NoRow, i), from, to)
	w := Window{Row: r, From: origin + from, To: origin + to}
	if s.saved != nil && isWhole(f, w) && !f.IsDeep(f.Executions.Of[r]) {
		s.Save(s.saved(w))
	}
}

// node returns the node of row r below parent. r is trace.NoRow outside device operations.
func (s *scheduler) node(r, parent int32) schedule.Node {
	f := s.forest
	n := schedule.Node{Parent: parent, Lane: schedule.None, Join: schedule.None}
	n.Sets = [2]int16{schedule.None, schedule.None}
	if r == trace.NoRow || !f.IsDeviceSide(r) {
		return n
	}
	lane := f.Lane(r)
	kind := f.Kind(r)
	n.Sets = s.sets(f.Name(r), f.Devices.Lanes[lane], kind)
	if !f.Names.Lanes.Values[lane].Device.IsNone() {
		n.Lane = f.Devices.Streams[lane]
	}
	if kind == op.KindCollective {
		n.Join = s.joins.Number(r)
	}
	return n
}
