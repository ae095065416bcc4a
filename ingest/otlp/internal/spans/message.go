package spans

import (
	"regexp"
	"strings"

	"github.com/optrace/optrace/internal/text/protobuf"
)

// message reads the fields of a message and of the messages in it. Its encodings are [wire] and [jsonMessage]. It keeps
// the first error; after an error every call returns zero values.
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
	// open enters the message in the current field. more needs its result to leave the message.
	open() (outer int)
	// more goes to the next field in the schema and reports whether there is one.
	more(outer int, s schema) bool
	number() int
	failure() error

	// The methods below read the value of the current field. They skip a value of another type; it is not ok. null
	// skips JSON's null.

	null() bool
	skip()
	// element goes to the next element of a list and reports whether there is one.
	element(first bool) bool
	bytes() []byte
	// base64 appends bytes as base64, their form in JSON.
	base64(dst []byte) (text []byte, ok bool)
	// id reads an id. An empty id is ok and zero.
	id(dst []byte) (ok bool)
	integer() (int64, bool)
	double() (float64, bool)
	boolean() (v, ok bool)
	// count and flags read a number of 32 bits.
	count() int64
	flags() uint32
	// time reads nanoseconds; 0 if not ok.
	time() (ns uint64, ok bool)
	// enum reads a number or its name.
	enum(names []string) int64
	// key returns the key of an attribute whose value is the current field and precedes the key.
	key() []byte
}

// schema maps the JSON names of a message's fields to their numbers.
type schema map[string]int

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

// newSchema returns a schema from names in lower camel case by number. JSON may have snake case instead.
func newSchema(names []string) schema {
	s := schema{}
	for number, name := range names {
		s[name] = number
		s[strings.ToLower(upper.ReplaceAllString(name, "_$0"))] = number
	}
	return s
}

var upper = regexp.MustCompile("[A-Z]")
