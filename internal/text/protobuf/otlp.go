package protobuf

// The field numbers of OTLP's messages, from opentelemetry/proto/trace/v1, common/v1 and resource/v1. The name of the
// message is the prefix.
const (
	TracesResourceSpans = 1
	ProfilesDictionary  = 2

	ResourceSpansResource   = 1
	ResourceSpansScopeSpans = 2
	ResourceSpansSchemaURL  = 3

	ResourceAttributes        = 1
	ResourceDroppedAttributes = 2

	ScopeSpansScope     = 1
	ScopeSpansSpans     = 2
	ScopeSpansSchemaURL = 3

	ScopeName       = 1
	ScopeVersion    = 2
	ScopeAttributes = 3

	SpanTraceID           = 1
	SpanID                = 2
	SpanTraceState        = 3
	SpanParentID          = 4
	SpanName              = 5
	SpanKind              = 6
	SpanStart             = 7
	SpanEnd               = 8
	SpanAttributes        = 9
	SpanDroppedAttributes = 10
	SpanEvents            = 11
	SpanDroppedEvents     = 12
	SpanLinks             = 13
	SpanDroppedLinks      = 14
	SpanStatus            = 15
	SpanFlags             = 16

	EventTime              = 1
	EventName              = 2
	EventAttributes        = 3
	EventDroppedAttributes = 4

	LinkTraceID           = 1
	LinkSpanID            = 2
	LinkTraceState        = 3
	LinkAttributes        = 4
	LinkDroppedAttributes = 5
	LinkFlags             = 6

	StatusMessage = 2
	StatusCode    = 3

	KeyValueKey   = 1
	KeyValueValue = 2

	// AnyValue has one of these fields.
	AnyString = 1
	AnyBool   = 2
	AnyInt    = 3
	AnyDouble = 4
	AnyArray  = 5
	AnyMap    = 6
	AnyBytes  = 7

	ListValues = 1 // of ArrayValue and KeyValueList
)
