package otlpprofiles

import (
	"encoding/hex"
	"strconv"
)

// The messages of opentelemetry.proto.profiles.v1development, as far as they are used,
// with their names in JSON. Generated types would not do: those of the two modules that
// there are cannot be in one program, and a program may have either.

type profilesData struct {
	ResourceProfiles []resourceProfiles `json:"resourceProfiles"`
	Dictionary       tables             `json:"dictionary"`
}

type resourceProfiles struct {
	Resource      resource        `json:"resource"`
	ScopeProfiles []scopeProfiles `json:"scopeProfiles"`
}

type resource struct {
	Attributes []keyValue `json:"attributes,omitempty"`
}

type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type scopeProfiles struct {
	Scope    scope     `json:"scope"`
	Profiles []profile `json:"profiles"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type profile struct {
	SampleType       valueType `json:"sampleType"`
	Samples          []sample  `json:"samples,omitempty"`
	TimeUnixNano     decimal   `json:"timeUnixNano,omitempty"`
	DurationNano     decimal   `json:"durationNano,omitempty"`
	PeriodType       valueType `json:"periodType"`
	Period           decimal   `json:"period"`
	AttributeIndices []int32   `json:"attributeIndices"`
}

type valueType struct {
	Type int32 `json:"typeStrindex"`
	Unit int32 `json:"unitStrindex"`
}

type sample struct {
	Stack            int32     `json:"stackIndex,omitempty"`
	AttributeIndices []int32   `json:"attributeIndices,omitempty"`
	Link             int32     `json:"linkIndex,omitempty"`
	Values           []decimal `json:"values"`
}

// tables is the message ProfilesDictionary.
type tables struct {
	Mappings   []struct{}  `json:"mappingTable"`
	Locations  []location  `json:"locationTable"`
	Functions  []function  `json:"functionTable"`
	Links      []link      `json:"linkTable"`
	Strings    []string    `json:"stringTable"`
	Attributes []attribute `json:"attributeTable"`
	Stacks     []stack     `json:"stackTable"`
}

type location struct {
	Lines            []line  `json:"lines,omitempty"`
	AttributeIndices []int32 `json:"attributeIndices,omitempty"`
}

type line struct {
	Function int32 `json:"functionIndex"`
}

type function struct {
	Name int32 `json:"nameStrindex,omitempty"`
}

type link struct {
	TraceID id `json:"traceId,omitempty"`
	SpanID  id `json:"spanId,omitempty"`
}

// attribute is the message KeyValueAndUnit.
type attribute struct {
	Key   int32     `json:"keyStrindex,omitempty"`
	Value *anyValue `json:"value,omitempty"`
}

type stack struct {
	Locations []int32 `json:"locationIndices,omitempty"`
}

// decimal is a number of 64 bits, which JSON has as text.
type decimal int64

// MarshalText implements [encoding.TextMarshaler].
func (d decimal) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(d), 10), nil }

// id is an id, which JSON has in hexadecimal digits.
type id []byte

// MarshalText implements [encoding.TextMarshaler].
func (i id) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, i), nil }
