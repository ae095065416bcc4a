package path

import "github.com/optrace/optrace/analyze/trace"

// Walks sums up critical paths. It walks each shared execution once.
type Walks struct {
	forest      *trace.Forest
	walk, inner Walk
	within      map[int32]*Sum // has the sums of whole executions, by row
}

// NewWalks returns walks of f.
func NewWalks(f *trace.Forest) *Walks {
	return &Walks{forest: f, within: make(map[int32]*Sum)}
}

// AddPath adds the critical path of a window to sum.
func (p *Walks) AddPath(sum *Sum, w Window, roots []int32) {
	sum.paths++
	sum.duration.Add(w.To - w.From)
	var pass func(Window) bool
	if len(p.forest.Executions.List) > 0 {
		pass = func(child Window) bool {
			inside := p.inside(child)
			if inside != nil {
				sum.Merge(inside)
			}
			return inside != nil
		}
	}
	sum.edges.add(p.walk.Run(p.forest, w, roots, pass, sum.add))
}

// inside returns the sum of the path within a whole execution of several requests, nil for other windows.
func (p *Walks) inside(w Window) *Sum {
	f := p.forest
	of := f.Executions.Of[w.Row]
	if of == trace.NoExecution || !isWhole(f, w) || f.IsDeep(of) {
		return nil
	}
	if e := &f.Executions.List[of]; e.Row != w.Row || len(e.Requests) < 2 {
		return nil
	}
	if sum, ok := p.within[w.Row]; ok {
		return sum
	}
	sum := NewSum(f)
	sum.edges = p.inner.Run(f, w, nil, nil, sum.add)
	p.within[w.Row] = sum
	return sum
}

// isWhole reports whether w covers all of the time of its row.
func isWhole(f *trace.Forest, w Window) bool { return w.From == f.Start(w.Row) && w.To == f.End(w.Row) }
