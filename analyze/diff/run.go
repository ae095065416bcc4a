package diff

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Run is one run of a program.
type Run struct {
	name  string
	input analyze.Envelope
	total profile.Total
	// groups and devices are the figures of the whole run.
	groups   map[string]*group
	devices  []profile.Device
	saved    bool // set for a report without its operations
	steps    runSteps
	leftOut  int64                // the number of steps outside the steady state, if the report is limited to it
	requests map[string][]float64 // has the durations of requests in nanoseconds, by name and start
}

type group struct {
	key        key.Group
	side       string
	count, sum int64
	mixes      []string
	logarithms float64  // the sum of the logarithms of the durations, 0 in a saved report
	samples    []sample // of a run alone on its side
}

// SampleBytes estimates the memory that a Run takes for each kept operation.
const SampleBytes = 32

type sample struct {
	start     int64 // noTime if unknown
	duration  int64
	iteration int32 // -1 for none
}

const noTime = math.MinInt64

type runSteps struct {
	count       int
	first, last []int64 // start and end by iteration, 0 if no operation has a start
	loops       []loopStep
	devices     []steps.Device
}

// loopStep is the service and the number of an iteration.
type loopStep struct {
	service string
	step    int64
}

// ReportOptions returns the options of [analyze.Run] for a report that [NewRun] accepts.
func ReportOptions(by []key.Key) analyze.Options {
	if len(by) == 0 {
		by, _ = key.Parse(defaultKey)
	}
	return analyze.Options{By: by, KeepForest: true, Top: -1}
}

// defaultKey groups operations if no key is given.
const defaultKey = "operation"

// NewRun returns the run behind a report, made by [analyze.Run] with ReportOptions or read back from JSON. A run read
// back has figures of the whole run only. If single is set, the run is alone on its side, and NewRun keeps its
// operations.
func NewRun(name string, r *analyze.Report, by []key.Key, single bool) (*Run, error) {
	run := &Run{
		name: name, input: r.Input, total: r.Total, saved: r.Forest == nil,
		groups: make(map[string]*group), devices: r.Devices,
	}
	if err := run.addGroups(r, ReportOptions(by).By); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	run.steps.count = len(r.Steps)
	if r.Steady != nil {
		run.leftOut = r.Steady.LeftOut - r.Steady.Left(r.Steps)
	}
	if !run.saved {
		run.addOperations(r.Forest, single)
	}
	return run, nil
}

func (r *Run) addGroups(report *analyze.Report, by []key.Key) error {
	names := keyNames(by)
	if slices.Equal(report.By, names) {
		for i := range report.Groups {
			g := &report.Groups[i]
			if !g.Key.Other {
				r.addGroup(g.Key, &g.Stats)
			}
		}
		return nil
	}
	if !slices.Equal(names, []string{defaultKey}) {
		return fmt.Errorf("the saved report has other keys: create it with -by %s", strings.Join(names, ","))
	}
	for i := range report.Operations {
		o := &report.Operations[i]
		key := key.Group{Keys: by, Values: []key.Value{{Text: o.Operation, Known: true}}}
		r.addGroup(key, &o.Stats)
	}
	return nil
}

func (r *Run) addGroup(key key.Group, s *profile.Stats) {
	r.groups[groupID(key, s.Side)] = &group{key: key, side: s.Side, count: s.Count, sum: s.SumNS, mixes: s.Mixes}
}

func keyNames(by []key.Key) []string {
	names := make([]string, len(by))
	for i, k := range by {
		names[i] = k.String()
	}
	return names
}

// groupID returns a text unique to the group.
func groupID(key key.Group, side string) string {
	id, _ := key.MarshalJSON() // texts and numbers
	return side + string(id)
}

// addOperations reads the operations one by one, and keeps them if single is set.
func (r *Run) addOperations(f *trace.Forest, single bool) {
	type number struct {
		group int
		side  string
	}
	groups := make(map[number]*group)
	iterations := steps.Find(f)
	n := iterations.Len()
	r.steps = runSteps{count: n, first: make([]int64, n), last: make([]int64, n), loops: make([]loopStep, n)}
	first, last := int64(trace.MaxTime), int64(-trace.MaxTime)
	for n := range f.Nodes() {
		if start := n.Start(); start.Known {
			first = min(first, start.V)
			last = max(last, start.V+n.Duration())
		}
		at := number{n.Group(), n.Side().String()}
		if at.group < 0 {
			continue
		}
		g, ok := groups[at]
		if !ok {
			g = r.groups[groupID(f.GroupKey(at.group), at.side)]
			groups[at] = g
		}
		if g == nil {
			continue // beyond the limit
		}
		s := sample{start: noTime, duration: n.Duration(), iteration: int32(iterations.Of(n))}
		if start := n.Start(); start.Known {
			s.start = start.V
			r.steps.add(s)
			if s.iteration >= 0 {
				r.steps.loops[s.iteration] = loopStep{f.Service(n.Row), n.Step().V}
			}
		}
		g.logarithms += logarithm(float64(s.duration))
		if single {
			g.samples = append(g.samples, s)
		}
	}
	if !r.total.WallNS.Known && first <= last { // only the host ran
		r.total.WallNS = op.Known(last - first)
	}
	r.requests = requestTimes(f)
	if single {
		r.steps.devices = slices.Collect(iterations.Devices())
	}
}

// add extends the time of the operation's iteration.
func (s *runSteps) add(o sample) {
	i := o.iteration
	if i < 0 {
		return
	}
	if s.last[i] == 0 {
		s.first[i] = o.start
	}
	s.first[i] = min(s.first[i], o.start)
	s.last[i] = max(s.last[i], o.start+o.duration)
}
