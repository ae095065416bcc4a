// Package loops tells the steps of a program's loop from the requests of a server.
package loops

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

const none = trace.NoRow

// Loops are the processes of a recording and what they repeat.
type Loops struct {
	Process []int32 // by row
	// Loops reports for each process whether it runs a loop: its requests do not overlap, or are the steps of a loop.
	Loops []bool
	Roots []int32 // the requests, by start
	// Ends has, for steps that the next one overlaps, the start of the next.
	Ends map[int32]int64

	forest *trace.Forest
	owner  []int32
}

// Find finds the loops of f, whose rows have the given [trace.Forest.RequestOwners].
func Find(f *trace.Forest, owner []int32) *Loops {
	l := &Loops{forest: f, owner: owner}
	l.findProcesses()
	l.findRoots()
	return l
}

// findProcesses finds the process of each row: of an operation by service and rank, of a span the one with the smallest
// rank below it, the process of the span above it, or else of its service.
func (g *Loops) findProcesses() {
	f := g.forest
	byLane := f.Processes()
	place := placesOf(f, byLane)
	g.Process = slices.Repeat([]int32{none}, f.Len())
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagOp) {
			continue
		}
		of := byLane[f.Lane(r)]
		g.Process[r] = of
		for p := f.Tree.Parent[r]; p != trace.NoRow && !f.Has(p, trace.FlagOp); p = f.Tree.Parent[p] {
			if g.Process[p] != none && place[g.Process[p]] <= place[of] {
				break
			}
			g.Process[p] = of
		}
	}
	next := int32(len(byLane))
	services := make(map[string]int32)
	for r := range f.Rows() {
		if g.Process[r] != none {
			continue
		}
		top := r
		for f.Tree.Parent[top] != trace.NoRow && g.Process[top] == none {
			top = f.Tree.Parent[top]
		}
		of := g.Process[top]
		if of == none {
			name := f.Node(top).Service()
			if _, known := services[name]; !known {
				services[name] = next
				next++
			}
			of = services[name]
		}
		for p := r; p != trace.NoRow && g.Process[p] == none; p = f.Tree.Parent[p] {
			g.Process[p] = of
		}
	}
	g.Loops = slices.Repeat([]bool{true}, int(next))
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

// findRoots finds the requests, and the processes whose requests overlap. The steps of a loop may overlap, too: the
// device still works for one while the host begins the next. They are no requests.
func (g *Loops) findRoots() {
	f := g.forest
	isPlaced := func(r int32) bool {
		return f.Flags(r)&(trace.FlagStart|trace.FlagDuplicate|trace.FlagRepeat) == trace.FlagStart
	}
	for r := range f.Rows() {
		if g.owner[r] == r && isPlaced(r) && f.ExecutionOf(r, g.owner) == trace.NoExecution {
			g.Roots = append(g.Roots, r)
		}
	}
	slices.SortFunc(g.Roots, f.CompareStart)
	before := slices.Repeat([]int32{none}, len(g.Loops)) // by process
	isStep := g.numbered()
	g.Ends = make(map[int32]int64)
	for _, r := range g.Roots {
		p := g.Process[r]
		if last := before[p]; last != none && f.Start(r) < f.End(last) {
			g.Loops[p] = g.Loops[p] && isStep[p]
			g.Ends[last] = f.Start(r)
		}
		if last := before[p]; last == none || f.End(r) > f.End(last) {
			before[p] = r
		}
	}
	maps.DeleteFunc(g.Ends, func(r int32, _ int64) bool { return !g.Loops[g.Process[r]] })
	stepped := make(map[int32]bool) // roots that are step spans or have some below them
	for r := range f.Rows() {
		if f.Flags(r)&(trace.FlagOp|trace.FlagStep) == trace.FlagStep {
			stepped[g.owner[r]] = true
		}
	}
	g.Roots = slices.DeleteFunc(g.Roots, func(r int32) bool {
		return g.Loops[g.Process[r]] && (len(g.Ends) > 0 || stepped[r])
	})
}

// numbered reports for each process whether its roots are the steps of a loop: each has operations of one step, and
// the steps follow each other.
func (g *Loops) numbered() []bool {
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
	isStep := slices.Repeat([]bool{true}, len(g.Loops))
	last := make(map[int32]int64)
	for _, r := range g.Roots {
		p := g.Process[r]
		before, known := last[p]
		isStep[p] = isStep[p] && steps[r].Known && (!known || before < steps[r].V)
		last[p] = steps[r].V
	}
	return isStep
}
