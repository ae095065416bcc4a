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

// Loops are the processes of a recording and their repetitions.
type Loops struct {
	Process []int32 // by row
	// Loops reports for each process whether it runs a loop: its requests do not overlap, or are the steps of a loop. A process
	// that works for the requests of a server runs none.
	Loops []bool
	Roots []int32         // the requests, by start
	Ends  map[int32]int64 // has the start of the next step for overlapping steps

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
func (l *Loops) findProcesses() {
	f := l.forest
	byLane := f.Processes()
	place := placesOf(f, byLane)
	l.Process = slices.Repeat([]int32{none}, f.Len())
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagOp) {
			continue
		}
		of := byLane[f.Lane(r)]
		l.Process[r] = of
		for p := f.Tree.Parent[r]; p != trace.NoRow && !f.Has(p, trace.FlagOp); p = f.Tree.Parent[p] {
			if l.Process[p] != none && place[l.Process[p]] <= place[of] {
				break
			}
			l.Process[p] = of
		}
	}
	next := int32(len(byLane))
	services := make(map[string]int32)
	for r := range f.Rows() {
		if l.Process[r] != none {
			continue
		}
		top := r
		for f.Tree.Parent[top] != trace.NoRow && l.Process[top] == none {
			top = f.Tree.Parent[top]
		}
		of := l.Process[top]
		if of == none {
			name := f.Node(top).Service()
			if _, known := services[name]; !known {
				services[name] = next
				next++
			}
			of = services[name]
		}
		for p := r; p != trace.NoRow && l.Process[p] == none; p = f.Tree.Parent[p] {
			l.Process[p] = of
		}
	}
	l.Loops = slices.Repeat([]bool{true}, int(next))
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
func (l *Loops) findRoots() {
	f := l.forest
	isPlaced := func(r int32) bool {
		return f.Flags(r)&(trace.FlagStart|trace.FlagDuplicate|trace.FlagRepeat) == trace.FlagStart
	}
	for r := range f.Rows() {
		if l.owner[r] == r && isPlaced(r) && f.ExecutionOf(r, l.owner) == trace.NoExecution {
			l.Roots = append(l.Roots, r)
		}
	}
	slices.SortFunc(l.Roots, f.CompareStart)
	before := slices.Repeat([]int32{none}, len(l.Loops)) // by process
	isStep := l.numbered()
	l.Ends = make(map[int32]int64)
	for _, r := range l.Roots {
		p := l.Process[r]
		if last := before[p]; last != none && f.Start(r) < f.End(last) {
			l.Loops[p] = l.Loops[p] && isStep[p]
			l.Ends[last] = f.Start(r)
		}
		if last := before[p]; last == none || f.End(r) > f.End(last) {
			before[p] = r
		}
	}
	runsLoop := slices.Clone(l.Loops)
	for r := range f.Rows() {
		if o := l.owner[r]; o != trace.NoRow && int(o) < f.Len() && !runsLoop[l.Process[o]] {
			l.Loops[l.Process[r]] = false
		}
	}
	maps.DeleteFunc(l.Ends, func(r int32, _ int64) bool { return !l.Loops[l.Process[r]] })
	stepped := make(map[int32]bool) // roots that are step spans or have some below them
	for r := range f.Rows() {
		if f.Flags(r)&(trace.FlagOp|trace.FlagStep) == trace.FlagStep {
			stepped[l.owner[r]] = true
		}
	}
	l.Roots = slices.DeleteFunc(l.Roots, func(r int32) bool {
		return l.Loops[l.Process[r]] && (len(l.Ends) > 0 || stepped[r])
	})
}

// numbered reports for each process whether its roots are the steps of a loop: each has operations of one step, and
// the steps follow each other.
func (l *Loops) numbered() []bool {
	f := l.forest
	steps := make(map[int32]op.Int)
	for r := range f.Rows() {
		if o := l.owner[r]; o != trace.NoRow && int(o) < f.Len() && f.Has(r, trace.FlagOp) {
			step := op.Int{V: f.Step(r), Known: f.Has(r, trace.FlagStep)}
			if before, known := steps[o]; known && before != step {
				step.Known = false
			}
			steps[o] = step
		}
	}
	isStep := slices.Repeat([]bool{true}, len(l.Loops))
	last := make(map[int32]int64)
	for _, r := range l.Roots {
		p := l.Process[r]
		before, known := last[p]
		isStep[p] = isStep[p] && steps[r].Known && (!known || before < steps[r].V)
		last[p] = steps[r].V
	}
	return isStep
}
