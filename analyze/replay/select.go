package replay

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// UnknownError is an empty selection.
type UnknownError struct {
	Select string
	// Names are the valid names: operations, or the keys of a selection KEY=VALUE.
	Names []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("%q selects nothing", e.Select) }

// find returns the selection of text: the name of an operation, an operator, a span or a call, or KEY=VALUE,KEY=VALUE.
func (g *Graph) find(text string) (*selection.Set, error) {
	s := g.recording().Find(text)
	if s.Count > 0 {
		return s, nil
	}
	err := &UnknownError{Select: text}
	if !selection.IsProperties(text) {
		err.Names = selection.Names(g.forest)
	}
	return nil, err
}

func (g *Graph) recording() *selection.Recording {
	return &selection.Recording{
		Forest: g.forest, Has: func(r int32) bool { return g.begin[r] != none }, OnDevice: g.isOnDevice, Ops: g.ops(),
		Process: g.process,
	}
}

// joinGaps makes one of the times without events of a host around removed events: the longest stays.
func (g *Graph) joinGaps(s *selection.Set, v *variant) {
	f := g.forest
	const stays, goes = 1, 2
	events := make([]uint8, g.g.Nodes()) // the beginnings at nodes of a host
	for r := range f.Rows() {
		if p := g.begin[r]; s.Rows[r] && f.Has(r, trace.FlagHost) && p != none {
			events[p>>1] = goes
		}
	}
	for e := range g.g.owned(isRow) {
		switch {
		case e.kind != afterLaunch || !f.Has(e.owner, trace.FlagLaunch):
		case s.Rows[e.owner]:
			events[e.from>>1] |= goes
		default:
			events[e.from>>1] |= stays
		}
	}
	longest := make([]int64, g.g.Nodes()) // of the times up to a node, since the last event that stays
	isGone := make([]bool, g.g.Nodes())
	for node := g.g.Owned(); node < g.g.Nodes(); node++ {
		from := g.g.From(^node)
		if from == none || g.g.Kind(^node) != onThread {
			continue
		}
		before := from >> 1
		isInside := s.Has(g.g.owner[node])
		if g.g.owner[node] == noOwner { // it may be time of a removed range with others in it
			start, end := g.g.At(from)+g.origin, g.g.At(node<<1)+g.origin
			if covered := s.Covered(g.g.owner[before], start, end); covered > 0 {
				isInside = covered == end-start
				v.Set(^node, max(0, v.Lag(^node)-covered))
			}
		}
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

// callAtOnce takes out the pauses between removed calls that failed and the calls that repeat them.
func (g *Graph) callAtOnce(s *selection.Set, v *variant) {
	for failed, next := range selection.Again(g.forest) {
		if !s.Rows[failed] || g.begin[next] == none {
			continue
		}
		g.g.edges(g.begin[next]>>1, func(e edge) bool {
			if e.from == g.end[failed] && e.to == g.begin[next] && e.kind == onThread {
				v.Set(e.index, min(v.Lag(e.index), 0))
			}
			return true
		})
	}
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

// isOnDevice reports whether row r is an operation of a device.
func (g *Graph) isOnDevice(r int32) bool {
	return g.forest.IsDeviceSide(r) && g.devices[g.forest.Device(r)]
}

func isRow(owner int32) bool { return owner >= 0 }

// isTimeOf reports whether e is time of its owner: of an operation, or of a row of a host outside its children.
func (g *Graph) isTimeOf(e edge) bool {
	return e.owner >= 0 && (e.kind == own || e.kind == onThread && !g.isOnDevice(e.owner))
}

// endsExecution reports whether an edge is time of the host behind the last operation of a shared execution.
func (g *Graph) endsExecution(e edge) bool {
	x := g.rows.ExecutionOf(e.owner)
	return x != trace.NoExecution && e.to == g.end[g.forest.Executions.List[x].Row]
}

// isBeforeExecution reports whether an edge to an operation is no time within a step of a shared execution.
func (g *Graph) isBeforeExecution(e edge) bool {
	x := g.rows.ExecutionOf(e.owner)
	if x == trace.NoExecution {
		return true
	}
	if node := e.from >> 1; node < g.g.Owned() && g.forest.Has(e.owner, trace.FlagStep) { // a batch of several steps
		if r := g.g.owner[node]; g.forest.Has(r, trace.FlagStep) && g.forest.Step(r) != g.forest.Step(e.owner) {
			return true
		}
	}
	begin := g.begin[g.forest.Executions.List[x].Row]
	return begin == none || g.g.At(e.from) <= g.g.At(begin)
}
