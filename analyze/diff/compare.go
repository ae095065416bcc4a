package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/rank"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// DefaultAlpha is the default of [Options].
const DefaultAlpha = 0.05

// Options configures a comparison. The zero value stands for the defaults.
type Options struct {
	// By lists the keys by which the runs were grouped, operation by default.
	By []key.Key
	// Alpha is the probability of any false finding. 0 is DefaultAlpha.
	Alpha float64
}

// Compare compares the runs of the head with those of the base. It fails where a side has no
// run, or where one of two single runs is a saved report.
func Compare(base, head []*Run, opts Options) (*Report, error) {
	if len(base) == 0 || len(head) == 0 {
		return nil, fmt.Errorf("comparing %d runs with %d: both sides need one", len(base), len(head))
	}
	if len(base) == 1 && len(head) == 1 {
		for _, r := range []*Run{base[0], head[0]} {
			if r.saved {
				return nil, fmt.Errorf("%s is a saved report, which has sums but no single operations: "+
					"compare the recordings, or several runs a side", r.name)
			}
		}
	}
	unit, alpha := chooseUnit(base, head), cmp.Or(opts.Alpha, DefaultAlpha)
	r := &Report{
		Schema: Schema, Base: sideOf(base), Head: sideOf(head), Unit: unit, Alpha: alpha,
		Rows: rows(unit, base, head, alpha), Parts: parts(unit, base, head, alpha), Warnings: []string{},
	}
	r.decide()
	r.sort()
	r.warn(base, head)
	r.Findings = r.findings()
	return r, nil
}

func sideOf(runs []*Run) Side {
	s := Side{Runs: len(runs)}
	for _, r := range runs {
		s.Files += r.input.Files
		s.Entries += r.input.Entries
		s.Steps += r.steps.count
		s.LeftOut += r.leftOut
	}
	return s
}

// rows returns a row per group of either side, not decided yet.
func rows(unit Unit, base, head []*Run, alpha float64) []Row {
	index := make(map[string]int)
	all := []Row{}
	collect := func(runs []*Run, count func(*Row) *int64) {
		for _, r := range runs {
			for id, g := range r.groups {
				i, ok := index[id]
				if !ok {
					i = len(all)
					index[id] = i
					all = append(all, Row{Key: g.key, Side: g.side, Mixes: []string{}})
				}
				row := &all[i]
				*count(row) += g.count
				row.sum += float64(g.sum)
				for _, m := range g.mixes {
					if !slices.Contains(row.Mixes, m) {
						row.Mixes = append(row.Mixes, m)
					}
				}
			}
		}
	}
	collect(base, func(r *Row) *int64 { return &r.BaseCount })
	collect(head, func(r *Row) *int64 { return &r.HeadCount })
	for id, i := range index {
		u, b, h := groupValues(unit, base, head, id)
		all[i].Comparison = compare(u, b, h, true, alpha)
		all[i].setAbsent(all[i].BaseCount > 0, all[i].HeadCount > 0)
		slices.Sort(all[i].Mixes)
	}
	return all
}

// parts returns the rows of wall time and of the parts of devices, not decided yet.
func parts(unit Unit, base, head []*Run, alpha float64) []Part {
	b, h := partValues(unit, base, head)
	all := []Part{}
	if unit == UnitWindows {
		unit = UnitRuns
	}
	add := func(p part) {
		if !slices.ContainsFunc(slices.Concat(b[p], h[p]), func(v float64) bool { return v != 0 }) {
			return // such as communication where there is none
		}
		row := Part{Part: p.name, Comparison: compare(unit, b[p], h[p], false, alpha)}
		row.setAbsent(b[p] != nil, h[p] != nil)
		if p.name != partWall {
			row.Device = &p.device
		}
		all = append(all, row)
	}
	for p := range b {
		add(p)
	}
	for p := range h {
		if b[p] == nil {
			add(p)
		}
	}
	return all
}

// compare compares two samples, of logarithms or of nanoseconds. Its p-value is not adjusted
// yet, and nothing is decided.
func compare(unit Unit, base, head []float64, logarithms bool, alpha float64) Comparison {
	c := Comparison{Unit: unit, NBase: len(base), NHead: len(head), Verdict: TooFew}
	ns := func(value float64) float64 { return value }
	if logarithms {
		ns = math.Exp
	}
	if len(base) > 0 {
		c.BaseNS = op.KnownFloat(ns(rank.Median(base)))
	}
	if len(head) > 0 {
		c.HeadNS = op.KnownFloat(ns(rank.Median(head)))
	}
	if len(base) >= minValues && len(head) >= minValues {
		c.P = op.KnownFloat(rank.Test(base, head))
		c.setShift(rank.Shift(base, head, alpha), logarithms)
	}
	return c
}

