package analyze

import (
	"encoding/json"
	"fmt"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Schema names the report's JSON form and its major version: keys are only
// ever added to it.
const Schema = "optrace.report/v1"

// Report holds the figures of an input, ready to be rendered: plain values in
// their final order. Its JSON form is the schema optrace.report/v1.
//
// A figure that is not known is an [op.Int] or [op.Float] with Known false, and
// null in JSON. Pointers and lists are nil only in sections that were not
// computed, lists are empty otherwise.
type Report struct {
	Schema string `json:"schema"`
	// Input describes the input of the figures.
	Input Envelope `json:"input"`
	// Findings say what the run was bound by and what would make it faster, the most important first;
	// nil when the structure was not computed.
	Findings []findings.Finding `json:"findings"`
	Total    profile.Total      `json:"total"`
	// ExtentNS is the time from the first start to the last end of everything that was recorded, with the
	// host's side and all spans; not known where the structure was not computed.
	ExtentNS op.Int `json:"extent_ns"`
	// Peaks has the peaks of devices that rooflines were made of; nil for none.
	Peaks []peaks.Device `json:"peaks,omitempty"`
	// Percentiles describes the estimation of the percentiles.
	Percentiles profile.Percentiles `json:"percentiles"`
	// Operations has a row per operation and side, the largest sum first.
	Operations []profile.Operation `json:"operations"`
	// By names the keys of Groups; it is empty when no grouping was asked for.
	By []string `json:"by,omitempty"`
	// Groups has a row per combination of the keys, the largest sum first; nil
	// when no grouping was asked for.
	Groups []profile.Group `json:"groups"`
	// Devices has a row per rank and device, or service and device, the largest sum
	// first.
	Devices []profile.Device `json:"devices"`
	// LoadBalance is nil for fewer than two devices.
	LoadBalance   *profile.Balance `json:"load_balance"`
	Communication Communication    `json:"communication"`
	Memory        Memory           `json:"memory"`
	// Slowest has the entries of the longest durations, longest first, in input
	// order where durations are equal.
	Slowest []*op.Entry `json:"slowest"`
	// Errors has a row per text of an error and operation, the largest count first: the counts add up to
	// the errors of Operations. SpanErrors has the same of spans that are no operations, such as requests, with the names of
	// these; nil when the structure was not computed.
	Errors     []profile.Error `json:"errors"`
	SpanErrors []profile.Error `json:"span_errors"`
	// Idle has the longest times in which a device had nothing to do, longest
	// first; IdleCauses sums up all of them by device and cause.
	Idle       []timeline.IdleGap   `json:"idle"`
	IdleCauses *timeline.IdleCauses `json:"idle_causes"`
	// Launches is about the operations that the host is known to have launched on a device;
	// nil where there are none, and when the structure was not computed.
	Launches *launch.Launches `json:"launches,omitempty"`
	// Operators says which operators on the host launched the operations of devices; nil where none
	// is known, and when the structure was not computed.
	Operators *operators.Operators `json:"operators"`
	// CriticalPath divides the critical paths of all traces by operation, the
	// largest part first; PathTotals sums them up.
	CriticalPath []path.Share `json:"critical_path"`
	PathTotals   *path.Totals `json:"critical_path_totals"`
	// PathOperations divides them by operation alone, whatever the device; nil when the
	// structure was not computed.
	PathOperations []path.Operation `json:"critical_path_operations"`
	// SlowestRequest is the slowest request and what it waited for; nil where there is no
	// request with operations, and when the structure was not computed.
	SlowestRequest *requests.Slow `json:"slowest_request"`
	// Sequences has what short operations do one behind the other again and again; nil when
	// the structure was not computed.
	Sequences *sequences.Sequences `json:"sequences"`
	// Steps has a row per iteration, by service, step and run.
	Steps []steps.Row `json:"steps"`
	// Phases has a row per phase of the steps, the largest sum first; it is empty where no operation
	// has one. Steady is the part of Steps in which they take about the same time, nil for none. With
	// [Options.Steady] the figures are of that part, and Steady says what was left out.
	Phases []steps.Phase `json:"phases"`
	Steady *steps.Steady `json:"steady"`
	// Engines has the requests of which inference engines tell in spans that are no operations, by engine,
	// service and model or by the keys that were asked for; empty where there are none.
	Engines []engines.Engine `json:"engines"`
	// StatedSteps is how many operations state a step, those of the host's side aside;
	// not known where the structure was not computed.
	StatedSteps op.Int `json:"stated_steps"`
	// Utilisation is the use of the devices over time, Concurrency the number of
	// operations that they ran at once; nil when the structure was not computed.
	Utilisation *timeline.Utilisation        `json:"utilisation"`
	Concurrency []timeline.DeviceConcurrency `json:"concurrency"`

	// Clocks says how far the clocks of ranks are apart; nil unless [Options.AlignClocks] asked
	// for it.
	Clocks *clocks.Alignment `json:"clocks,omitempty"`

	// WithoutSuspects has figures without the operations whose times cannot be right; nil where there
	// are none, where the structure was not computed, and where it does not hold all operations.
	WithoutSuspects *WithoutSuspects `json:"without_suspects"`

	// LeftOut says why the figures that need the structure of the run are not known although
	// they were asked for; "" where they are known.
	LeftOut string `json:"left_out,omitempty"`

	// Forest is the structure that the report was computed from; nil unless
	// [Options.KeepForest] asked for it, and in a report that was decoded from JSON.
	Forest *trace.Forest `json:"-"`
}

// UnmarshalJSON reads the JSON form of a report. It is an error if its schema is another one.
func (r *Report) UnmarshalJSON(text []byte) error {
	type form Report // without this method
	var read form
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if read.Schema != Schema {
		return fmt.Errorf("reading a report: the schema is %q, want %q", read.Schema, Schema)
	}
	*r = Report(read)
	return nil
}

// Communication is about the entries of kind collective.
type Communication struct {
	// Rules counts the entries by how they were recognised.
	Rules profile.CommunicationRules `json:"rules"`
	// Bottlenecks has the operations whose part of the total reaches the
	// minimum, the largest first.
	Bottlenecks []seed.Bottleneck `json:"bottlenecks"`
	// Collectives has a row per collective and group, across the devices that
	// took part; nil when the structure was not computed.
	Collectives []collective.Row `json:"collectives"`
}

// Memory is about the memory of single entries, and copies.
type Memory struct {
	ThresholdBytes int64 `json:"threshold_bytes"`
	// HotspotCount is how many entries lie above the threshold.
	HotspotCount int64 `json:"hotspot_count"`
	// Hotspots has the first of them in input order.
	Hotspots []*op.Entry `json:"hotspots"`
	// Copies has a row per direction in which memory was copied.
	Copies []profile.Copy `json:"copies"`
	// OverTime is the memory written and held over time; nil when the structure
	// was not computed.
	OverTime *timeline.MemoryUse `json:"over_time"`
}
