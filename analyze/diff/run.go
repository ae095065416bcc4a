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
)

// Run is one run of a program, as the comparison sees it.
type Run struct {
	name  string
	input analyze.Envelope
	total profile.Total
	// groups and devices are the figures of the whole run.
	groups  map[string]*group
	devices []profile.Device
	// saved is set for a report without its operations.
	saved bool
	steps runSteps
	// leftOut is how many steps there are that are not in the steady state, where the report is on that.
	leftOut int64
	// first and last are the starts of the first and the last operation.
	first, last int64
}

// group is a group of operations of one run.
type group struct {
	key   key.Group
	side  string
	count int64
	sum   int64
	mixes []string
	// logarithms is the sum of those of the durations; 0 in a saved report.
	logarithms float64
	samples    []sample // of a run that is the only one of its side
}

// SampleBytes is about how much memory a Run takes for each operation that it keeps.
const SampleBytes = 32

// sample is one operation.
type sample struct {
	start     int64 // noTime where it is not known
	duration  int64
	iteration int32 // -1 for none
}

const noTime = math.MinInt64

// runSteps are the iterations of a run.
type runSteps struct {
	count       int
	first, last []int64 // start and end by iteration, 0 where no operation has a start
	devices     []steps.Device
}

// ReportOptions returns the options with which [analyze.Run] makes a report for [NewRun].
func ReportOptions(by []key.Key) analyze.Options {
	if len(by) == 0 {
		by, _ = key.Parse(defaultKey)
	}
	return analyze.Options{By: by, KeepForest: true, Top: -1}
}

// defaultKey is what operations are grouped by.
const defaultKey = "operation"

// NewRun returns the run that a report describes: one of [analyze.Run] with ReportOptions, or one read back from JSON, with
// the figures of the whole run only. Where single is set the run is the only one of its side, and its operations are kept.
func NewRun(name string, r *analyze.Report, by []key.Key, single bool) (*Run, error) {
	run := &Run{
		name: name, input: r.Input, total: r.Total, saved: r.Forest == nil, groups: make(map[string]*group), devices: r.Devices,
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

// addGroups takes the figures of groups from the report's table by the same keys.
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
		return fmt.Errorf("the saved report has other keys: make it with -by %s", strings.Join(names, ","))
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

// groupID returns a text that differs for different groups.
func groupID(key key.Group, side string) string {
	id, _ := key.MarshalJSON() // texts and numbers
	return side + string(id)
}

// addOperations goes over the operations one by one, and keeps them where single is set.
func (r *Run) addOperations(f *trace.Forest, single bool) {
	type number struct {
		group int
		side  string
	}
	groups := make(map[number]*group)
	iterations := steps.Find(f)
	r.steps = runSteps{count: iterations.Len(), first: make([]int64, iterations.Len()), last: make([]int64, iterations.Len())}
	r.first, r.last = math.MaxInt64, math.MinInt64
	for n := range f.Nodes() {
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
			r.first, r.last = min(r.first, s.start), max(r.last, s.start)
			r.steps.add(s)
		}
		g.logarithms += logarithm(float64(s.duration))
		if single {
			g.samples = append(g.samples, s)
		}
	}
	if single {
		r.steps.devices = slices.Collect(iterations.Devices())
	}
}

// add takes the time of an operation for that of its iteration.
func (s *runSteps) add(o sample) {
	i := o.iteration
	if i < 0 {
		return
	}
	if s.last[i] == 0 {
		s.first[i] = o.start
	}
	s.first[i], s.last[i] = min(s.first[i], o.start), max(s.last[i], o.start+o.duration)
}
