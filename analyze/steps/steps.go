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

// Row is one iteration of a loop, over all devices and ranks.
type Row struct {
	Step    int64  `json:"step"`
	Service string `json:"service,omitempty"` // "" if not stated
	// Run counts the iterations of a number in a service: 2 is in a second request or after a restart.
	Run int64 `json:"run"`
	// Count is the number of operations, SumNS the sum of their durations.
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// WallNS is the last end minus the first start, BusyNS the busy part of it, nil without starts.
	WallNS op.Int `json:"wall_ns"`
	BusyNS op.Int `json:"busy_ns"`
	// StartNS is the first start in Unix nanoseconds, unknown without starts.
	StartNS op.Int `json:"-"`
	// LeadNS is the time before it since the first event of the step, on a host or of a launch. It is 0 for a number with
	// several iterations.
	LeadNS int64 `json:"-"`
	// ToNextNS is the time from the first start to the first start of the next step of the loop. For the last step it is
	// WallNS plus the median pause, and without a single loop WallNS.
	ToNextNS op.Int `json:"to_next_ns"`
	// Name is the step's range on the host, Source the origin of the step. Phase, Tokens and Requests come from the
	// name. Without a name, Phase is the common phase of all operations.
	Name     string `json:"name,omitempty"`
	Source   string `json:"source"`
	Phase    string `json:"phase,omitempty"`
	Tokens   op.Int `json:"tokens"`
	Requests op.Int `json:"requests"`
}

// The sources of steps.
const (
	SourceAttribute  = "attribute"  // stated by the operations
	SourceAnnotation = "annotation" // a range named as a step
	SourceRange      = "range"      // a repeated range
)

// Rows returns the iterations by service, step and run, over operations with a step, without the host's view. It
// returns nil unless some iteration has several operations or the name of a step: in a seed trace each operation has its
// own number, an ordinal.
func Rows(f *trace.Forest) []Row {
	it := Find(f)
	order, first := order.GroupRows(it.rows, it.count, nil, func(i int32) int32 { return it.of[it.rows[i]] })
	steps := make([]Row, 0, it.count)
	several := false
	var times []Time
	for i := range it.count {
		mine := order[first[i]:first[i+1]]
		s := sumStep(f, mine)
		several = several || len(mine) > 1 || s.Source == SourceAnnotation
		if s.WallNS.Known { // those come first
			start := f.Start(mine[0])
			times = append(times, Time{s.Service, s.Step, start, start + s.WallNS.V})
		}
		steps = append(steps, s)
	}
	if !several {
		return nil
	}
	for i, gap := range Gaps(times) {
		steps[i].ToNextNS = op.Known(steps[i].WallNS.V + gap)
	}
	numberRuns(steps)
	findLeads(f, steps)
	return steps
}

func findLeads(f *trace.Forest, steps []Row) {
	begins := make(map[step]*int64)
	var last step
	var begin *int64 // of the last
	for r := range f.Rows() {
		isLaunched := f.Has(r, trace.FlagLaunch)
		if !f.Has(r, trace.FlagStep|trace.FlagStart) || f.IsDeviceSide(r) && !isLaunched {
			continue
		}
		at := f.Start(r)
		if isLaunched {
			at = min(at, f.Launch(r))
		}
		of := step{f.Service(r), f.Step(r)}
		if begin == nil || of != last {
			last = of
			if begin = begins[of]; begin == nil {
				begin = new(int64)
				*begin = at
				begins[of] = begin
			}
		}
		*begin = min(*begin, at)
	}
	for i := range steps {
		s := &steps[i]
		again := i+1 < len(steps) && steps[i+1].Run > 1
		if begin := begins[step{s.Service, s.Step}]; begin != nil && s.StartNS.Known && s.Run == 1 && !again {
			s.LeadNS = max(0, s.StartNS.V-*begin)
		}
	}
}

// Stated returns the number of operations with a step, without the host's view.
func Stated(f *trace.Forest) int64 {
	count := int64(0)
	for r := range f.Rows() {
		if f.IsDeviceSide(r) && f.Has(r, trace.FlagStep) {
			count++
		}
	}
	return count
}

// rowsWithSteps returns the operations with a step, without the host's view: operations with a start first, by start,
// step and CompareStart, then the others by step, duration and input order.
func rowsWithSteps(f *trace.Forest) []int32 {
	rows := make([]int32, 0, Stated(f))
	from := 0 // first row of the same start
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

func sortBySteps(f *trace.Forest, rows []int32) {
	if len(rows) > 1 {
		slices.SortFunc(rows, func(a, b int32) int {
			return cmp.Or(cmp.Compare(f.Step(a), f.Step(b)), f.CompareStart(a, b))
		})
	}
}

// numberRuns sorts steps, sorted by start, by service and step, and numbers equal ones.
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
		step.StartNS = op.Known(f.Start(rows[0]))
		step.WallNS = op.Known(parts.Span)
		step.BusyNS = op.Known(parts.Busy)
	}
	return step
}

// ToNext returns the known ToNextNS of the service with the most steps. rows are the result of Rows.
func ToNext(rows []Row) (ns []int64) {
	for loop := range order.RunsOf(rows, serviceOf) {
		var times []int64
		for i := range loop {
			if loop[i].ToNextNS.Known {
				times = append(times, loop[i].ToNextNS.V)
			}
		}
		if len(times) > len(ns) {
			ns = times
		}
	}
	return ns
}

// startedOf returns the number of rows with a start. They come first.
func startedOf(f *trace.Forest, rows []int32) int {
	if n := slices.IndexFunc(rows, func(r int32) bool { return !f.Has(r, trace.FlagStart) }); n >= 0 {
		return n
	}
	return len(rows)
}
