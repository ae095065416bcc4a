package analyze

import (
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/seed"
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
	Total Total    `json:"total"`
	// Peaks has the peaks of devices that rooflines were made of; nil for none.
	Peaks []peaks.Device `json:"peaks,omitempty"`
	// Percentiles describes the estimation of the percentiles.
	Percentiles Percentiles `json:"percentiles"`
	// Operations has a row per operation and side, the largest sum first.
	Operations []Operation `json:"operations"`
	// By names the keys of Groups; it is empty when no grouping was asked for.
	By []string `json:"by,omitempty"`
	// Groups has a row per combination of the keys, the largest sum first; nil
	// when no grouping was asked for.
	Groups []Group `json:"groups"`
	// Devices has a row per rank and device, or service and device, the largest sum
	// first.
	Devices []Device `json:"devices"`
	// LoadBalance is nil for fewer than two devices.
	LoadBalance   *Balance      `json:"load_balance"`
	Communication Communication `json:"communication"`
	Memory        Memory        `json:"memory"`
	// Slowest has the entries of the longest durations, longest first, in input
	// order where durations are equal.
	Slowest []*op.Entry `json:"slowest"`
	// Idle has the longest times in which a device had nothing to do, longest
	// first; IdleCauses sums up all of them by device and cause.
	Idle       []IdleGap   `json:"idle"`
	IdleCauses *IdleCauses `json:"idle_causes"`
	// Launches is about the operations that the host is known to have launched on a device;
	// nil where there are none, and when the structure was not computed.
	Launches *Launches `json:"launches,omitempty"`
	// CriticalPath divides the critical paths of all traces by operation, the
	// largest part first; PathTotals sums them up.
	CriticalPath []PathShare `json:"critical_path"`
	PathTotals   *PathTotals `json:"critical_path_totals"`
	// PathOperations divides them by operation alone, whatever the device; nil when the
	// structure was not computed.
	PathOperations []PathOperation `json:"critical_path_operations"`
	// SlowestRequest is the slowest request and what it waited for; nil where there is no
	// request with operations, and when the structure was not computed.
	SlowestRequest *SlowRequest `json:"slowest_request"`
	// Sequences has what short operations do one behind the other again and again; nil when
	// the structure was not computed.
	Sequences *Sequences `json:"sequences"`
	// Steps has a row per iteration, by service, step and run.
	Steps []Step `json:"steps"`
	// StatedSteps is how many operations state a step, those of the host's side aside;
	// not known where the structure was not computed.
	StatedSteps op.Int `json:"stated_steps"`
	// Utilisation is the use of the devices over time, Concurrency the number of
	// operations that they ran at once; nil when the structure was not computed.
	Utilisation *Utilisation        `json:"utilisation"`
	Concurrency []DeviceConcurrency `json:"concurrency"`

	// Clocks says how far the clocks of ranks are apart; nil unless [Options.AlignClocks] asked
	// for it.
	Clocks *Clocks `json:"clocks,omitempty"`

	// WithoutSuspects has figures without the operations whose times cannot be right; nil where there
	// are none, where the structure was not computed, and where it does not hold all operations.
	WithoutSuspects *WithoutSuspects `json:"without_suspects"`

	// LeftOut says why the figures that need the structure of the run are not known although
	// they were asked for; "" where they are known.
	LeftOut string `json:"left_out,omitempty"`

	// Forest is the structure that the report was computed from; nil unless
	// [Options.KeepForest] asked for it, and in a report that was decoded from JSON.
	Forest *Forest `json:"-"`
}

// IdleCauses sums up the idle time of each device by cause.
type IdleCauses struct {
	// ThresholdNS is up to where a gap counts as queueing.
	ThresholdNS int64 `json:"threshold_ns"`
	// Devices has a row per device that idled, by rank and name.
	Devices []IdleDevice `json:"devices"`
}

