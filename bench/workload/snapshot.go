package workload

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
)

// snapshot is a Span as the SDK would hand it to an exporter.
type snapshot struct {
	// ReadOnlySpan is nil: it is here for the method that keeps others from
	// implementing the interface.
	sdktrace.ReadOnlySpan

	span     Span
	resource *resource.Resource
}

func (s *snapshot) Name() string                     { return s.span.Name }
func (s *snapshot) SpanContext() trace.SpanContext   { return s.context(s.span.SpanID) }
func (s *snapshot) SpanKind() trace.SpanKind         { return trace.SpanKindInternal }
func (s *snapshot) StartTime() time.Time             { return time.Unix(0, s.span.Start) }
func (s *snapshot) EndTime() time.Time               { return time.Unix(0, s.span.End) }
func (s *snapshot) Links() []sdktrace.Link           { return nil }
func (s *snapshot) Events() []sdktrace.Event         { return nil }
func (s *snapshot) Status() sdktrace.Status          { return sdktrace.Status{} }
func (s *snapshot) Resource() *resource.Resource     { return s.resource }
func (s *snapshot) DroppedAttributes() int           { return 0 }
func (s *snapshot) DroppedLinks() int                { return 0 }
func (s *snapshot) DroppedEvents() int               { return 0 }
func (s *snapshot) ChildSpanCount() int              { return 0 }
func (s *snapshot) Attributes() []attribute.KeyValue { return s.span.Attributes() }

func (s *snapshot) Parent() trace.SpanContext {
	if !s.span.Parent.IsValid() {
		return trace.SpanContext{}
	}
	return s.context(s.span.Parent)
}

func (s *snapshot) InstrumentationScope() instrumentation.Scope {
	if s.span.Op == nil {
		return instrumentation.Scope{Name: LayerScope}
	}
	return instrumentation.Scope{Name: optrace.ScopeName, Version: optrace.Version}
}

// InstrumentationLibrary is part of the interface, deprecated there.
func (s *snapshot) InstrumentationLibrary() instrumentation.Scope { return s.InstrumentationScope() }

func (s *snapshot) context(id trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.span.TraceID, SpanID: id, TraceFlags: trace.FlagsSampled})
}
