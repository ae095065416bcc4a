package op

import "github.com/optrace/optrace/internal/jsontext"

// entryKey is a key of an entry's JSON object.
type entryKey uint8

const (
	jsonStep entryKey = iota
	jsonOperation
	jsonDeviceID
	jsonInputShapes
	jsonOutputShape
	jsonDurationUS
	jsonOutputElements
	jsonMemoryBytes
	jsonKind
	jsonKindRule
	jsonDType
	jsonStartUnixNS
	jsonDurationNS
	jsonLaunchUnixNS
	jsonStream
	jsonRank
	jsonFLOPs
	jsonTraceID
	jsonSpanID
	jsonParentSpanID
	jsonRoot
	jsonRootSpanID
	jsonService
	jsonScope
	jsonPath
	jsonInputDTypes
	jsonSide
	jsonError
	jsonAdjustedCount
	jsonDroppedAttributes
	jsonAttrs
	jsonWarn
	jsonCollective

	// noEntryKey is any other key, and what stands before the first.
	noEntryKey
)

// entryKeyNames are the keys as files spell them.
var entryKeyNames = [noEntryKey]string{
	jsonStep:              "step",
	jsonOperation:         "operation",
	jsonDeviceID:          "device_id",
	jsonInputShapes:       "input_shapes",
	jsonOutputShape:       "output_shape",
	jsonDurationUS:        "duration_us",
	jsonOutputElements:    "output_elements",
	jsonMemoryBytes:       "memory_bytes",
	jsonKind:              "kind",
	jsonKindRule:          "kind_rule",
	jsonDType:             "dtype",
	jsonStartUnixNS:       "start_unix_ns",
	jsonDurationNS:        "duration_ns",
	jsonLaunchUnixNS:      "launch_unix_ns",
	jsonStream:            "stream",
	jsonRank:              "rank",
	jsonFLOPs:             "flops",
	jsonTraceID:           "trace_id",
	jsonSpanID:            "span_id",
	jsonParentSpanID:      "parent_span_id",
	jsonRoot:              "root",
	jsonRootSpanID:        "root_span_id",
	jsonService:           "service",
	jsonScope:             "scope",
	jsonPath:              "path",
	jsonInputDTypes:       "input_dtypes",
	jsonSide:              "side",
	jsonError:             "error",
	jsonAdjustedCount:     "adjusted_count",
	jsonDroppedAttributes: "dropped_attributes",
	jsonAttrs:             "attrs",
	jsonWarn:              "warn",
	jsonCollective:        "collective",
}

// entryKeys numbers the keys as entryKey does.
var entryKeys = func() *jsontext.Keys {
	var spellings [][]string
	for _, name := range entryKeyNames {
		spellings = append(spellings, []string{name})
	}
	return jsontext.NewKeys(spellings...)
}()
