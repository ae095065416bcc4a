package spans

import (
	"regexp"
	"strings"

	"github.com/optrace/optrace/internal/text/protobuf"
)

// message reads the fields of a message, and of those in it, one after the other. Its encodings are [wire] and
// [jsonMessage]. The first error is kept, and from then on every call returns zero values.
//
//	for outer := m.open(); m.more(outer, linkSchema); {
//		switch m.number() {
//		case protobuf.LinkTraceID:
//			m.id(id[:])
//		…
//		default:
//			m.skip()
//		}
//	}
type message interface {
	// open goes into the message that is the value of the current field, and returns what more needs to leave it.
	open() (outer int)
	// more goes to the next field that the schema has, and reports whether there is one.
	more(outer int, s schema) bool
	// number returns the number of the current field.
	number() int
	// failure returns the first error.
	failure() error

	// What follows reads the value of the current field. What is not of the type is passed over and is not ok; null in
	// JSON is for null to pass over.

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

// The schemas of the messages.
var (
	spanSchema = newSchema([]string{
		protobuf.SpanTraceID: "traceId", protobuf.SpanID: "spanId", protobuf.SpanTraceState: "traceState",
		protobuf.SpanParentID: "parentSpanId",
		protobuf.SpanName:     "name", protobuf.SpanKind: "kind", protobuf.SpanStart: "startTimeUnixNano",
		protobuf.SpanEnd:        "endTimeUnixNano",
		protobuf.SpanAttributes: "attributes", protobuf.SpanDroppedAttributes: "droppedAttributesCount",
		protobuf.SpanEvents:        "events",
		protobuf.SpanDroppedEvents: "droppedEventsCount", protobuf.SpanLinks: "links",
		protobuf.SpanDroppedLinks: "droppedLinksCount",
		protobuf.SpanStatus:       "status", protobuf.SpanFlags: "flags",
	})
	linkSchema = newSchema([]string{
		protobuf.LinkTraceID: "traceId", protobuf.LinkSpanID: "spanId", protobuf.LinkTraceState: "traceState",
		protobuf.LinkAttributes:        "attributes",
		protobuf.LinkDroppedAttributes: "droppedAttributesCount", protobuf.LinkFlags: "flags",
	})
	eventSchema = newSchema([]string{
		protobuf.EventTime: "timeUnixNano", protobuf.EventName: "name", protobuf.EventAttributes: "attributes",
		protobuf.EventDroppedAttributes: "droppedAttributesCount",
	})
	statusSchema = newSchema([]string{protobuf.StatusMessage: "message", protobuf.StatusCode: "code"})
	scopeSchema  = newSchema([]string{protobuf.ScopeName: "name", protobuf.ScopeVersion: "version",
		protobuf.ScopeAttributes: "attributes"})
	resourceSchema = newSchema([]string{protobuf.ResourceAttributes: "attributes"})
	attrSchema     = newSchema([]string{protobuf.KeyValueKey: "key", protobuf.KeyValueValue: "value"})
	valuesSchema   = newSchema([]string{protobuf.ListValues: "values"})
	valueSchema    = newSchema([]string{
		protobuf.AnyString: "stringValue", protobuf.AnyBool: "boolValue", protobuf.AnyInt: "intValue",
		protobuf.AnyDouble: "doubleValue", protobuf.AnyArray: "arrayValue",
		protobuf.AnyMap: "kvlistValue", protobuf.AnyBytes: "bytesValue",
	})
)

// newSchema returns the schema of fields by their names in lower camel case, by number. JSON may have them as the
// schema has, too.
func newSchema(names []string) schema {
	s := schema{}
	for number, name := range names {
		s[name] = number
		s[strings.ToLower(upper.ReplaceAllString(name, "_$0"))] = number
	}
	return s
}

var upper = regexp.MustCompile("[A-Z]")
