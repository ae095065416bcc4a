package diff

import (
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// Schema names the JSON form of a [Report].
const Schema = "optrace.diff/v1"

// Report lists the changes from the base to the head. It can be read back from JSON.
type Report struct {
	Schema string `json:"schema"`
	Base   Side   `json:"base"`
	Head   Side   `json:"head"`
	// Findings state the change of the whole, then the largest changes.
	Findings []findings.Finding `json:"findings"`
	// Identical is set if both sides have one run, with the same operations at the same times.
	Identical bool `json:"identical"`
	// Unit is the unit of the rows.
	Unit Unit `json:"unit"`
	// Alpha is the probability of any false finding, 1-Alpha the confidence of the intervals.
	Alpha float64 `json:"alpha"`
	// Bound is the largest change of an Unchanged row, as a fraction of the base.
	Bound float64 `json:"bound"`
	// Tests is the number of tests that p-values are adjusted for.
	Tests int `json:"tests"`
	// Rows has a row per group of operations: devices first, then changed rows, then by their time in both sides.
	Rows []Row `json:"rows"`
	// Parts has the wall time, the durations of requests, and each device's parts of the wall time, per step or else per
	// run, if operations have starts.
	Parts []Part `json:"parts"`
	// Warnings are reasons to doubt the comparison.
	Warnings []string `json:"warnings"`

	wholeNS float64 // mean time of a base step, request or run, 0 if unknown
}

// Side describes the base or the head.
type Side struct {
	Files int64 `json:"files"`
	Runs  int   `json:"runs"`
	// Entries is the number of operations, Steps of iterations, and LeftOut of iterations outside the steady state.
	Entries int64 `json:"entries"`
	Steps   int   `json:"steps"`
	// Requests is the number of requests with operations.
	Requests int   `json:"requests,omitempty"`
	LeftOut  int64 `json:"left_out,omitempty"`

	devices int
}

// Unit names the group of operations behind one value of a row.
type Unit string

// The units.
const (
	UnitRuns     Unit = "runs"
	UnitSteps    Unit = "steps"
	unitRequests Unit = "requests"
	UnitEntries  Unit = "entries"
)

// Verdict is the result of a row.
type Verdict string

// The verdicts.
const (
	Slower     Verdict = "slower"
	Faster     Verdict = "faster"
	More       Verdict = "more"        // idle time; it does not make the head slower by itself
	Less       Verdict = "less"        // idle time
	Unchanged  Verdict = "unchanged"   // within the bound of the report
	Added      Verdict = "added"       // missing in the base
	Removed    Verdict = "removed"     // missing in the head
	CannotTell Verdict = "cannot_tell" // neither a change nor its absence is proven
	TooFew     Verdict = "too_few"     // the samples are too small to find any change
)

// Verdicts returns the verdicts in the order of a report.
func Verdicts() []Verdict {
	return []Verdict{Slower, Faster, More, Less, Added, Removed, Unchanged, CannotTell, TooFew}
}

// Changed reports whether a row took longer or shorter in the head, by more than chance.
func (v Verdict) Changed() bool { return v == Slower || v == Faster || v == More || v == Less }

// Row compares the durations of a group of operations.
type Row struct {
	Key key.Group `json:"key"`
	// Side is "host" for the host's view of device work, "" otherwise.
	Side string `json:"side,omitempty"`
	// BaseCount and HeadCount are the numbers of operations.
	BaseCount int64 `json:"base_count"`
	HeadCount int64 `json:"head_count"`
	// Mixes names the properties that differ among a run's operations, such as "shape", and affect the means.
	Mixes []string `json:"mixes"`
	// AddedNS is the time that the head adds to each step, or else to each request or run, by longer and by more
	// operations, on the mean device. AddedShare is the fraction of the base step, request or run. It is nil for the
	// host's view.
	AddedNS    op.Float `json:"added_ns"`
	AddedShare op.Float `json:"added_share"`
	Comparison

	baseSum, headSum float64 // of the durations in nanoseconds
}

// Part compares a part of the time of a device, or the wall time.
type Part struct {
	// Part is wall, request_p50, request_p95, request_sum or request_mean, compute, exposed_communication,
	// exposed_memory, other or idle.
	Part string `json:"part"`
	// Request is the name of the requests.
	Request string `json:"request,omitempty"`
	// Device is nil for wall and requests.
	Device *device.Key `json:"device"`
	Comparison
}

// Comparison compares the values of two sides. Unknown figures are nil.
type Comparison struct {
	Verdict Verdict `json:"verdict"`
	// Unit is the unit of a value, NBase and NHead are the numbers of values.
	Unit  Unit `json:"unit"`
	NBase int  `json:"n_base"`
	NHead int  `json:"n_head"`
	// Paired is set if values of equal places in both runs were compared with one another.
	Paired bool `json:"paired,omitempty"`
	// Unsteady has the sides whose level changes during the run, so that they are not compared.
	Unsteady []Unsteady `json:"unsteady,omitempty"`
	// BaseNS and HeadNS are medians of geometric means for rows, of arithmetic means for parts and saved reports.
	BaseNS op.Float `json:"base_ns"`
	HeadNS op.Float `json:"head_ns"`
	// Delta is the change from base to head as a fraction of the base: the median of the ratios of all pairs of values,
	// less 1. If a value is 0, it is the median of their differences divided by BaseNS. DeltaLow and DeltaHigh bound
	// Delta, from -1 on. They are nil if the samples are too small.
	Delta     op.Float `json:"delta"`
	DeltaLow  op.Float `json:"delta_low"`
	DeltaHigh op.Float `json:"delta_high"`
	// ShiftNS, LowNS and HighNS are the same times BaseNS.
	ShiftNS op.Float `json:"shift_ns"`
	LowNS   op.Float `json:"low_ns"`
	HighNS  op.Float `json:"high_ns"`
	// P is the p-value, adjusted for the number of tests.
	P op.Float `json:"p"`
	// Independent is the number of independent values that both samples are worth.
	Independent op.Float `json:"independent"`
	// Needed estimates the number of runs, steps, windows or entries per side that would decide the row, given the same
	// distance of head and base. It is nil for decided rows.
	Needed op.Int `json:"needed"`

	half   float64 // of the interval
	weight float64 // of the test, as a part of alpha
	whole  bool    // the wall time or requests
	block  int     // requests of a value
}

// Unsteady is a change of level during a run.
type Unsteady struct {
	Side string `json:"side"`
	// TwoSpeeds is set if the run stays at one of two separate levels for long. Otherwise it drifts.
	TwoSpeeds bool `json:"two_speeds"`
	// Value is the number of the first value at another level, from 1.
	Value    int     `json:"value"`
	BeforeNS float64 `json:"before_ns"`
	AfterNS  float64 `json:"after_ns"`
}

// Slowdown returns the row with the largest slow-down, and the slow-down as a fraction of the row's base, "" and 0 if
// no row is slower. The slow-down of a part is a fraction of the wall time.
func (r *Report) Slowdown() (what string, by float64) {
	for i := range r.Rows {
		if d := r.Rows[i].slowdown(r.Rows[i].BaseNS); d > by {
			what = r.Rows[i].Key.String()
			by = d
		}
	}
	wall := op.Float{}
	for i := range r.Parts {
		if r.Parts[i].Part == partWall {
			wall = r.Parts[i].BaseNS
		}
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		if d := p.slowdown(wall); d > by {
			what = p.Part
			by = d
			if p.Device != nil {
				what += " of " + p.Device.Label(true)
			}
		}
	}
	return what, by
}

// slowdown returns the added time as a fraction of another time, 0 if the row is not slower.
func (c *Comparison) slowdown(of op.Float) float64 {
	if c.Verdict != Slower && c.Verdict != More || !(of.V > 0) {
		return 0
	}
	return c.ShiftNS.V / of.V
}
