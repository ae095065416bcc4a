package analyze

import (
	"encoding/json"
	"fmt"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/headline"
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

// Schema names the report's JSON form and its major version. Later versions only add keys.
const Schema = "optrace.report/v1"

// Report holds the figures of an input as plain values in their final order. Its JSON form is optrace.report/v1.
//
// An unknown figure is an [op.Int] or [op.Float] with Known false, and null in JSON. Pointers and lists are nil in
// sections that were not computed; computed lists are empty instead.
//
// Rendering a report does not change it. Concurrent reads are safe.
type Report struct {
	Schema string `json:"schema"`
	// Input describes the input.
	Input Envelope `json:"input"`
	// Coverage counts the work of the run and how much of it the input has; nil without the structure, with a
	// filter and for the steady state alone.
	Coverage *launch.Coverage `json:"coverage"`
	// Headline has the devices, the busy share, the time of a step or request and the share of the peak; nil without the
	// structure and without operations.
	Headline *headline.Headline `json:"headline"`
	// Findings are the causes of lost time and possible gains, most important first; nil without the structure.
	Findings []findings.Finding `json:"findings"`
	Total    profile.Total      `json:"total"`
	// ExtentNS is the time from the first start to the last end of all records, including the host's side and all
	// spans; unknown without the structure.
	ExtentNS op.Int `json:"extent_ns"`
	// Peaks has the device peaks used for rooflines, of Options.Peaks or of the models that the input names; nil for none.
	Peaks []peaks.Device `json:"peaks,omitempty"`
	// Percentiles describes how percentiles are estimated.
	Percentiles profile.Percentiles `json:"percentiles"`
	// Operations has a row per operation and side, largest sum first.
	Operations []profile.Operation `json:"operations"`
	// By names the keys of Groups; empty without grouping.
	By []string `json:"by,omitempty"`
	// Groups has a row per combination of the keys, largest sum first; nil without grouping.
	Groups []profile.Group `json:"groups"`
	// Devices has a row per rank and device, or service and device, largest sum first.
	Devices []profile.Device `json:"devices"`
	// LoadBalance is nil for fewer than two devices.
	LoadBalance   *profile.Balance `json:"load_balance"`
	Communication Communication    `json:"communication"`
	Memory        Memory           `json:"memory"`
	// Slowest has the longest entries, longest first. Equal durations are in input order.
	Slowest []*op.Entry `json:"slowest"`
	// Errors has a row per error text and operation, largest count first. Its counts add up to the errors of
	// Operations. SpanErrors has the same for other spans, such as requests; nil without the structure.
	Errors     []profile.Error `json:"errors"`
	SpanErrors []profile.Error `json:"span_errors"`
	// Idle has the longest idle gaps of devices, longest first. IdleCauses sums up all gaps by device and cause.
	Idle       []timeline.IdleGap   `json:"idle"`
	IdleCauses *timeline.IdleCauses `json:"idle_causes"`
	// IdlePlaces sums up all gaps by the work around them, largest sum first; nil without the structure.
	IdlePlaces []timeline.Place `json:"idle_places"`
	// Launches describes operations launched on a device by the host; nil if no launches are known and without the
	// structure.
	Launches *launch.Launches `json:"launches,omitempty"`
	// Operators attributes device operations to the launching operators on the host; nil if no launchers are known
	// and without the structure.
	Operators *operators.Operators `json:"operators"`
	// CriticalPath divides the critical paths of all traces by operation and device, largest part first.
	// PathTotals sums them up.
	CriticalPath []path.Share `json:"critical_path"`
	PathTotals   *path.Totals `json:"critical_path_totals"`
	// PathOperations divides the critical paths by operation across devices; nil without the structure.
	PathOperations []path.Operation `json:"critical_path_operations"`
	// SlowestRequest explains the slowest request; nil if no request has operations and without the structure.
	SlowestRequest *requests.Slow `json:"slowest_request"`
	// Sequences has the repeated sequences of short operations; nil without the structure.
	Sequences *sequences.Sequences `json:"sequences"`
	// Steps has a row per iteration, by service, step and run.
	Steps []steps.Row `json:"steps"`
	// Phases has a row per phase of the steps, largest sum first; empty if no operation has a phase.
	// Steady is the range of Steps with a stable duration, nil for none. With [Options.Steady] the figures cover this
	// range, and Steady says what was left out.
	Phases []steps.Phase `json:"phases"`
	// Pipeline is the use of a pipeline by its microbatches, nil without one.
	Pipeline *steps.Pipeline `json:"pipeline,omitzero"`
	Steady   *steps.Steady   `json:"steady"`
	// Engines has the requests reported by inference engines in spans, by engine, service and model or by the keys
	// in Options.By; empty if there are no requests.
	Engines []engines.Engine `json:"engines"`
	// StatedSteps counts device operations with a stated step; unknown without the structure.
	StatedSteps op.Int `json:"stated_steps"`
	// Utilisation is the use of the devices over time. Concurrency is the number of operations running at once.
	// Both are nil without the structure.
	Utilisation *timeline.Utilisation        `json:"utilisation"`
	Concurrency []timeline.DeviceConcurrency `json:"concurrency"`

	// Clocks has the clock offsets of ranks; nil without [Options.AlignClocks].
	Clocks *clocks.Alignment `json:"clocks,omitempty"`

	// WithoutSuspects has figures without operations whose times cannot be right. It is nil if there are no suspects,
	// without the structure, and if the structure does not hold all operations.
	WithoutSuspects *WithoutSuspects `json:"without_suspects"`

	// LeftOut explains why figures that need the structure are unknown although they were wanted; "" otherwise.
	LeftOut string `json:"left_out,omitempty"`

	// Forest is the structure of the run; nil without [Options.KeepForest] and after decoding from JSON.
	Forest *trace.Forest `json:"-"`
}

// UnmarshalJSON reads the JSON form of a report. It returns an error for any other schema.
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

// Communication describes entries of kind collective.
type Communication struct {
	// Rules counts the entries by the rule that recognised them.
	Rules profile.CommunicationRules `json:"rules"`
	// Bottlenecks has the operations whose share of the total reaches Options.MinCommunicationRatio, largest first.
	Bottlenecks []seed.Bottleneck `json:"bottlenecks"`
	// Collectives has a row per collective and group, across its devices; nil without the structure.
	Collectives []collective.Row `json:"collectives"`
}

// Memory describes the memory of single entries, and copies.
type Memory struct {
	ThresholdBytes int64 `json:"threshold_bytes"`
	// HotspotCount is the number of entries above the threshold.
	HotspotCount int64 `json:"hotspot_count"`
	// Hotspots has the first hotspots in input order.
	Hotspots []*op.Entry `json:"hotspots"`
	// Copies has a row per direction of copies.
	Copies []profile.Copy `json:"copies"`
	// OverTime is the memory written and held over time; nil without the structure.
	OverTime *timeline.MemoryUse `json:"over_time"`
}
