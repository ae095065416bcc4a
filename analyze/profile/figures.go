package profile

import (
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

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
	WallNS op.Int `json:"wall_ns"`
	// MemoryBytes is what the operations state or what follows from their outputs, CopiedBytes the part of it that
	// operations of kind memory copied or set, and PeakMemoryBytes the most of one; nil where none tells any.
	MemoryBytes     op.Int `json:"memory_bytes"`
	CopiedBytes     op.Int `json:"copied_bytes"`
	PeakMemoryBytes op.Int `json:"peak_memory_bytes"`
	FLOPs           int64  `json:"flops"`
	work.Figures
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
	SelfNS   op.Int `json:"self_ns"`
	Elements int64  `json:"elements"`
	// MemoryBytes is the size of the outputs, of kind memory what was copied or set; nil where no entry tells it.
	MemoryBytes op.Int `json:"memory_bytes"`
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

// Group is a row of the table by the keys that were asked for.
type Group struct {
	Key key.Group `json:"key"`
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
	MemoryBytes op.Int `json:"memory_bytes"` // nil where no entry tells it
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

// CommunicationRules counts entries by the rule that made them communication.
type CommunicationRules struct {
	// Attribute: tensor.op.kind or an attribute of the tensor.collective family.
	Attribute int64 `json:"attribute"`
	// Library: the name starts with that of a communication library.
	Library int64 `json:"library"`
	// Name: the name holds one of the seed's words.
	Name int64 `json:"name"`
}

// Copy sums up the copies in one direction.
type Copy struct {
	// Direction is HtoD, DtoH, DtoD or PtoP.
	Direction   string `json:"direction"`
	Count       int64  `json:"count"`
	SumNS       int64  `json:"sum_ns"`
	MemoryBytes op.Int `json:"memory_bytes"` // nil where no copy tells it
	// BytesPerSecond is over the copies whose size and duration are known; nil
	// when there are none.
	BytesPerSecond op.Float `json:"bytes_per_second"`
}