// PathTotals sums up the critical paths.
type PathTotals struct {
	// Paths is how many there are, DurationNS the sum of their durations.
	Paths      int64 `json:"paths"`
	DurationNS int64 `json:"duration_ns"`
	// BoundBy divides DurationNS by the kind of work on the paths.
	BoundBy BoundBy `json:"bound_by"`
	// Edges says where the order on the paths was taken from.
	Edges PathEdges `json:"edges"`
	// NoIDs is the number of operations and spans without a trace id, NoStart the
	// number of traces whose roots have no start: they have no path.
	NoIDs   int64 `json:"no_ids"`
	NoStart int64 `json:"no_start"`
}

// Total sums up the operations that ran on devices or have no side: an
// operation's host side is not counted again.
type Total struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// StatedNS is the sum with the totals of seed traces in place of those of their
	// entries, where they differ; shares are parts of it then.
	StatedNS op.Int `json:"stated_ns,omitzero"`
	// WallNS is the last end minus the first start; nil when no entry has a
	// start.
	WallNS          op.Int `json:"wall_ns"`
	MemoryBytes     int64  `json:"memory_bytes"`
	PeakMemoryBytes int64  `json:"peak_memory_bytes"`
	FLOPs           int64  `json:"flops"`
	Work
	Estimate
}

// Estimate holds figures extrapolated from sampled entries. It is known only
// when every entry carries its sampling weight, and it is an estimate: the
// other figures are always those of the entries themselves.
type Estimate struct {
	EstCount op.Float `json:"est_count,omitzero"`
	EstSumNS op.Float `json:"est_sum_ns,omitzero"`
}

// Percentiles describes the percentiles: durations of nearest rank, from a sketch.
type Percentiles struct {
	Method string `json:"method"`
	// ExactUpTo is up to how many entries of a group they are exact.
	ExactUpTo int64 `json:"exact_up_to"`
	// RelativeError bounds how far a percentile lies from the true one, as a
	// share of the true one.
	RelativeError float64 `json:"relative_error"`
}

// Stats are the statistics of a group of entries.
type Stats struct {
	// Kind is the kind of the entries, "mixed" where they differ.
	Kind string `json:"kind"`
	// Side is "host" for entries that are the host's view of device work, ""
	// for all others. A group never holds both.
	Side   string  `json:"side,omitempty"`
	Count  int64   `json:"count"`
	SumNS  int64   `json:"sum_ns"`
	MeanNS float64 `json:"mean_ns"`
	MinNS  int64   `json:"min_ns"`
	MaxNS  int64   `json:"max_ns"`
	// StdNS is the sample standard deviation; nil for a single entry.
	StdNS op.Float `json:"std_ns"`
	// The percentiles leave out entries whose end lies before their start; they
	// are nil when no others are left.
	P50NS op.Float `json:"p50_ns"`
	P90NS op.Float `json:"p90_ns"`
	P95NS op.Float `json:"p95_ns"`
	P99NS op.Float `json:"p99_ns"`
	// SelfNS is the time not covered by child operations; nil when the structure
	// was not computed.
	SelfNS      op.Int `json:"self_ns"`
	Elements    int64  `json:"elements"`
	MemoryBytes int64  `json:"memory_bytes"`
	FLOPs       int64  `json:"flops"`
	Errors      int64  `json:"errors"`
	// Share is SumNS as a part of the total's, or of its StatedNS; nil for host-side rows and where
	// the total is 0.
	Share op.Float `json:"share"`
	// Exemplar is the slowest entry's span; nil when that has no ids.
	Exemplar *Exemplar `json:"exemplar"`
	// Mixes names the properties that differ among the entries and make their mean
	// hard to compare: "shape", "dtype".
	Mixes []string `json:"mixes"`
	Work
	Estimate
}

// Exemplar identifies one span.
type Exemplar struct {
	TraceID op.TraceID `json:"trace_id"`
	SpanID  op.SpanID  `json:"span_id"`
}

// Operation is a row of the operations table.
type Operation struct {
	Operation string `json:"operation"`
	Stats
}

// Group is a row of the table by the keys that were asked for.
type Group struct {
	Key GroupKey `json:"key"`
	Stats
}

