package findings

import (
	"encoding/json"

	"github.com/optrace/optrace/op"
)

// Kind is the kind of a finding.
type Kind string

// The kinds. Findings with equal savings are sorted in this order.
const (
	// Bound states the largest part of the time. Every input with operations has it.
	Bound Kind = "bound"
	// Operation is a slow operation of a device or of the host.
	Operation Kind = "operation"
	// HostGap is idle time of a device caused by the host.
	HostGap Kind = "host_gap"
	// Straggler is a device with others waiting for it, Imbalance a device with more work than others.
	Straggler Kind = "straggler"
	Imbalance Kind = "imbalance"
	// SlowRequest is a request slower than others of its name, or a queue of requests.
	SlowRequest Kind = "slow_request"
	// FirstStep is a first step or request slower than the others.
	FirstStep Kind = "first_step"
	// Launch is the time spent launching operations.
	Launch Kind = "launch"
	// SmallOperations are repeated sequences of short operations with gaps between them.
	SmallOperations Kind = "small_operations"
	// Copies are memory copies not hidden behind other work.
	Copies Kind = "copies"
	// Roofline is an operation far below the peak of its device.
	Roofline Kind = "roofline"
	// Suspect marks impossible times, Lost lost data, and NotUnderstood skipped records, possibly operations.
	Suspect       Kind = "suspect"
	Lost          Kind = "lost"
	NotUnderstood Kind = "not_understood"
	// failed marks operations with errors.
	failed Kind = "failed"
	// Change is the first finding of a comparison: the change of the whole run.
	Change Kind = "change"
	// Nothing marks an input without operations.
	Nothing Kind = "nothing"
)

var kinds = []Kind{
	Bound, Operation, HostGap, Straggler, Imbalance, SlowRequest, FirstStep, Launch, SmallOperations, Copies, Roofline,
	Suspect, Lost, NotUnderstood, failed, Nothing,
}

// Finding is one or two sentences about a run, with its figures.
type Finding struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
	// Rule names the rule of the finding: "coverage" for missing work, "clocks" for differing clocks of ranks.
	// docs/analyses.md lists the others.
	Rule string `json:"rule"`
	// SavedNS is the time saved without the cause, out of OfNS of the run or its requests, unknown if not estimated.
	SavedNS op.Int `json:"saved_ns"`
	OfNS    op.Int `json:"of_ns"`
	// SavedLowNS and SavedHighNS bound SavedNS, the expected gain; unknown without bounds.
	SavedLowNS  op.Int `json:"saved_low_ns"`
	SavedHighNS op.Int `json:"saved_high_ns"`
	// Evidence has the recorded figures and names behind the text.
	Evidence []Evidence `json:"evidence"`
	// Try suggests a change in one line. Advice is the path and the anchor of its paragraph, in docs/advice.md. Both are
	// null in JSON if there is none.
	Try    string `json:"try"`
	Advice string `json:"advice"`
	// Chance is the p-value of a comparison, unknown for other findings.
	Chance op.Float `json:"chance"`
	Where  Where    `json:"where"`
}

// MarshalJSON writes the finding with null for an empty Try and Advice, and [] without evidence.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return json.Marshal(struct {
		plain
		Evidence []Evidence `json:"evidence"`
		Try      *string    `json:"try"`
		Advice   *string    `json:"advice"`
	}{plain(f), append([]Evidence{}, f.Evidence...), text(f.Try), text(f.Advice)})
}

// Evidence is a figure or a name behind a finding. Value is an int64, a float64 or a string. Unit is "ns", "B", "B/s",
// "count" or "ratio", "" for a string.
type Evidence struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	Unit  string `json:"unit"`
}

// Where locates a finding. Fields without meaning for it are empty.
type Where struct {
	Section   string     `json:"section,omitempty"`
	Operation string     `json:"operation,omitempty"`
	DeviceID  string     `json:"device_id,omitempty"`
	Rank      op.Int     `json:"rank,omitzero"`
	TraceID   op.TraceID `json:"trace_id,omitzero"`
	SpanID    op.SpanID  `json:"span_id,omitzero"`
	FromNS    op.Int     `json:"from_unix_ns,omitzero"`
	ToNS      op.Int     `json:"to_unix_ns,omitzero"`
	// Command is the command line for more detail.
	Command string `json:"command,omitempty"`
}
