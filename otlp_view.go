package optrace

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// otlpView is a spanView of all that OTLP has a place for.
type otlpView struct {
	name              string
	context, parent   trace.SpanContext
	kind              trace.SpanKind
	start, end        time.Time
	attrs             []attribute.KeyValue
	droppedAttributes int
	events            []sdktrace.Event
	droppedEvents     int
	links             []sdktrace.Link
	droppedLinks      int
	status            sdktrace.Status
	resource          *resource.Resource
	scope             instrumentation.Scope
}

// read fills v in from s, whose context and parent have been asked for.
func (v *otlpView) read(s sdktrace.ReadOnlySpan, context, parent trace.SpanContext) {
	v.name, v.context, v.parent, v.kind = s.Name(), context, parent, s.SpanKind()
	v.start, v.end = s.StartTime(), s.EndTime()
	v.attrs, v.droppedAttributes = s.Attributes(), s.DroppedAttributes()
	v.events, v.droppedEvents = s.Events(), s.DroppedEvents()
	v.links, v.droppedLinks = s.Links(), s.DroppedLinks()
	v.status, v.resource, v.scope = s.Status(), s.Resource(), s.InstrumentationScope()
}
