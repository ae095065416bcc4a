package diff

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/rank"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// The defaults of [Options].
const (
	DefaultAlpha = 0.05
	DefaultBound = 0.05
)

// Options configures a comparison. The zero value means the defaults.
type Options struct {
	// By groups the operations read by [Files]. [Compare] ignores it: [NewRun] groups a run.
	By []key.Key
	// Alpha is the probability of any false finding. 0 means DefaultAlpha.
	Alpha float64
	// Bound is the largest change of an unchanged row's interval, as a fraction of the base. 0 means DefaultBound.
	Bound float64
}

// Compare compares the runs of the head with the runs of the base. It returns an error if a side has no run, or if one
// of two single runs is a saved report.
func Compare(base, head []*Run, opts Options) (*Report, error) {
	if len(base) == 0 || len(head) == 0 {
		return nil, fmt.Errorf("comparing %d base runs with %d head runs: each side needs a run", len(base), len(head))
	}
	if len(base) == 1 && len(head) == 1 {
		for _, r := range []*Run{base[0], head[0]} {
			if r.saved {
				return nil, fmt.Errorf("%s is a saved report without single operations: "+
					"compare recordings, or several runs per side", r.name)
			}
		}
	}
	alpha := cmp.Or(opts.Alpha, DefaultAlpha)
	unit := chooseUnit(base, head)
	names := matchDevices(base, head)
	r := &Report{
		Schema: Schema, Base: sideOf(base), Head: sideOf(head), Identical: areIdentical(base, head), Unit: unit,
		Alpha: alpha,
		Bound: cmp.Or(opts.Bound, DefaultBound), Rows: rows(unit, base, head, alpha),
		Parts:    append(parts(base, head, alpha, names), requestParts(base, head, alpha)...),
		Warnings: []string{},
	}
	r.decide()
	r.sort()
	r.share(base)
	r.warn(base, head)
	r.Findings = r.findings()
	return r, nil
}

// areIdentical reports whether both sides have one run, with the same operations at the same times.
func areIdentical(base, head []*Run) bool {
	if len(base) != 1 || len(head) != 1 || len(base[0].groups) != len(head[0].groups) || len(base[0].groups) == 0 {
		return false
	}
	for id, b := range base[0].groups {
		h := head[0].groups[id]
		if h == nil || b.count != h.count || b.sum != h.sum || len(b.samples) == 0 || !slices.Equal(b.samples, h.samples) {
			return false
		}
	}
	return true
}

func sideOf(runs []*Run) Side {
	s := Side{Runs: len(runs)}
	for _, r := range runs {
		s.Files += r.input.Files
		s.Entries += r.input.Entries
		s.Steps += r.steps.count
		s.LeftOut += r.leftOut
		s.devices = max(s.devices, len(r.devices))
	}
	s.Requests, _ = requestsOf(runs)
	return s
}

// rows returns a row per group of either side, without verdicts.
func rows(unit Unit, base, head []*Run, alpha float64) []Row {
	groups := make(map[string]*Row)
	collect := func(runs []*Run, figures func(*Row) (count *int64, sum *float64)) {
		for _, r := range runs {
			for id, g := range r.groups {
				row := order.At(groups, id)
				if row.Mixes == nil {
					row.Key = g.key
					row.Side = g.side
					row.Mixes = []string{}
				}
				count, sum := figures(row)
				*count += g.count
				*sum += float64(g.sum)
				row.Mixes = append(row.Mixes, g.mixes...)
			}
		}
	}
	collect(base, func(r *Row) (*int64, *float64) { return &r.BaseCount, &r.baseSum })
	collect(head, func(r *Row) (*int64, *float64) { return &r.HeadCount, &r.headSum })
	all := []Row{}
	for id, row := range groups {
		b, h := groupValues(unit, base, head, id)
		row.Comparison = compare(unit, b, h, true, alpha)
		row.setAbsent(row.BaseCount > 0, row.HeadCount > 0)
		slices.Sort(row.Mixes)
		row.Mixes = slices.Compact(row.Mixes)
		all = append(all, *row)
	}
	return all
}

// parts returns the rows of wall time and of the parts of device time, without verdicts.
func parts(base, head []*Run, alpha float64, names map[*Run]aliases) []Part {
	unit := chooseUnit(base, head)
	if unit == UnitEntries {
		unit = UnitRuns
		if min(base[0].steps.count, head[0].steps.count) > 1 {
			unit = UnitSteps
		}
	}
	b, h := timeParts(unit, base, head, names)
	all := []Part{}
	both := maps.Clone(b)
	maps.Copy(both, h)
	for p := range both {
		if !slices.ContainsFunc(slices.Concat(b[p], h[p]), func(v float64) bool { return v != 0 }) {
			continue // such as communication where there is none
		}
		row := Part{Part: p.name, Comparison: compare(unit, b[p], h[p], false, alpha)}
		row.setAbsent(b[p] != nil, h[p] != nil)
		if row.whole = p.name == partWall; !row.whole {
			row.Device = &p.device
		}
		all = append(all, row)
	}
	return all
}

