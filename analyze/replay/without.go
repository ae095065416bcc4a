package replay

import (
	"strings"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

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

// without leaves out a request: its own operations and its part of shared executions, by weight or else equally.
func (g *Graph) without(text string, v *variant) (int64, error) {
	isRoot, err := g.request(text)
	if err == nil {
		g.leaveOut(isRoot, v)
	}
	return int64(len(isRoot)), err
}

// leaveOut leaves out the requests of rows.
func (g *Graph) leaveOut(isRoot map[int32]bool, v *variant) {
	f := g.forest
	left := make(map[int32]float64) // of each execution, the part of others
	for i := range f.Executions.List {
		x := &f.Executions.List[i]
		all, others := 0.0, 0.0
		for k, r := range x.Requests {
			weight := 1.0
			if x.Weights != nil {
				weight = float64(x.Weights[k])
			}
			all += weight
			if !isRoot[r] {
				others += weight
			}
		}
		if all > others {
			left[int32(i)] = others / all
		}
	}
	for e := range g.g.owned(isRow) {
		lag := v.Lag(e.index)
		if lag == dropped {
			continue
		}
		if x := f.ExecutionOf(e.owner, g.owner); x != trace.NoExecution {
			if part, known := left[x]; known {
				v.Set(e.index, int64(float64(lag)*part))
			}
		} else if isRoot[g.owner[e.owner]] {
			v.Set(e.index, min(lag, 0))
		}
	}
}
