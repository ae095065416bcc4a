package serving

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/schedule"
	"github.com/optrace/optrace/analyze/trace"
)

const (
	none     = schedule.None
	maxDepth = 1000 // of nested executions
)

// Recording has what engines are found in: the points of a replay, and by row their beginnings and ends, or none.
type Recording struct {
	Rows
	At         func(point int32) int64
	Begin, End []int32
	Roots      []int32 // the rows of requests
	Process    []int32 // of each row
	Loops      []bool  // by process, whether its requests follow each other
}

// Rows are the executions of rows, and their devices.
type Rows struct {
	Forest  *trace.Forest
	Owner   []int32 // the request of each row
	Workers []int32 // the first device of each shared execution, of the outermost for nested ones, or none
}

// NewRows finds the devices of executions.
func NewRows(f *trace.Forest, owner []int32) Rows {
	rows := Rows{Forest: f, Owner: owner, Workers: slices.Repeat([]int32{none}, len(f.Executions.List))}
	for r := range f.Rows() {
		x := rows.ExecutionOf(r)
		if x == trace.NoExecution || !f.CountsInSums(r) {
			continue
		}
		if of := f.Device(r); rows.Workers[x] == none || of < rows.Workers[x] {
			rows.Workers[x] = of
		}
	}
	return rows
}

// ExecutionOf returns the outermost execution of a row.
func (rows *Rows) ExecutionOf(r int32) int32 {
	f := rows.Forest
	x := f.ExecutionOf(r, rows.Owner)
	for depth := 0; x != trace.NoExecution && depth < maxDepth; depth++ {
		p := f.Tree.Parent[f.Executions.List[x].Row]
		if p == trace.NoRow || f.Executions.Of[p] == trace.NoExecution {
			break
		}
		x = f.Executions.Of[p]
	}
	return x
}

// slack returns the recorded time between two points.
func (rec *Recording) slack(from, to int32) int64 { return rec.At(to) - rec.At(from) }
