package op

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

var entryKeysByName = func() map[string]entryKey {
	m := make(map[string]entryKey, len(entryKeyNames))
	for k, name := range entryKeyNames {
		m[name] = entryKey(k)
	}
	return m
}()

// quotedEntryKeys are the keys as they stand in a file without spaces.
var quotedEntryKeys = func() (quoted [noEntryKey]string) {
	for k, name := range entryKeyNames {
		quoted[k] = `"` + name + `":`
	}
	return quoted
}()

// keyOrder remembers which key came after each in the record before. Files are
// written by programs, which put the keys of every record in the same order: a
// right guess costs one comparison, where reading a key and looking it up
// would take half of the time that an entry takes.
type keyOrder struct {
	next [noEntryKey + 1]entryKey
}

// entryKey reads the next key, prev being the one before or noEntryKey. A key
// that is not one of an entry's is noEntryKey and comes back as name.
func (d *decoder) entryKey(prev entryKey) (k entryKey, name []byte) {
	if k = d.order.next[prev]; d.lex.Accept(quotedEntryKeys[k]) {
		return k, nil
	}
	name = d.lex.Key()
	k, ok := entryKeysByName[string(name)]
	if !ok {
		return noEntryKey, name
	}
	d.order.next[prev] = k
	return k, nil
}
