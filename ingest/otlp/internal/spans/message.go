package spans

import (
	"regexp"
	"strings"
)

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

// schema is the numbers of a message's fields by their names in JSON; others are passed over.
type schema map[string]int

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

// The schemas of the messages.
var (
	spanSchema = newSchema([]string{
		fieldSpanTraceID: "traceId", fieldSpanID: "spanId", fieldSpanTraceState: "traceState", fieldSpanParentID: "parentSpanId",
		fieldSpanName: "name", fieldSpanKind: "kind", fieldSpanStart: "startTimeUnixNano", fieldSpanEnd: "endTimeUnixNano",
		fieldSpanAttributes: "attributes", fieldSpanDropped: "droppedAttributesCount", fieldSpanEvents: "events",
		fieldDroppedEvents: "droppedEventsCount", fieldSpanLinks: "links", fieldDroppedLinks: "droppedLinksCount",
		fieldSpanStatus: "status", fieldSpanFlags: "flags",
	})
	linkSchema = newSchema([]string{
		fieldLinkTraceID: "traceId", fieldLinkSpanID: "spanId", fieldLinkState: "traceState", fieldLinkAttributes: "attributes",
		fieldLinkDropped: "droppedAttributesCount", fieldLinkFlags: "flags",
	})
	eventSchema = newSchema([]string{
		fieldEventTime: "timeUnixNano", fieldEventName: "name", fieldEventAttributes: "attributes", fieldEventDropped: "droppedAttributesCount",
	})
	statusSchema   = newSchema([]string{fieldStatusMessage: "message", fieldStatusCode: "code"})
	scopeSchema    = newSchema([]string{fieldScopeName: "name", fieldScopeVersion: "version", fieldScopeAttributes: "attributes"})
	resourceSchema = newSchema([]string{fieldResourceAttributes: "attributes"})
	attrSchema     = newSchema([]string{fieldKey: "key", fieldValue: "value"})
	valuesSchema   = newSchema([]string{fieldValues: "values"})
	valueSchema    = newSchema([]string{
		fieldString: "stringValue", fieldBool: "boolValue", fieldInt: "intValue", fieldDouble: "doubleValue", fieldArray: "arrayValue",
		fieldMap: "kvlistValue", fieldBytes: "bytesValue",
	})
)

// newSchema returns the schema of fields by their names in lower camel case, by number. JSON may have
// them as the schema has, too.
func newSchema(names []string) schema {
	s := schema{}
	for number, name := range names {
		s[name], s[strings.ToLower(upper.ReplaceAllString(name, "_$0"))] = number, number
	}
	return s
}

var upper = regexp.MustCompile("[A-Z]")
