package stacks

import (
	"cmp"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// Values are what the operations of a row took. A sum that does not fit is the
// largest int64, and a negative value counts as 0.
type Values struct {
	// Count is the number of operations.
	Count int64
	// TimeNS is the sum of their durations, each without the durations of the operations directly below it, and not
	// below 0. SelfNS is the sum of their durations without the time that the operations below them cover.
	TimeNS, SelfNS int64
	// Bytes and FLOPs are sums of what the operations state; FLOPs that they do not state
	// follow from their shapes, as in reports.
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

// sub takes o away, which was added before.
func (v *Values) sub(o Values) {
	v.Count = max(0, v.Count-o.Count)
	v.TimeNS = max(0, v.TimeNS-o.TimeNS)
	v.SelfNS = max(0, v.SelfNS-o.SelfNS)
	v.Bytes = max(0, v.Bytes-o.Bytes)
	v.FLOPs = max(0, v.FLOPs-o.FLOPs)
}

// Labels say about the operations of a row what their stack does not.
type Labels struct {
	// Device is the device that they ran on, as people read it; "" for none.
	Device string
	Kind   op.Kind
	// Shape is their shapes and element type; "" where these are not known.
	Shape    string
	Request  Request
	Producer Producer
}

// Producer is who recorded operations, as far as it is known of each of them and tells them
// apart; the zero value is nobody known.
type Producer struct {
	Service string
	// Rank is the process in a distributed job; Host is that of operations on devices which
	// state none.
	Rank op.Int
	Host string
}

// Compare orders producers by service, rank, an unknown one first, and host.
func (p Producer) Compare(o Producer) int {
	return cmp.Or(strings.Compare(p.Service, o.Service), order.Ints(p.Rank, o.Rank), strings.Compare(p.Host, o.Host))
}

// ProducerOf returns who recorded an operation.
func ProducerOf(e *op.Entry) Producer {
	p := Producer{Service: e.Service, Rank: e.Rank}
	if e.HasDevice() && !e.Rank.Known {
		p.Host = e.Host
	}
	return p
}

// Request is the span that operations worked for: the request above them, or the
// shared execution, which works for several requests. The zero value is none.
type Request struct {
	Name string
	// TraceID and SpanID are those of its span, zero where nothing else knows them.
	TraceID op.TraceID
	SpanID  op.SpanID
}