// setAbsent decides what one side has and the other has not.
func (c *Comparison) setAbsent(inBase, inHead bool) {
	switch {
	case !inBase:
		c.Verdict = Added
	case !inHead:
		c.Verdict = Removed
	}
}

// setShift takes a shift of logarithms for one of the base.
func (c *Comparison) setShift(shift rank.Interval, logarithms bool) {
	ns := func(difference float64) op.Float {
		if logarithms {
			difference = math.Expm1(difference) * c.BaseNS.V
		}
		return op.KnownFloat(difference)
	}
	c.ShiftNS, c.LowNS, c.HighNS = ns(shift.Estimate), ns(shift.Low), ns(shift.High)
	if c.BaseNS.V > 0 {
		c.Delta = op.KnownFloat(c.ShiftNS.V / c.BaseNS.V)
	}
}

// decide adjusts the p-values and says what became of each row.
func (r *Report) decide() {
	var tested []*Comparison
	for i := range r.Rows {
		tested = append(tested, &r.Rows[i].Comparison)
	}
	for i := range r.Parts {
		tested = append(tested, &r.Parts[i].Comparison)
	}
	tested = slices.DeleteFunc(tested, func(c *Comparison) bool { return !c.P.Known })
	r.Tests = len(tested)
	p := make([]float64, len(tested))
	for i, c := range tested {
		p[i] = c.P.V
	}
	for i, adjusted := range rank.Holm(p) {
		tested[i].decide(adjusted, r.Alpha, r.Tests)
	}
}

func (c *Comparison) decide(p, alpha float64, tests int) {
	c.P = op.KnownFloat(p)
	switch {
	case rank.LeastP(c.NBase, c.NHead)*float64(tests) > alpha:
		c.Verdict = TooFew
	case p <= alpha && c.ShiftNS.V > 0:
		c.Verdict = Slower
	case p <= alpha && c.ShiftNS.V < 0:
		c.Verdict = Faster
	default:
		c.Verdict = Unchanged
	}
}

// sort puts what changed first.
func (r *Report) sort() {
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(compareVerdicts(a.Verdict, b.Verdict), cmp.Compare(b.sum, a.sum), strings.Compare(a.Key.String(), b.Key.String()),
			strings.Compare(groupID(a.Key, a.Side), groupID(b.Key, b.Side)))
	})
	slices.SortFunc(r.Parts, func(a, b Part) int {
		switch {
		case a.Device == nil:
			return -1 // the only one
		case b.Device == nil:
			return 1
		}
		return cmp.Or(a.Device.Compare(*b.Device), cmp.Compare(slices.Index(partNames, a.Part), slices.Index(partNames, b.Part)))
	})
}

func compareVerdicts(a, b Verdict) int {
	order := Verdicts()
	return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
}

// warn says what makes the comparison doubtful.
func (r *Report) warn(base, head []*Run) {
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if len(base) == 1 && len(head) == 1 {
		warn("one run a side: a change cannot be told from what differs between runs anyway; several runs a side can")
	}
	if n := r.needed(); n > 0 {
		warn("too few values to find any difference with %d tests: %d a side would do", r.Tests, n)
	}
	for _, side := range []struct {
		name string
		runs []*Run
	}{{"base", base}, {"head", head}} {
		for _, run := range side.runs {
			in := &run.input
			for _, lack := range []struct {
				n    int64
				what string
			}{
				{in.Dropped, "operations were lost before they were written"},
				{in.MissingEntries, "announced operations are missing"},
				{in.Malformed, "records could not be read"},
				{in.Truncated, "files are cut off"},
				{in.SuspectDurations.V, "durations are suspect"},
			} {
				if lack.n > 0 {
					warn("%s, %s: %d %s", side.name, run.name, lack.n, lack.what)
				}
			}
			if in.Entries == 0 {
				warn("%s, %s: no operations", side.name, run.name)
			}
		}
	}
}

// needed returns how many values a side must have for a row to be decided, 0 where some row
// has been.
func (r *Report) needed() int {
	if r.Tests == 0 {
		return 0
	}
	undecided := func(c *Comparison) bool { return !c.P.Known || c.Verdict == TooFew }
	for i := range r.Rows {
		if !undecided(&r.Rows[i].Comparison) {
			return 0
		}
	}
	for n := minValues; ; n++ {
		if rank.LeastP(n, n)*float64(r.Tests) <= r.Alpha || n == math.MaxInt16 {
			return n
		}
	}
}
