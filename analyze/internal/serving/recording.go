package serving

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/schedule"
	"github.com/optrace/optrace/analyze/trace"
)

const (
	none     = schedule.None
	maxDepth = 1000 // of nested executions
	// Spans that follow each other may overlap by a microsecond, if a format has whole ones.
	microsecond = 1_000 // in nanoseconds
)

// Recording has what engines are found in: the points of a replay, and by row their beginnings and ends, or none.
type Recording struct {
	Rows
	At         func(point int32) int64
	Begin, End []int32
	Roots      []int32 // the rows of requests
	Process    []int32 // of each row
	Loops      []bool  // by process, whether its requests follow each other
	Kinds      *Kinds  // of operations
}

// Rows are the executions of rows, and their devices.
type Rows struct {
	Forest  *trace.Forest
	Owner   []int32 // the request of each row
	Workers []int32 // the first device of each shared execution, of the outermost for nested ones, or none
	// Journeys has the rows of executions that pass through several engines. They are no executions of an engine.
	Journeys map[int32]bool
	own      map[int32]bool // by name of spans, see findOwn
}

// NewRows finds the devices of executions.
func NewRows(f *trace.Forest, owner []int32) Rows {
	rows := Rows{Forest: f, Owner: owner, Workers: slices.Repeat([]int32{none}, len(f.Executions.List))}
	if len(f.Executions.List) > 0 {
		rows.findJourneys()
		rows.findOwn()
	}
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

// ExecutionOf returns the outermost execution of a row, without journeys around it.
func (rows *Rows) ExecutionOf(r int32) int32 {
	f := rows.Forest
	x := f.ExecutionOf(r, rows.Owner)
	for depth := 0; x != trace.NoExecution && depth < maxDepth; depth++ {
		of := rows.around(x)
		if of == trace.NoExecution || rows.Journeys[f.Executions.List[of].Row] {
			break
		}
		x = of
	}
	return x
}

// slack returns the recorded time between two points.
func (rec *Recording) slack(from, to int32) int64 { return rec.At(to) - rec.At(from) }
