package spans

// message reads the fields of a message, and of those in it, one after the other. Its
// encodings are [wire] and [jsonMessage]. The first error is kept, and from then on every
// call returns zero values.
//
//	for outer := m.open(); m.more(outer, linkSchema); {
//		switch m.number() {
//		case fieldLinkTraceID:
//			m.id(id[:])
//		…
//		default:
//			m.skip()
//		}
//	}
type message interface {
	// reset makes text the message to be opened next.
	reset(text []byte)
	// open goes into the message that is the value of the current field, and returns what
	// more needs to leave it.
	open() (outer int)
	// more goes to the next field that the schema has, and reports whether there is one.
	more(outer int, s schema) bool
	// number returns the number of the current field.
	number() int
	// failure returns the first error.
	failure() error

	// What follows reads the value of the current field. What is not of the type is passed
	// over and is not ok; null in JSON is for null to pass over.

	null() bool
	skip()
	// element goes to the next element of a list, and reports whether there is one.
	element(first bool) bool
	// bytes returns a string, valid until the next call.
	bytes() []byte
	// base64 appends what a field of bytes has in JSON.
	base64(dst []byte) (text []byte, ok bool)
	// id reads an id. None is ok and zeros.
	id(dst []byte) (ok bool)
	integer() (int64, bool)
	double() (float64, bool)
	boolean() (v, ok bool)
	// count and flags read a number of 32 bits.
	count() int64
	flags() uint32
	// time reads nanoseconds. What is not ok is 0.
	time() (ns uint64, ok bool)
	// enum reads a number that may be given by its name.
	enum(names []string) int64
	// key returns the key of an attribute that stands behind its value, which is current.
	key() []byte
}

// schema returns the number of a message's field by its name in JSON, 0 for a field that
// is passed over.
type schema func(name []byte) int

// The field numbers of the messages, from opentelemetry/proto/trace/v1 and
// common/v1.
const (
	FieldResourceSpans = 1 // of TracesData
	FieldDictionary    = 2 // of ProfilesData, which is like TracesData otherwise
	FieldHeader        = 1 // the resource of ResourceSpans, the scope of ScopeSpans
	FieldList          = 2 // the scope_spans of ResourceSpans, the spans of ScopeSpans

	fieldResourceAttributes = 1
	fieldScopeName          = 1
	fieldScopeVersion       = 2
	fieldScopeAttributes    = 3

	fieldSpanTraceID    = 1
	fieldSpanID         = 2
	fieldSpanTraceState = 3
	fieldSpanParentID   = 4
	fieldSpanName       = 5
	fieldSpanKind       = 6
	fieldSpanStart      = 7
	fieldSpanEnd        = 8
	fieldSpanAttributes = 9
	fieldSpanDropped    = 10
	fieldSpanEvents     = 11
	fieldDroppedEvents  = 12
	fieldSpanLinks      = 13
	fieldDroppedLinks   = 14
	fieldSpanStatus     = 15
	fieldSpanFlags      = 16

	fieldLinkTraceID    = 1
	fieldLinkSpanID     = 2
	fieldLinkState      = 3
	fieldLinkAttributes = 4
	fieldLinkDropped    = 5
	fieldLinkFlags      = 6

	fieldEventTime       = 1
	fieldEventName       = 2
	fieldEventAttributes = 3
	fieldEventDropped    = 4

	fieldStatusMessage = 2
	fieldStatusCode    = 3

	fieldKey   = 1
	fieldValue = 2

	fieldString = 1
	fieldBool   = 2
	fieldInt    = 3
	fieldDouble = 4
	fieldArray  = 5
	fieldMap    = 6
	fieldBytes  = 7

	fieldValues = 1 // of arrays and maps
)

func spanSchema(name []byte) int {
	switch string(name) {
	case "traceId", "trace_id":
		return fieldSpanTraceID
	case "spanId", "span_id":
		return fieldSpanID
	case "traceState", "trace_state":
		return fieldSpanTraceState
	case "parentSpanId", "parent_span_id":
		return fieldSpanParentID
	case "name":
		return fieldSpanName
	case "kind":
		return fieldSpanKind
	case "startTimeUnixNano", "start_time_unix_nano":
		return fieldSpanStart
	case "endTimeUnixNano", "end_time_unix_nano":
		return fieldSpanEnd
	case "attributes":
		return fieldSpanAttributes
	case "droppedAttributesCount", "dropped_attributes_count":
		return fieldSpanDropped
	case "events":
		return fieldSpanEvents
	case "droppedEventsCount", "dropped_events_count":
		return fieldDroppedEvents
	case "links":
		return fieldSpanLinks
	case "droppedLinksCount", "dropped_links_count":
		return fieldDroppedLinks
	case "status":
		return fieldSpanStatus
	case "flags":
		return fieldSpanFlags
	}
	return 0
}

func linkSchema(name []byte) int {
	switch string(name) {
	case "traceId", "trace_id":
		return fieldLinkTraceID
	case "spanId", "span_id":
		return fieldLinkSpanID
	case "traceState", "trace_state":
		return fieldLinkState
	case "attributes":
		return fieldLinkAttributes
	case "droppedAttributesCount", "dropped_attributes_count":
		return fieldLinkDropped
	case "flags":
		return fieldLinkFlags
	}
	return 0
}

func eventSchema(name []byte) int {
	switch string(name) {
	case "timeUnixNano", "time_unix_nano":
		return fieldEventTime
	case "name":
		return fieldEventName
	case "attributes":
		return fieldEventAttributes
	case "droppedAttributesCount", "dropped_attributes_count":
		return fieldEventDropped
	}
	return 0
}

func statusSchema(name []byte) int {
	switch string(name) {
	case "message":
		return fieldStatusMessage
	case "code":
		return fieldStatusCode
	}
	return 0
}

func scopeSchema(name []byte) int {
	switch string(name) {
	case "name":
		return fieldScopeName
	case "version":
		return fieldScopeVersion
	case "attributes":
		return fieldScopeAttributes
	}
	return 0
}

func resourceSchema(name []byte) int {
	if string(name) == "attributes" {
		return fieldResourceAttributes
	}
	return 0
}

func attrSchema(name []byte) int {
	switch string(name) {
	case "key":
		return fieldKey
	case "value":
		return fieldValue
	}
	return 0
}

func valuesSchema(name []byte) int {
	if string(name) == "values" {
		return fieldValues
	}
	return 0
}

func valueSchema(name []byte) int {
	switch string(name) {
	case "stringValue", "string_value":
		return fieldString
	case "boolValue", "bool_value":
		return fieldBool
	case "intValue", "int_value":
		return fieldInt
	case "doubleValue", "double_value":
		return fieldDouble
	case "arrayValue", "array_value":
		return fieldArray
	case "kvlistValue", "kvlist_value":
		return fieldMap
	case "bytesValue", "bytes_value":
		return fieldBytes
	}
	return 0
}
