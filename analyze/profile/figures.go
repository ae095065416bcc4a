package profile

import (
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

// Total sums up operations except the host's views.
type Total struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// StatedNS is the sum with stated totals of seed traces in place of their entries, if different. Shares then
	// refer to it.
	StatedNS op.Int `json:"stated_ns,omitzero"`
	// WallNS is the last end minus the first start; unknown without starts.
	WallNS op.Int `json:"wall_ns"`
	// MemoryBytes is the stated or derived memory, CopiedBytes its part copied or set by operations of kind memory,
	// and PeakMemoryBytes the largest memory of one operation; unknown if no operation has any.
	MemoryBytes     op.Int `json:"memory_bytes"`
	CopiedBytes     op.Int `json:"copied_bytes"`
	PeakMemoryBytes op.Int `json:"peak_memory_bytes"`
	FLOPs           int64  `json:"flops"`
	work.Figures
	Estimate
}

// Estimate holds figures extrapolated from sampled entries. It is known only if every entry has a sampling weight.
// All other figures cover the recorded entries only.
type Estimate struct {
	EstCount op.Float `json:"est_count,omitzero"`
	EstSumNS op.Float `json:"est_sum_ns,omitzero"`
}

// Percentiles describes the percentiles: nearest-rank durations from a sketch.
type Percentiles struct {
	Method string `json:"method"`
	// ExactUpTo is the largest number of entries in a group with exact percentiles.
	ExactUpTo int64 `json:"exact_up_to"`
	// RelativeError bounds the relative error of a percentile.
	RelativeError float64 `json:"relative_error"`
}

// Stats holds the statistics of a group of entries.
type Stats struct {
	// Kind is the kind of the entries, "mixed" if they differ.
	Kind string `json:"kind"`
	// Side is "host" for the host's views of device work and "" otherwise. A group has one side.
	Side   string  `json:"side,omitempty"`
	Count  int64   `json:"count"`
	SumNS  int64   `json:"sum_ns"`
	MeanNS float64 `json:"mean_ns"`
	MinNS  int64   `json:"min_ns"`
	MaxNS  int64   `json:"max_ns"`
	// StdNS is the sample standard deviation; unknown for a single entry.
	StdNS op.Float `json:"std_ns"`
	// Percentiles ignore entries that end before their start; they are unknown without other entries.
	P50NS op.Float `json:"p50_ns"`
	P90NS op.Float `json:"p90_ns"`
	P95NS op.Float `json:"p95_ns"`
	P99NS op.Float `json:"p99_ns"`
	// SelfNS is the time not covered by child operations; unknown without the structure.
	SelfNS op.Int `json:"self_ns"`
	// SelfShare is SelfNS as a part of the self times of all operations of its side. No time counts twice.
	SelfShare op.Float `json:"self_share"`
	Elements  int64    `json:"elements"`
	// MemoryBytes is the size of outputs, or the bytes copied or set by kind memory; unknown if no entry has any.
	MemoryBytes op.Int `json:"memory_bytes"`
	FLOPs       int64  `json:"flops"`
	Errors      int64  `json:"errors"`
	// Share is SumNS as a part of the total's SumNS or StatedNS; unknown for host rows and for a total of 0.
	Share op.Float `json:"share"`
	// Exemplar is the span of the slowest entry; nil without ids.
	Exemplar *Exemplar `json:"exemplar"`
	// Mixes lists the properties that differ among the entries and make means hard to compare: "shape", "dtype".
	Mixes []string `json:"mixes"`
	work.Figures
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

// Group is a row of the table by Options.By.
type Group struct {
	Key key.Group `json:"key"`
	Stats
}

// Device is a row of the devices table. The figures from SpanNS on are unknown without the structure and if no entry of
// the device has a start.
type Device struct {
	// DeviceID is the recorded id, "unknown" for entries without one.
	DeviceID string `json:"device_id"`
	// Named is set for a device called "unknown".
	Named bool `json:"named,omitzero"`
	// Service is the device's service if several services have a device of this name without a rank; "" otherwise.
	Service string `json:"service,omitempty"`
	// Host is the device's host if one service has devices of this name on several hosts without a rank; "" otherwise.
	Host        string `json:"host,omitempty"`
	Rank        op.Int `json:"rank"`
	Count       int64  `json:"count"`
	SumNS       int64  `json:"sum_ns"`
	MemoryBytes op.Int `json:"memory_bytes"` // unknown if no entry has any
	// SpanNS is the last end minus the first start: the sum of ComputeNS, ExposedCommunicationNS, ExposedMemoryNS,
	// OtherNS and IdleNS.
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
	// OverlapRatio is OverlapNS divided by CommunicationNS; unknown without communication.
	OverlapRatio op.Float `json:"overlap_ratio"`
}

// Balance is the load balance over devices, by sums of durations as in the seed's recorder and by busy time.
type Balance struct {
	seed.Balance
	// BusyImbalanceRatio is the imbalance of the devices' busy times; unknown unless all are known.
	BusyImbalanceRatio op.Float `json:"busy_imbalance_ratio"`
}

// CommunicationRules counts collectives by the rule that recognised them.
type CommunicationRules struct {
	// Attribute: tensor.op.kind or an attribute of the tensor.collective family.
	Attribute int64 `json:"attribute"`
	// Library: the name starts like a function of a communication library.
	Library int64 `json:"library"`
	// Name: the name contains one of the seed's words.
	Name int64 `json:"name"`
}

// Copy sums up the copies in one direction.
type Copy struct {
	// Direction is HtoD, DtoH, DtoD or PtoP.
	Direction   string `json:"direction"`
	Count       int64  `json:"count"`
	SumNS       int64  `json:"sum_ns"`
	MemoryBytes op.Int `json:"memory_bytes"` // unknown if no copy has any
	// BytesPerSecond covers copies with known size and duration; unknown without them.
	BytesPerSecond op.Float `json:"bytes_per_second"`
}
