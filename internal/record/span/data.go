// Package span is a finished span in the form of the plugin: its data, read once, the local root above it, and its
// clean form for other exporters. Operations of a Recorder have [Data] only; [Snapshot] makes a span of it.
package span

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Data is the content of a span. The SDK's spans copy themselves for each answer: Read asks each question once.
type Data struct {
	Name            string
	Context, Parent trace.SpanContext
	Kind            trace.SpanKind
	Start, End      time.Time
	Attrs           []attribute.KeyValue
	DroppedAttrs    int
	Events          []sdktrace.Event
	DroppedEvents   int
	Links           []sdktrace.Link
	DroppedLinks    int
	Status          sdktrace.Status
	Resource        *resource.Resource
	Scope           instrumentation.Scope
}

// Read returns the part of s needed for entries: all but the kind, the dropped count of events, and the events unless
// they may describe an error. The caller has the context and parent of s already.
func Read(s sdktrace.ReadOnlySpan, context, parent trace.SpanContext) Data {
	status := s.Status()
	var events []sdktrace.Event
	if status == (sdktrace.Status{Code: codes.Error}) {
		events = s.Events()
	}
	return Data{ // a result, not a parameter: no write barriers
		Name: s.Name(), Context: context, Parent: parent, Start: s.StartTime(), End: s.EndTime(),
		Attrs: s.Attributes(), DroppedAttrs: s.DroppedAttributes(), Links: s.Links(), DroppedLinks: s.DroppedLinks(),
		Status: status, Resource: s.Resource(), Scope: s.InstrumentationScope(), Events: events,
	}
}

// ReadAll returns all of s.
func ReadAll(s sdktrace.ReadOnlySpan, context, parent trace.SpanContext) Data {
	return Data{
		Name: s.Name(), Context: context, Parent: parent, Kind: s.SpanKind(), Start: s.StartTime(), End: s.EndTime(),
		Attrs: s.Attributes(), DroppedAttrs: s.DroppedAttributes(),
		Events: s.Events(), DroppedEvents: s.DroppedEvents(), Links: s.Links(), DroppedLinks: s.DroppedLinks(),
		Status: s.Status(), Resource: s.Resource(), Scope: s.InstrumentationScope(),
	}
}

// TraceID returns the id of the span's trace.
func (d *Data) TraceID() op.TraceID { return op.TraceID(d.Context.TraceID()) }

// SpanID returns the span's id.
func (d *Data) SpanID() op.SpanID { return op.SpanID(d.Context.SpanID()) }

// ParentID returns the id of the span's parent, zero for a root.
func (d *Data) ParentID() op.SpanID { return op.SpanID(d.Parent.SpanID()) }

// Failed reports whether the span's status is an error.
func (d *Data) Failed() bool { return d.Status.Code == codes.Error }

// IsOperation reports whether attributes make a span an operation under m.
func IsOperation(m *attr.Mapping, attrs []attribute.KeyValue) bool {
	p := attrmap.NewPredicate(m)
	for i := range attrs {
		if p.See(string(attrs[i].Key)) {
			return true
		}
	}
	return false
}

// EachElement calls f with each element of a list.
func EachElement(v attribute.Value, f func(attribute.Value)) {
	switch v.Type() {
	case attribute.BOOLSLICE:
		each(v.AsBoolSlice(), attribute.BoolValue, f)
	case attribute.INT64SLICE:
		each(v.AsInt64Slice(), attribute.Int64Value, f)
	case attribute.FLOAT64SLICE:
		each(v.AsFloat64Slice(), attribute.Float64Value, f)
	case attribute.STRINGSLICE:
		each(v.AsStringSlice(), attribute.StringValue, f)
	case attribute.SLICE:
		for _, e := range v.AsSlice() {
			f(e)
		}
	}
}

func each[T any](list []T, value func(T) attribute.Value, f func(attribute.Value)) {
	for _, e := range list {
		f(value(e))
	}
}

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

// Root is the local root span above an operation.
type Root struct {
	Name string
	ID   op.SpanID
}

// Ended is an ended span, or an operation of a Recorder.
type Ended struct {
	Span            sdktrace.ReadOnlySpan // nil for an operation of a Recorder until ReadOnly is called
	Data            *Data                 // the data of a Recorder's operation, valid during the call
	Context, Parent trace.SpanContext     // of the span
	Resource        *resource.Resource    // in place of the span's; nil for the span's own
	Root            Root                  // above the span; zero if unknown or the span itself
	Differs         bool                  // Context or Resource may differ from Span's
	Alone           bool                  // the trace has no other spans
}

// ReadOnly returns the span. For an operation of a Recorder it makes one.
func (e *Ended) ReadOnly() sdktrace.ReadOnlySpan {
	if e.Span == nil && e.Data != nil {
		e.Span = Snapshot(e.Data)
	}
	return e.Span
}

// Held returns the span with its recorded context and resource.
func (e *Ended) Held() sdktrace.ReadOnlySpan {
	if !e.Differs {
		return e.Span
	}
	return held{e.Span, e.Context, cmp.Or(e.Resource, e.Span.Resource())}
}

type held struct {
	sdktrace.ReadOnlySpan
	context  trace.SpanContext
	resource *resource.Resource
}

func (s held) SpanContext() trace.SpanContext { return s.context }
func (s held) Resource() *resource.Resource   { return s.resource }

// IsLocalRoot reports whether a span with the given parent has no parent in this process.
func IsLocalRoot(parent trace.SpanContext) bool { return !parent.IsValid() || parent.IsRemote() }