// compare compares two samples, either of logarithms or of nanoseconds. It takes logarithms of nanoseconds unless a
// value is 0. The p-value is not adjusted and the verdict is open.
func compare(unit Unit, base, head []float64, logarithms bool, alpha float64) Comparison {
	c := Comparison{Unit: unit, NBase: len(base), NHead: len(head), Verdict: TooFew}
	ns := math.Exp
	if !logarithms {
		ns = func(value float64) float64 { return value }
	}
	if len(base) > 0 {
		c.BaseNS = op.KnownFloat(ns(rank.Median(base)))
	}
	if len(head) > 0 {
		c.HeadNS = op.KnownFloat(ns(rank.Median(head)))
	}
	if len(base) < minValues || len(head) < minValues {
		return c
	}
	if !logarithms && min(slices.Min(base), slices.Min(head)) > 0 {
		base, head = logarithmsOf(base), logarithmsOf(head)
		logarithms = true
	}
	if unit == UnitRuns {
		c.P = op.KnownFloat(rank.Test(base, head))
		c.Independent = op.KnownFloat(float64(len(base) + len(head)))
		c.setShift(rank.Shift(base, head, alpha), logarithms)
		return c
	}
	series := rank.Series(base, head, alpha)
	c.Paired = series.Paired
	ns = func(value float64) float64 { return value }
	if logarithms {
		ns = math.Exp
	}
	c.addUnsteady("base", series.X, ns)
	c.addUnsteady("head", series.Y, ns)
	c.setShift(series.Shift, logarithms)
	if c.Independent = op.KnownFloat(series.Independent); series.OK {
		c.P = op.KnownFloat(series.P)
	} else {
		c.clearBounds()
	}
	return c
}

func (c *Comparison) addUnsteady(side string, course rank.Course, ns func(float64) float64) {
	if course.Change > 0 {
		c.Unsteady = append(c.Unsteady, Unsteady{
			Side: side, TwoSpeeds: course.Two, Value: course.Change + 1,
			BeforeNS: ns(course.Before), AfterNS: ns(course.After),
		})
	}
}

func (c *Comparison) clearBounds() {
	for _, f := range []*op.Float{&c.DeltaLow, &c.DeltaHigh, &c.LowNS, &c.HighNS} {
		*f = op.Float{}
	}
}

func (c *Comparison) setAbsent(inBase, inHead bool) {
	if !inBase {
		c.Verdict = Added
	} else if !inHead {
		c.Verdict = Removed
	}
}

// setShift converts a shift into Delta and ShiftNS: a shift of logarithms is the logarithm of a ratio, a shift of
// nanoseconds a fraction of the base, at least -1.
func (c *Comparison) setShift(shift rank.Interval, logarithms bool) {
	set := func(difference float64, delta, shift *op.Float) {
		switch {
		case logarithms:
			*delta = op.KnownFloat(math.Expm1(difference))
		case c.BaseNS.V > 0:
			*delta = op.KnownFloat(max(-1, difference/c.BaseNS.V))
		default:
			*shift = op.KnownFloat(difference)
			return
		}
		*shift = op.KnownFloat(delta.V * c.BaseNS.V)
	}
	set(shift.Estimate, &c.Delta, &c.ShiftNS)
	set(shift.Low, &c.DeltaLow, &c.LowNS)
	set(shift.High, &c.DeltaHigh, &c.HighNS)
	c.half = max(c.DeltaHigh.V-c.Delta.V, c.Delta.V-c.DeltaLow.V)
}

func (r *Report) comparisons() (all []*Comparison) {
	for i := range r.Rows {
		all = append(all, &r.Rows[i].Comparison)
	}
	for i := range r.Parts {
		all = append(all, &r.Parts[i].Comparison)
	}
	return all
}

// wholeWeight is the part of alpha for the wall time and the requests. Rows and parts of devices share the rest, and
// all of alpha once the whole has changed.
const wholeWeight = 0.5

func (r *Report) decide() {
	r.refuse()
	all := r.comparisons()
	whole := 0
	for _, c := range all {
		if c.whole {
			whole++
		}
	}
	for _, c := range all {
		switch {
		case whole == len(all) || whole == 0:
			c.weight = 1 / float64(len(all))
		case c.whole:
			c.weight = wholeWeight / float64(whole)
		default:
			c.weight = (1 - wholeWeight) / float64(len(all)-whole)
		}
	}
	tested := slices.DeleteFunc(all, func(c *Comparison) bool { return !c.P.Known })
	r.Tests = len(tested)
	p := make([]float64, len(tested))
	weights := make([]float64, len(tested))
	for i, c := range tested {
		p[i] = c.P.V
		weights[i] = c.weight
	}
	for i, adjusted := range rank.Holm(p, weights) {
		tested[i].P = op.KnownFloat(adjusted)
		r.judge(tested[i])
	}
	needed := op.Known(int64(r.leastRuns()))
	for _, c := range r.comparisons() {
		switch {
		case len(c.Unsteady) > 0:
			c.Verdict = CannotTell
		case c.Verdict == TooFew && c.Unit == UnitRuns:
			c.Needed = needed
		}
	}
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Part == partIdle && p.Verdict.Changed() {
			p.Verdict = map[Verdict]Verdict{Slower: More, Faster: Less}[p.Verdict]
		}
	}
}

