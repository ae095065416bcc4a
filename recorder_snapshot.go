package optrace

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/shapes"
)

// snapshot returns an operation as a finished span.
func (r *Recorder) snapshot(
	cache *shapes.Cache, o *recordedOp, parent trace.SpanContext, traceID trace.TraceID, res *resource.Resource,
) sdktrace.ReadOnlySpan {
	return &recordedSpan{
		name: o.spanName(), parent: parent, resource: res,
		context: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: traceID, SpanID: newSpanID(),
			TraceFlags: parent.TraceFlags() | trace.FlagsSampled, TraceState: parent.TraceState(),
		}),
		start: r.time(o.start), end: r.time(o.end),
		attrs: slices.Clone(r.attributes(cache, o)), status: o.status(),
	}
}

// spanName returns the name of the operation's span.
func (o *recordedOp) spanName() string {
	if o.prep != nil {
		return o.prep.name
	}
	return o.name
}

// status returns the status of the operation's span.
func (o *recordedOp) status() sdktrace.Status {
	if o.failure == nil {
		return sdktrace.Status{}
	}
	return sdktrace.Status{Code: codes.Error, Description: o.failure.Error()}
}

// recordedSpan is a finished span that no tracer has made.
type recordedSpan struct {
	// ReadOnlySpan is nil: it is here for the method that keeps others from
	// implementing the interface.
	sdktrace.ReadOnlySpan

	name            string
	context, parent trace.SpanContext
	start, end      time.Time
	attrs           []attribute.KeyValue
	status          sdktrace.Status
	resource        *resource.Resource
}

func (s *recordedSpan) Name() string                     { return s.name }
func (s *recordedSpan) SpanContext() trace.SpanContext   { return s.context }
func (s *recordedSpan) Parent() trace.SpanContext        { return s.parent }
func (s *recordedSpan) SpanKind() trace.SpanKind         { return trace.SpanKindInternal }
func (s *recordedSpan) StartTime() time.Time             { return s.start }
func (s *recordedSpan) EndTime() time.Time               { return s.end }
func (s *recordedSpan) Attributes() []attribute.KeyValue { return s.attrs }
func (s *recordedSpan) Links() []sdktrace.Link           { return nil }
func (s *recordedSpan) Events() []sdktrace.Event         { return nil }
func (s *recordedSpan) Status() sdktrace.Status          { return s.status }
func (s *recordedSpan) Resource() *resource.Resource     { return s.resource }
func (s *recordedSpan) DroppedAttributes() int           { return 0 }
func (s *recordedSpan) DroppedLinks() int                { return 0 }
func (s *recordedSpan) DroppedEvents() int               { return 0 }
func (s *recordedSpan) ChildSpanCount() int              { return 0 }

func (s *recordedSpan) InstrumentationScope() instrumentation.Scope {
	return instrumentation.Scope{Name: ScopeName, Version: Version}
}

// InstrumentationLibrary is part of the interface, deprecated there.
func (s *recordedSpan) InstrumentationLibrary() instrumentation.Scope {
	return s.InstrumentationScope()
}
