package serving

import (
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
)

// Lawful has the steps of engines with laws and known loads, without the first ones.
type Lawful struct {
	rows  *Rows
	kinds *Kinds
	steps map[int32]lawfulStep // by execution
	usual map[placeOfLaw]float64
}

// lawfulStep is a step of an engine with laws.
type lawfulStep struct {
	engine *Engine
	step   *batching.Step
}

// placeOfLaw is an operation of a layer of an engine.
type placeOfLaw struct {
	engine     *Engine
	kind, path int32
}

// NewLawful finds the steps of engines with laws, and the usual times of operations in a layer relative to the law of all
// layers.
func NewLawful(rows *Rows, kinds *Kinds, engines []*Engine) *Lawful {
	const few = 10
	const part = 1000 // of the time by the law
	l := &Lawful{rows, kinds, make(map[int32]lawfulStep), make(map[placeOfLaw]float64)}
	for _, e := range engines {
		if e.Single || e.ToLongest || !e.KnowsLoads() {
			continue
		}
		for i := range e.Steps[1:] {
			s := &e.Steps[1+i]
			l.steps[s.Execution] = lawfulStep{e, s}
		}
	}
	f := rows.Forest
	times := make(map[placeOfLaw]*[]int64) // of calls, in parts
	for r := range f.Rows() {
		in, known := l.steps[rows.ExecutionOf(r)]
		if !known || f.Path(r) == 0 || !f.CountsInSums(r) {
			continue
		}
		if law := l.law(in, r); law > 0 {
			list := order.At(times, l.place(in, r))
			*list = append(*list, int64(part*float64(f.Duration(r))/law))
		}
	}
	for at, list := range times {
		if len(*list) >= few {
			l.usual[at] = float64(sketch.Median(*list)) / part
		}
	}
	return l
}

func (l *Lawful) law(in lawfulStep, r int32) float64 {
	return in.engine.Laws.Of(l.kinds.Of(r), in.step).At(in.step.Load)
}

func (l *Lawful) place(in lawfulStep, r int32) placeOfLaw {
	return placeOfLaw{in.engine, l.kinds.Of(r), l.rows.Forest.Path(r)}
}

// In returns the step of row r and the time of the operation by the law, as usual in its layer. It returns nil for rows
// in no such step.
func (l *Lawful) In(r int32) (s *batching.Step, law float64) {
	x := l.rows.ExecutionOf(r)
	if x == trace.NoExecution {
		return nil, 0
	}
	in, known := l.steps[x]
	if !known {
		return nil, 0
	}
	law = l.law(in, r)
	if times, known := l.usual[l.place(in, r)]; known {
		law *= times
	}
	return in.step, law
}
