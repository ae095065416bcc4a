package span

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Snapshot returns a finished span with a copy of the data.
func Snapshot(d *Data) sdktrace.ReadOnlySpan {
	s := &snapshot{data: *d}
	s.data.Attrs = slices.Clone(d.Attrs)
	return s
}

type snapshot struct {
	sdktrace.ReadOnlySpan // nil, embedded for the interface's unexported method
	data                  Data
}

func (s *snapshot) Name() string                                { return s.data.Name }
func (s *snapshot) SpanContext() trace.SpanContext              { return s.data.Context }
func (s *snapshot) Parent() trace.SpanContext                   { return s.data.Parent }
func (s *snapshot) SpanKind() trace.SpanKind                    { return s.data.Kind }
func (s *snapshot) StartTime() time.Time                        { return s.data.Start }
func (s *snapshot) EndTime() time.Time                          { return s.data.End }
func (s *snapshot) Attributes() []attribute.KeyValue            { return s.data.Attrs }
func (s *snapshot) DroppedAttributes() int                      { return s.data.DroppedAttrs }
func (s *snapshot) Events() []sdktrace.Event                    { return s.data.Events }
func (s *snapshot) DroppedEvents() int                          { return s.data.DroppedEvents }
func (s *snapshot) Links() []sdktrace.Link                      { return s.data.Links }
func (s *snapshot) DroppedLinks() int                           { return s.data.DroppedLinks }
func (s *snapshot) Status() sdktrace.Status                     { return s.data.Status }
func (s *snapshot) Resource() *resource.Resource                { return s.data.Resource }
func (s *snapshot) InstrumentationScope() instrumentation.Scope { return s.data.Scope }
func (s *snapshot) ChildSpanCount() int                         { return 0 }

// InstrumentationLibrary is a deprecated method of the interface.
func (s *snapshot) InstrumentationLibrary() instrumentation.Scope { return s.data.Scope }
