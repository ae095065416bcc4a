package op

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/text/scalar"
)

// Attr is an attribute beside the fields of a record. Value is text; Type tells typed formats how to write it.
type Attr struct {
	Key   string
	Value string
	Type  AttrType
}

// AttrType is the type of an attribute's value.
type AttrType uint8

// The types.
const (
	AttrText AttrType = iota // Value is the text
	AttrInt                  // Value is an integer of 64 bits in decimal
	// AttrFloat: Value is a number as strconv.FormatFloat prints it with the format 'g', such as "2.5", "4" and "NaN".
	AttrFloat
	AttrBool  // Value is "true" or "false"
	AttrBytes // Value is the bytes in base64
	// AttrJSON: Value is a list, a map or null in JSON. A number with a point or an exponent is floating-point, any
	// other an integer. Bytes are objects such as {"bytesValue":"AAE="}; NaN and the infinities are objects such as
	// {"doubleValue":"NaN"}.
	AttrJSON
)

// AppendJSONValue appends the value as JSON of its type. A value that does not fit its type is appended as text.
func (a *Attr) AppendJSONValue(dst []byte) []byte {
	switch a.Type {
	case AttrInt:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			return strconv.AppendInt(dst, n, 10)
		}
	case AttrFloat:
		if f, err := strconv.ParseFloat(a.Value, 64); err == nil {
			return scalar.AppendDouble(dst, f)
		}
	case AttrBool:
		if a.Value == "true" || a.Value == "false" {
			return append(dst, a.Value...)
		}
	case AttrBytes:
		return scalar.AppendBytes(dst, a.Value)
	case AttrJSON:
		if isComposite(a.Value) {
			return append(dst, a.Value...)
		}
	}
	return scalar.AppendString(dst, a.Value)
}

// isComposite reports whether text is a list, a map or null in JSON, on one line.
func isComposite(text string) bool {
	if text == "null" {
		return true
	}
	if text == "" || text[0] != '[' && text[0] != '{' || strings.ContainsAny(text, "\n\r") {
		return false
	}
	return json.Valid([]byte(text))
}

// Extra holds the parts of a span beside the fields of an [Entry] or [Span], its attributes and its links. Readers
// fill it under [attr.Mapping.KeepAll], for lossless conversions. They fill DroppedLinks always: it tells how many
// requests are missing.
type Extra struct {
	Name       string // the span's name if it differs from the operation
	Kind       string // "server", "client", "producer", "consumer" or "unspecified"; "" is internal
	Flags      uint32 // OTLP's flags
	TraceState string // the W3C header
	OK         bool   // set if the status is OK
	Message    string // the status description, unless another field holds it
	// Scope is the instrumentation scope. For an entry its name is Entry.Scope.
	Scope  Scope
	Events []Event // the span's events
	// Parts dropped by the SDK's limits or beyond [MaxLinks]. DroppedAttributes is for a Span only.
	DroppedAttributes int64
	DroppedEvents     int64
	DroppedLinks      int64
}

// Scope is an instrumentation scope.
type Scope struct {
	Name, Version string
	Attrs         []Attr
}

// Event is an event of a span.
type Event struct {
	Name              string
	Time              Int // in Unix nanoseconds
	Attrs             []Attr
	DroppedAttributes int64 // how many attributes the SDK's limits dropped
}

// LinkExtra holds the parts of a link beside the fields of a [Link].
type LinkExtra struct {
	Attrs             []Attr
	Flags             uint32 // the flags of OTLP, 0 for none
	TraceState        string
	DroppedAttributes int64 // how many attributes the SDK's limits dropped
}

// IsZero reports whether all fields are empty.
func (x *Extra) IsZero() bool {
	return x.Name == "" && x.Kind == "" && x.Flags == 0 && x.TraceState == "" && !x.OK && x.Message == "" &&
		x.Scope.Name == "" && x.Scope.Version == "" && len(x.Scope.Attrs) == 0 && len(x.Events) == 0 &&
		x.DroppedAttributes == 0 && x.DroppedEvents == 0 && x.DroppedLinks == 0
}