// Device is a row of the devices table. The figures from SpanNS on are nil
// when the structure was not computed or no entry of the device has a start.
type Device struct {
	// DeviceID is the id as recorded, "unknown" for entries without one.
	DeviceID string `json:"device_id"`
	// Named is set for a device that is called "unknown".
	Named bool `json:"named,omitzero"`
	// Service is the service that the device belongs to, where several have a device
	// of the name and state no rank; "" otherwise.
	Service string `json:"service,omitempty"`
	// Host is the host of the device, where one service has several of the name on
	// different hosts and states no rank; "" otherwise.
	Host        string `json:"host,omitempty"`
	Rank        op.Int `json:"rank"`
	Count       int64  `json:"count"`
	SumNS       int64  `json:"sum_ns"`
	MemoryBytes int64  `json:"memory_bytes"`
	// SpanNS is the last end minus the first start. ComputeNS,
	// ExposedCommunicationNS, ExposedMemoryNS, OtherNS and IdleNS add up to it.
	SpanNS                 op.Int `json:"span_ns"`
	BusyNS                 op.Int `json:"busy_ns"`
	ComputeNS              op.Int `json:"compute_ns"`
	ExposedCommunicationNS op.Int `json:"exposed_communication_ns"`
	ExposedMemoryNS        op.Int `json:"exposed_memory_ns"`
	OtherNS                op.Int `json:"other_ns"`
	IdleNS                 op.Int `json:"idle_ns"`
	CommunicationNS        op.Int `json:"communication_ns"`
	MemoryNS               op.Int `json:"memory_ns"`
	OverlapNS              op.Int `json:"overlap_ns"`
	// OverlapRatio is OverlapNS by CommunicationNS; nil when the device did not
	// communicate.
	OverlapRatio op.Float `json:"overlap_ratio"`
}

// Balance is the load balance over the devices, from the sums of durations as
// the seed's recorder computes it and from busy time.
type Balance struct {
	seed.Balance
	// BusyImbalanceRatio is the imbalance of the devices' busy times; nil when
	// they are not all known.
	BusyImbalanceRatio op.Float `json:"busy_imbalance_ratio"`
}

// Communication is about the entries of kind collective.
type Communication struct {
	// Rules counts the entries by how they were recognised.
	Rules CommunicationRules `json:"rules"`
	// Bottlenecks has the operations whose part of the total reaches the
	// minimum, the largest first.
	Bottlenecks []seed.Bottleneck `json:"bottlenecks"`
	// Collectives has a row per collective and group, across the devices that
	// took part; nil when the structure was not computed.
	Collectives []CollectiveRow `json:"collectives"`
}

// CommunicationRules counts entries by the rule that made them communication.
type CommunicationRules struct {
	// Attribute: tensor.op.kind or an attribute of the tensor.collective family.
	Attribute int64 `json:"attribute"`
	// Library: the name starts with that of a communication library.
	Library int64 `json:"library"`
	// Name: the name holds one of the seed's words.
	Name int64 `json:"name"`
}

// Memory is about the memory of single entries, and copies.
type Memory struct {
	ThresholdBytes int64 `json:"threshold_bytes"`
	// HotspotCount is how many entries lie above the threshold.
	HotspotCount int64 `json:"hotspot_count"`
	// Hotspots has the first of them in input order.
	Hotspots []*op.Entry `json:"hotspots"`
	// Copies has a row per direction in which memory was copied.
	Copies []Copy `json:"copies"`
	// OverTime is the memory written and held over time; nil when the structure
	// was not computed.
	OverTime *MemoryUse `json:"over_time"`
}

// Copy sums up the copies in one direction.
type Copy struct {
	// Direction is HtoD, DtoH, DtoD or PtoP.
	Direction   string `json:"direction"`
	Count       int64  `json:"count"`
	SumNS       int64  `json:"sum_ns"`
	MemoryBytes int64  `json:"memory_bytes"`
	// BytesPerSecond is over the copies whose size and duration are known; nil
	// when there are none.
	BytesPerSecond op.Float `json:"bytes_per_second"`
}
