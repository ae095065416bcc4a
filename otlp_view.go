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

func otlpViewOf(f finished) otlpView {
	s := f.span
	return otlpView{
		name: s.Name(), context: f.context, parent: f.parent, kind: s.SpanKind(),
		start: s.StartTime(), end: s.EndTime(),
		attrs: s.Attributes(), droppedAttributes: s.DroppedAttributes(),
		events: s.Events(), droppedEvents: s.DroppedEvents(),
		links: s.Links(), droppedLinks: s.DroppedLinks(),
		status: s.Status(), resource: s.Resource(), scope: s.InstrumentationScope(),
	}
}
