package workload

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Span is a finished span.
type Span struct {
	Name string
	// Process is the number of the process that recorded it, from 0.
	Process int
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Parent is zero for the span of a step, which is a root.
	Parent trace.SpanID
	// Start and End are in Unix nanoseconds.
	Start, End int64
	// Op is nil for the spans of layers and steps.
	Op *Spec
}

// Attributes returns the span's attributes: none but for operations.
func (s *Span) Attributes() []attribute.KeyValue {
	if s.Op == nil {
		return nil
	}
	return s.Op.attrs
}

// The scopes of operations and of the spans above them.
const (
	LayerScope = "example.com/trainer"
	layerName  = "layer"
	stepName   = "train_step"
)

// ServiceName is that of all processes.
const ServiceName = "trainer"