// refuse withdraws the verdicts affected by a device with two speeds: on the whole, the device's parts, and the operations
// of devices.
func (r *Report) refuse() {
	refused := make(map[device.Key]bool)
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Part == partCompute && p.twoSpeeds() != nil {
			refused[*p.Device] = true
		}
	}
	if len(refused) == 0 {
		return
	}
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Device == nil || refused[*p.Device] {
			p.withdraw()
		}
	}
	for i := range r.Rows {
		if r.Rows[i].Side == "" {
			r.Rows[i].withdraw()
		}
	}
}

func (c *Comparison) withdraw() {
	if c.P.Known || c.Independent.Known {
		c.Verdict = CannotTell
		c.P = op.Float{}
		c.Independent = op.Float{}
		c.clearBounds()
	}
}

// twoSpeeds returns the first entry of Unsteady at two levels, or nil.
func (c *Comparison) twoSpeeds() *Unsteady {
	if i := slices.IndexFunc(c.Unsteady, func(u Unsteady) bool { return u.TwoSpeeds }); i >= 0 {
		return &c.Unsteady[i]
	}
	return nil
}

func (r *Report) judge(c *Comparison) {
	switch {
	case rank.LeastP(c.NBase, c.NHead) > r.Alpha*c.weight:
		c.Verdict = TooFew
	case c.P.V <= r.Alpha && c.ShiftNS.V > negligible*c.BaseNS.V:
		c.Verdict = Slower
	case c.P.V <= r.Alpha && c.ShiftNS.V < -negligible*c.BaseNS.V:
		c.Verdict = Faster
	case c.LowNS.V >= -r.Bound*c.BaseNS.V && c.HighNS.V <= r.Bound*c.BaseNS.V:
		c.Verdict = Unchanged
	default:
		c.Verdict = CannotTell
		c.Needed = r.needed(c)
	}
}

const negligible = 0.001 // the largest change never called slower or faster, as a fraction of the base

// power is the ratio of a change found in four of five comparisons to half of its interval: the sum of the normal
// quantiles for 0.975 and 0.8, divided by the first.
const power = (1.960 + 0.842) / 1.960

// needed estimates the number of runs, steps, windows or entries per side needed to decide a row. The interval shrinks
// with the root of their number, and must exclude either no change, adjusted for all tests, or a change by the bound.
func (r *Report) needed(c *Comparison) op.Int {
	if !c.Delta.Known {
		return op.Int{}
	}
	delta := math.Abs(c.Delta.V)
	adjusted := math.Erfinv(1-r.Alpha*c.weight) / math.Erfinv(1-r.Alpha)
	times := power * c.half / max(delta/adjusted, r.Bound-delta)
	values := float64(min(c.NBase, c.NHead))
	switch c.Unit {
	case UnitSteps:
		values = float64(min(r.Base.Steps, r.Head.Steps))
	case unitRequests:
		values = float64(min(r.Base.Requests, r.Head.Requests))
	}
	const most = 1e6 // more is not worth the while
	if values *= max(1, times*times); values > most {
		return op.Int{}
	}
	return op.Known(int64(math.Ceil(values)))
}

func (r *Report) sort() {
	verdicts := Verdicts()
	place := func(row *Row) int { return slices.Index(verdicts, row.Verdict) }
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(
			strings.Compare(a.Side, b.Side), cmp.Compare(place(&a), place(&b)),
			cmp.Compare(b.baseSum+b.headSum, a.baseSum+a.headSum),
			strings.Compare(a.Key.String(), b.Key.String()),
			strings.Compare(groupID(a.Key, a.Side), groupID(b.Key, b.Side)),
		)
	})
	var none device.Key // of the whole
	slices.SortFunc(r.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Or(a.Device, &none).Compare(*cmp.Or(b.Device, &none)),
			cmp.Compare(slices.Index(partNames, a.Part), slices.Index(partNames, b.Part)))
	})
}

// share sets the time added by each row per step, request or run.
func (r *Report) share(base []*Run) {
	if n, sum := requestsOf(base); r.per() == "request" {
		r.wholeNS = sum / float64(n)
	} else if i := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Part == partWall }); i >= 0 {
		r.wholeNS = r.Parts[i].BaseNS.V
	}
	count := func(side *Side, row *Row) float64 {
		n := float64(map[string]int{"step": side.Steps, "request": side.Requests, "run": side.Runs}[r.per()])
		if row.Side == "" {
			n *= float64(max(1, side.devices))
		}
		return n
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.AddedNS = op.KnownFloat(row.headSum/count(&r.Head, row) - row.baseSum/count(&r.Base, row))
		if row.Side == "" && r.wholeNS > 0 {
			row.AddedShare = op.KnownFloat(row.AddedNS.V / r.wholeNS)
		}
	}
}
