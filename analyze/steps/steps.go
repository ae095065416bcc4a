package steps

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Row is a row of the step table: one iteration of a loop, over all devices
// and ranks.
type Row struct {
	Step    int64  `json:"step"`
	Service string `json:"service,omitempty"` // "" where the operations state none
	// Run tells apart the iterations of one number in a service: 1 is the first to
	// start, 2 the one in a second request or after a restart.
	Run int64 `json:"run"`
	// Count is the number of operations, SumNS the sum of their durations.
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// WallNS is the last end minus the first start, BusyNS the part of it in which
	// anything ran on any device; nil when no operation of the step has a start.
	WallNS op.Int `json:"wall_ns"`
	BusyNS op.Int `json:"busy_ns"`
	// Name is the range on the host that is the step, and Source says where the step is known from.
	// Phase, Tokens and Requests are what the name says; without a name Phase is that of all operations.
	Name     string `json:"name,omitempty"`
	Source   string `json:"source"`
	Phase    string `json:"phase,omitempty"`
	Tokens   op.Int `json:"tokens"`
	Requests op.Int `json:"requests"`
}

// The sources of steps.
const (
	SourceAttribute  = "attribute"  // the operations state it
	SourceAnnotation = "annotation" // a range whose name tells that it is a step
	SourceRange      = "range"      // a range that repeats
)

// Rows returns the iterations by service, step and run, over the operations
// that have a step and are not the host's view. It returns nil unless some
// iteration holds several operations: where each has its own, as in a seed
// trace, the number is an ordinal and not an iteration.
func Rows(f *trace.Forest) []Row {
	it := Find(f)
	order, first := order.GroupRows(it.rows, it.count, nil, func(i int32) int32 { return it.of[it.rows[i]] })
	steps := make([]Row, 0, it.count)
	several := false
	for i := range it.count {
		mine := order[first[i]:first[i+1]]
		several = several || len(mine) > 1
		steps = append(steps, sumStep(f, mine))
	}
	if !several {
		return nil
	}
	numberRuns(steps)
	return steps
}

// Stated returns how many operations have a step and are not the host's view.
func Stated(f *trace.Forest) int64 {
	count := int64(0)
	for r := range f.Rows() {
		if f.IsDeviceSide(r) && f.Has(r, trace.FlagStep) {
			count++
		}
	}
	return count
}

// rowsWithSteps returns the operations that have a step and are not the host's view,
// those with a start first. They are sorted by start, step and then as CompareStart
// does; those without a start by step, duration and the order of the input.
func rowsWithSteps(f *trace.Forest) []int32 {
	rows := make([]int32, 0, Stated(f))
	from := 0 // of those that start at once
	for _, r := range f.Devices.ByStart {
		if !f.Has(r, trace.FlagStep) {
			continue
		}
		if from < len(rows) && f.Start(rows[from]) != f.Start(r) {
			sortBySteps(f, rows[from:])
			from = len(rows)
		}
		rows = append(rows, r)
	}
	sortBySteps(f, rows[from:])
	started := len(rows)
	for r := range f.Rows() {
		if f.IsDeviceSide(r) && f.Has(r, trace.FlagStep) && !f.Has(r, trace.FlagStart) {
			rows = append(rows, r)
		}
	}
	sortBySteps(f, rows[started:])
	return rows
}

// sortBySteps sorts rows that start at once, or have no start.
func sortBySteps(f *trace.Forest, rows []int32) {
	if len(rows) > 1 {
		slices.SortFunc(rows, func(a, b int32) int { return cmp.Or(cmp.Compare(f.Step(a), f.Step(b)), f.CompareStart(a, b)) })
	}
}

// numberRuns sorts steps, which are by start, and numbers those of one service
// and step.
func numberRuns(steps []Row) {
	slices.SortStableFunc(steps, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), cmp.Compare(a.Step, b.Step))
	})
	for i := range steps {
		steps[i].Run = 1
		if i > 0 && steps[i-1].Service == steps[i].Service && steps[i-1].Step == steps[i].Step {
			steps[i].Run = steps[i-1].Run + 1
		}
	}
}

// sumStep sums up the rows of an iteration, those with a start first and by
// start.
func sumStep(f *trace.Forest, rows []int32) Row {
	step := Row{Step: f.Step(rows[0]), Service: f.Service(rows[0]), Count: int64(len(rows))}
	var sum wide.Sum
	for _, r := range rows {
		sum.Add(f.Duration(r))
	}
	step.SumNS = sum.Int64()
	step.describe(f, rows)
	if started := startedOf(f, rows); started > 0 {
		parts := timeline.PartsOf(f, rows[:started])
		step.WallNS, step.BusyNS = op.Known(parts.Span), op.Known(parts.Busy)
	}
	return step
}

// startedOf returns how many of the rows have a start. They come first.
func startedOf(f *trace.Forest, rows []int32) int {
	if n := slices.IndexFunc(rows, func(r int32) bool { return !f.Has(r, trace.FlagStart) }); n >= 0 {
		return n
	}
	return len(rows)
}
