package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// findProcesses finds the process of each row: of an operation by service and rank, of a span the one with the smallest
// rank below it, that of the span above it, or else of its service.
func (g *Graph) findProcesses() {
	f := g.forest
	byLane := f.Processes()
	place := placesOf(f, byLane)
	g.process = repeat(int(f.Rows()))
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagOp) {
			continue
		}
		of := byLane[f.Lane(r)]
		g.process[r] = of
		for p := f.Tree.Parent[r]; p != trace.NoRow && !f.Has(p, trace.FlagOp); p = f.Tree.Parent[p] {
			if g.process[p] != none && place[g.process[p]] <= place[of] {
				break
			}
			g.process[p] = of
		}
	}
	next := int32(len(byLane))
	services := make(map[string]int32)
	for r := range f.Rows() {
		if g.process[r] != none {
			continue
		}
		top := r
		for f.Tree.Parent[top] != trace.NoRow && g.process[top] == none {
			top = f.Tree.Parent[top]
		}
		of := g.process[top]
		if of == none {
			name := f.Node(top).Service()
			if _, known := services[name]; !known {
				services[name] = next
				next++
			}
			of = services[name]
		}
		for p := r; p != trace.NoRow && g.process[p] == none; p = f.Tree.Parent[p] {
			g.process[p] = of
		}
	}
	g.loops = slices.Repeat([]bool{true}, int(next))
}

// placesOf returns the place of each process in the order of ranks, then of services.
func placesOf(f *trace.Forest, byLane []int32) []int32 {
	lanes := order.Numbers(len(byLane), func(x, y int32) int {
		a, b := &f.Names.Lanes.Values[x], &f.Names.Lanes.Values[y]
		return cmp.Or(order.Ints(a.Device.Rank, b.Device.Rank), cmp.Compare(a.Service, b.Service))
	})
	place := make([]int32, len(byLane))
	for i, lane := range slices.Backward(lanes) {
		place[byLane[lane]] = int32(i)
	}
	return place
}

// findLoops finds the requests, and the processes in which requests overlap. The steps of a loop may overlap, too: the
// device still works for one while the host begins the next. They are no requests.
func (g *Graph) findLoops() {
	f := g.forest
	for r := range f.Rows() {
		if g.owner[r] == r && g.placed(r) && !g.isExecution(r) {
			g.roots = append(g.roots, r)
		}
	}
	slices.SortFunc(g.roots, f.CompareStart)
	before := repeat(len(g.loops)) // by process
	isStep := g.numbered()
	g.ends = make(map[int32]int64)
	for _, r := range g.roots {
		p := g.process[r]
		if last := before[p]; last != none && f.Start(r) < f.End(last) {
			g.loops[p] = g.loops[p] && isStep[p]
			g.ends[last] = f.Start(r)
		}
		if last := before[p]; last == none || f.End(r) > f.End(last) {
			before[p] = r
		}
	}
	maps.DeleteFunc(g.ends, func(r int32, _ int64) bool { return !g.loops[g.process[r]] })
	stepped := make(map[int32]bool) // roots that are step spans or have some below them
	for r := range f.Rows() {
		if f.Flags(r)&(trace.FlagOp|trace.FlagStep) == trace.FlagStep {
			stepped[g.owner[r]] = true
		}
	}
	g.roots = slices.DeleteFunc(g.roots, func(r int32) bool {
		return g.loops[g.process[r]] && (len(g.ends) > 0 || stepped[r])
	})
}

// numbered reports for each process whether its roots are the steps of a loop: each has operations of one step, and
// the steps follow each other.
func (g *Graph) numbered() []bool {
	f := g.forest
	steps := make(map[int32]op.Int)
	for r := range f.Rows() {
		if o := g.owner[r]; o != trace.NoRow && int(o) < f.Len() && f.Has(r, trace.FlagOp) {
			step := op.Int{V: f.Step(r), Known: f.Has(r, trace.FlagStep)}
			if before, known := steps[o]; known && before != step {
				step.Known = false
			}
			steps[o] = step
		}
	}
	isStep := slices.Repeat([]bool{true}, len(g.loops))
	last := make(map[int32]int64)
	for _, r := range g.roots {
		p := g.process[r]
		before, known := last[p]
		isStep[p] = isStep[p] && steps[r].Known && (!known || before < steps[r].V)
		last[p] = steps[r].V
	}
	return isStep
}
