package analyze

// pathWalks sums up critical paths. What lies within an execution that works for several
// requests is walked once.
type pathWalks struct {
	forest *Forest
	walk   pathWalk
	inner  pathWalk
	// within has the sums of whole executions, by their rows.
	within map[int32]*pathSum
}

func newPathWalks(f *Forest) *pathWalks {
	return &pathWalks{forest: f, within: make(map[int32]*pathSum)}
}

// addPath adds the critical path of a window to sum.
func (p *pathWalks) addPath(sum *pathSum, w window, roots []int32) {
	sum.begin(w.to - w.from)
	p.walk.edges = PathEdges{}
	var pass func(window) bool
	if len(p.forest.shared.list) > 0 {
		pass = func(child window) bool {
			inside := p.inside(child)
			if inside != nil {
				sum.merge(inside)
			}
			return inside != nil
		}
	}
	p.walk.run(p.forest, w, roots, pass, sum.add)
	sum.edges.Tree += p.walk.edges.Tree
	sum.edges.Links += p.walk.edges.Links
}

// inside returns the sum of the path within an execution that several requests share, nil
// where w is none, or a part of one.
func (p *pathWalks) inside(w window) *pathSum {
	f := p.forest
	of := f.shared.of[w.row]
	if of == noExecution || f.shared.list[of].row != w.row || len(f.shared.list[of].requests) < 2 || !f.isWhole(w) {
		return nil
	}
	if sum, ok := p.within[w.row]; ok {
		return sum
	}
	sum := newPathSum(f)
	p.inner.edges = PathEdges{}
	p.inner.run(f, w, nil, nil, sum.add)
	sum.edges = p.inner.edges
	p.within[w.row] = sum
	return sum
}

// isWhole reports whether w is all of the time of its row.
func (f *Forest) isWhole(w window) bool { return w.from == f.start(w.row) && w.to == f.end(w.row) }
