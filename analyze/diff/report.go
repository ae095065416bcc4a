package diff

import (
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// Schema names the JSON form of a [Report].
const Schema = "optrace.diff/v1"

// Report says what changed from the base to the head. It may be read back from JSON.
type Report struct {
	Schema string `json:"schema"`
	Base   Side   `json:"base"`
	Head   Side   `json:"head"`
	// Findings say what became of the whole, and what changed it most.
	Findings []findings.Finding `json:"findings"`
	// Unit is what the values of most rows are means of.
	Unit Unit `json:"unit"`
	// Alpha is the probability of any false finding, 1-Alpha the confidence of intervals.
	Alpha float64 `json:"alpha"`
	// Bound is the change, as a part of the base, within which a row is Unchanged.
	Bound float64 `json:"bound"`
	// Tests is the number of tests for which p-values are adjusted.
	Tests int `json:"tests"`
	// Rows has a row per group of operations: first what changed, then by the time that
	// operations took in both sides.
	Rows []Row `json:"rows"`
	// Parts has the time between first start and last end, and for each device its parts, by
	// step where there are steps and by run otherwise; empty where nothing has a start.
	Parts []Part `json:"parts"`
	// Warnings say what makes the comparison doubtful.
	Warnings []string `json:"warnings"`
}

// Side describes the base or the head.
type Side struct {
	Files int64 `json:"files"`
	Runs  int   `json:"runs"`
	// Entries is the number of operations, Steps that of the iterations, and LeftOut of those that are not in the steady
	// state and not compared.
	Entries int64 `json:"entries"`
	Steps   int   `json:"steps"`
	LeftOut int64 `json:"left_out,omitempty"`
}

// Unit is what a value of a row is the mean of.
type Unit string

// The units.
const (
	UnitRuns    Unit = "runs"
	UnitSteps   Unit = "steps"
	UnitWindows Unit = "windows"
	UnitEntries Unit = "entries"
)

// Verdict says what became of a row.
type Verdict string

// The verdicts.
const (
	Slower     Verdict = "slower"
	Faster     Verdict = "faster"
	More       Verdict = "more"        // idle time, which makes nothing slower by itself
	Less       Verdict = "less"        // idle time
	Unchanged  Verdict = "unchanged"   // within the bound of the report
	Added      Verdict = "added"       // not in the base
	Removed    Verdict = "removed"     // not in the head
	CannotTell Verdict = "cannot_tell" // whether there is a change, or none beyond the bound
	TooFew     Verdict = "too_few"     // values to find any change
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
	// Mixes names the properties that differ among the operations of a run, such as
	// "shape": means then also depend on how many there are of each.
	Mixes []string `json:"mixes"`
	Comparison

	sum float64 // of the durations in both sides
}

// Part compares a part of the time of a device, or of all.
type Part struct {
	// Part is wall, compute, exposed_communication, exposed_memory, other or idle.
	Part string `json:"part"`
	// Device is nil for wall.
	Device *device.Key `json:"device"`
	Comparison
}

// Comparison compares the values of two sides. Figures that are not known are nil.
type Comparison struct {
	Verdict Verdict `json:"verdict"`
	// Unit is what a value is the mean of, NBase and NHead the numbers of values.
	Unit  Unit `json:"unit"`
	NBase int  `json:"n_base"`
	NHead int  `json:"n_head"`
	// BaseNS and HeadNS are the medians of the values. Those of rows are geometric means of
	// durations, or arithmetic ones where a run is a saved report; those of parts are
	// arithmetic means.
	BaseNS op.Float `json:"base_ns"`
	HeadNS op.Float `json:"head_ns"`
	// Delta is by how much the head's values are larger, as a part of the base's: the median of the ratios of all pairs of
	// values, less 1, or, where a value is 0, of their differences as a part of BaseNS. DeltaLow and DeltaHigh bound it,
	// from -1; nil where the samples are too small.
	Delta     op.Float `json:"delta"`
	DeltaLow  op.Float `json:"delta_low"`
	DeltaHigh op.Float `json:"delta_high"`
	// ShiftNS, LowNS and HighNS are these times BaseNS.
	ShiftNS op.Float `json:"shift_ns"`
	LowNS   op.Float `json:"low_ns"`
	HighNS  op.Float `json:"high_ns"`
	// P is the p-value, adjusted for the number of tests.
	P op.Float `json:"p"`
	// Independent is as how many independent values those of both sides count, which are
	// fewer where values of one run depend on one another.
	Independent op.Float `json:"independent"`
	// Needed is about how many runs, steps, windows as long as those here, or entries a side
	// would tell, if the head is as far from the base as here; nil where the verdict is known.
	Needed op.Int `json:"needed"`

	half float64 // of the interval
}

// Slowdown returns by how much, as a part of what it took in the base, the row is slower that became slower by most, and
// which one that is: "" and 0 for none. A part of the time is slower by what was added to it as a part of the time of all.
func (r *Report) Slowdown() (what string, by float64) {
	for i := range r.Rows {
		if d := r.Rows[i].slowdown(r.Rows[i].BaseNS); d > by {
			what, by = r.Rows[i].Key.String(), d
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
			if what, by = p.Part, d; p.Device != nil {
				what += " of " + p.Device.Label(true)
			}
		}
	}
	return what, by
}

// slowdown returns what was added as a part of a time, 0 where nothing became slower.
func (c *Comparison) slowdown(of op.Float) float64 {
	if c.Verdict != Slower && c.Verdict != More || !(of.V > 0) {
		return 0
	}
	return c.ShiftNS.V / of.V
}
