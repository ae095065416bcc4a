package stacks

import (
	"cmp"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// Values are sums over the operations of a row. They stop at the largest int64. Negative values count as 0.
type Values struct {
	Count int64
	// TimeNS sums up durations minus the durations of the nearest operations below, each at least 0. SelfNS sums up
	// durations minus the time covered by operations below.
	TimeNS, SelfNS int64
	// Bytes and FLOPs are sums of stated values. FLOPs not stated are derived from shapes, as in reports.
	Bytes, FLOPs int64
}

// Add adds o.
func (v *Values) Add(o Values) {
	v.Count = wide.AddSaturating(v.Count, max(0, o.Count))
	v.TimeNS = wide.AddSaturating(v.TimeNS, max(0, o.TimeNS))
	v.SelfNS = wide.AddSaturating(v.SelfNS, max(0, o.SelfNS))
	v.Bytes = wide.AddSaturating(v.Bytes, max(0, o.Bytes))
	v.FLOPs = wide.AddSaturating(v.FLOPs, max(0, o.FLOPs))
}

// sub subtracts o, added before.
func (v *Values) sub(o Values) {
	v.Count = max(0, v.Count-o.Count)
	v.TimeNS = max(0, v.TimeNS-o.TimeNS)
	v.SelfNS = max(0, v.SelfNS-o.SelfNS)
	v.Bytes = max(0, v.Bytes-o.Bytes)
	v.FLOPs = max(0, v.FLOPs-o.FLOPs)
}

// Labels are properties of a row's operations beside their stack.
type Labels struct {
	// Device is the readable name of the device, "" for none.
	Device string
	Kind   op.Kind
	// Shape is their shapes and element type, "" if unknown.
	Shape    string
	Request  Request
	Producer Producer
}

// Producer is the process that recorded operations, as far as it is known. The zero value is unknown.
type Producer struct {
	Service string
	// Rank is the process in a distributed job. Host is set only for devices of operations without a rank.
	Rank op.Int
	Host string
}

// Compare orders producers by service, rank (unknown first), and host.
func (p Producer) Compare(o Producer) int {
	return cmp.Or(strings.Compare(p.Service, o.Service), order.Ints(p.Rank, o.Rank), strings.Compare(p.Host, o.Host))
}

// ProducerOf returns the producer of an operation.
func ProducerOf(e *op.Entry) Producer {
	p := Producer{Service: e.Service, Rank: e.Rank}
	if e.HasDevice() && !e.Rank.Known {
		p.Host = e.Host
	}
	return p
}

// Request is the request above operations, or their shared execution. The zero value is none.
type Request struct {
	Name string
	// TraceID and SpanID identify its span. They are zero for local traces.
	TraceID op.TraceID
	SpanID  op.SpanID
}