// clone returns a deep copy of x, which may be nil. It shares strings only.
func (x *Extra) clone() *Extra {
	if x == nil {
		return nil
	}
	c := *x
	c.Scope.Attrs = slices.Clone(x.Scope.Attrs)
	c.Events = slices.Clone(x.Events)
	for i := range c.Events {
		c.Events[i].Attrs = slices.Clone(c.Events[i].Attrs)
	}
	return &c
}

// cloneLinks returns a deep copy of links. It shares strings only.
func cloneLinks(links []Link) []Link {
	c := slices.Clone(links)
	for i := range c {
		if x := c[i].Extra; x != nil {
			own := *x
			own.Attrs = slices.Clone(x.Attrs)
			c[i].Extra = &own
		}
	}
	return c
}

// AppendJSON appends x as a JSON object.
func (x *Extra) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	dst = appendText(dst, `,"name":`, x.Name)
	dst = appendText(dst, `,"kind":`, x.Kind)
	dst = appendNumber(dst, `,"flags":`, int64(x.Flags))
	dst = appendText(dst, `,"trace_state":`, x.TraceState)
	if x.OK {
		dst = append(dst, `,"ok":true`...)
	}
	dst = appendText(dst, `,"message":`, x.Message)
	dst = appendText(dst, `,"scope":`, x.Scope.Name)
	dst = appendText(dst, `,"scope_version":`, x.Scope.Version)
	dst = appendAttrs(dst, `,"scope_attrs":`, x.Scope.Attrs)
	dst = appendEvents(dst, x.Events)
	dst = appendNumber(dst, `,"dropped_attributes":`, x.DroppedAttributes)
	dst = appendNumber(dst, `,"dropped_events":`, x.DroppedEvents)
	dst = appendNumber(dst, `,"dropped_links":`, x.DroppedLinks)
	return append(trimComma(dst, start), '}')
}

func appendEvents(dst []byte, events []Event) []byte {
	if len(events) == 0 {
		return dst
	}
	dst = append(dst, `,"events":[`...)
	for i := range events {
		if i > 0 {
			dst = append(dst, ',')
		}
		e := &events[i]
		dst = scalar.AppendString(append(dst, `{"name":`...), e.Name)
		dst = appendKnown(dst, `,"time_unix_ns":`, e.Time)
		dst = appendAttrs(dst, `,"attrs":`, e.Attrs)
		dst = appendNumber(dst, `,"dropped_attributes":`, e.DroppedAttributes)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendExtra(dst []byte, x *Extra) []byte {
	if x == nil || x.IsZero() {
		return dst
	}
	return x.AppendJSON(append(dst, `,"extra":`...))
}

func appendNumber(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), n, 10)
}

// Link is a reference to a span of any trace, such as from a step of a batching engine to one of its requests.
type Link struct {
	TraceID TraceID
	SpanID  SpanID
	// Weight is the linked span's part of the work, in the engine's measure, such as tokens or rows.
	Weight Int
	// Attention is the linked span's part of the attention work if it differs: pairs of queries and keys.
	Attention Int
	// Extra holds the rest of the link. It is nil unless the reader was asked for it.
	Extra *LinkExtra
}

// MaxLinks is the largest number of links of a record. Readers drop further ones, with [WarnDroppedLinks].
const MaxLinks = 4096

func appendLinks(dst []byte, links []Link) []byte {
	if len(links) == 0 {
		return dst
	}
	dst = append(dst, `,"links":[`...)
	for i := range links {
		if i > 0 {
			dst = append(dst, ',')
		}
		l := &links[i]
		dst = appendID(dst, `{"trace_id":"`, l.TraceID[:])
		dst = appendID(dst, `,"span_id":"`, l.SpanID[:])
		dst = appendKnown(dst, `,"weight":`, l.Weight)
		dst = appendKnown(dst, `,"weight_attention":`, l.Attention)
		if x := l.Extra; x != nil {
			dst = appendAttrs(dst, `,"attrs":`, x.Attrs)
			dst = appendNumber(dst, `,"flags":`, int64(x.Flags))
			dst = appendText(dst, `,"trace_state":`, x.TraceState)
			dst = appendNumber(dst, `,"dropped_attributes":`, x.DroppedAttributes)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// Valid reports whether the link leads to a span.
func (l *Link) Valid() bool { return !l.TraceID.IsZero() && !l.SpanID.IsZero() }
