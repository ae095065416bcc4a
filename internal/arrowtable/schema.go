package arrowtable

import "github.com/optrace/optrace/internal/arrowipc"

// SchemaKey is the key of the schema's metadata whose value names what the
// columns hold.
const SchemaKey = "optrace.schema"

// The columns in the order of the schema.
const (
	colRecord = iota
	colStep
	colOperation
	colDeviceID
	colInputShapes
	colOutputShape
	colDuration
	colOutputElements
	colMemoryBytes
	colKind
	colKindRule
	colDType
	colStart
	colLaunch
	colStream
	colRank
	colFLOPs
	colTraceID
	colSpanID
	colParentSpanID
	colRoot
	colRootSpanID
	colService
	colScope
	colPath
	colInputDTypes
	colSide
	colFailed
	colError
	colAdjustedCount
	colDroppedAttributes
	colAttrs
	colWarn
	colCollective
	colName
	colParentRemote
	colWorldSize
	colGap
	colBatch
	colLinks
	colExtra
	numColumns
)

// dimsID is the id of the dictionary of dimensions, which the shapes of both columns
// refer to. The other dictionaries have the numbers of their columns.
const dimsID = numColumns

// The types of values.
var (
	utf8Type    = arrowipc.Type{Kind: arrowipc.Utf8}
	int64Type   = arrowipc.Type{Kind: arrowipc.Int, Bits: 64, Signed: true}
	uint64Type  = arrowipc.Type{Kind: arrowipc.Int, Bits: 64}
	float64Type = arrowipc.Type{Kind: arrowipc.Float, Bits: 64}
	boolType    = arrowipc.Type{Kind: arrowipc.Bool}
	indexType   = arrowipc.Type{Kind: arrowipc.Int, Bits: 16, Signed: true}
	byteIndex   = arrowipc.Type{Kind: arrowipc.Int, Bits: 8, Signed: true}
	dimIndex    = arrowipc.Type{Kind: arrowipc.Int, Bits: 32, Signed: true} // a single operation may have 65,600
)

func field(name string, t arrowipc.Type) arrowipc.Field {
	return arrowipc.Field{Name: name, Nullable: true, Type: t}
}

func required(f arrowipc.Field) arrowipc.Field {
	f.Nullable = false
	return f
}

func list(name string, element arrowipc.Field) arrowipc.Field {
	return arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{Kind: arrowipc.List}, Children: []arrowipc.Field{element}}
}

func group(name string, children ...arrowipc.Field) arrowipc.Field {
	return arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{Kind: arrowipc.Struct}, Children: children}
}

func texts(name string) arrowipc.Field   { return field(name, utf8Type) }
func ints(name string) arrowipc.Field    { return field(name, int64Type) }
func spanIDs(name string) arrowipc.Field { return field(name, uint64Type) }
func bools(name string) arrowipc.Field   { return field(name, boolType) }

// schema returns the schema. Columns of values that recur are indexes into a
// dictionary, which has the column's number, and so are the dimensions of shapes.
// A span's id is a number: that which its digits are.
func schema() *arrowipc.Schema {
	dim := required(ints("item"))
	dim.Dictionary = &arrowipc.Dictionary{ID: dimsID, Index: dimIndex}
	shape := list("item", dim)
	attrs := required(group("entries", required(texts("key")), required(texts("value"))))
	fields := []arrowipc.Field{
		required(texts("record")), ints("step"), texts("operation"), texts("device_id"), list("input_shapes", shape),
		list("output_shape", dim), ints("duration_ns"), ints("output_elements"), ints("memory_bytes"), texts("kind"),
		texts("kind_rule"), texts("dtype"), ints("start_unix_ns"), ints("launch_unix_ns"), ints("stream"), ints("rank"), ints("flops"),
		texts("trace_id"), spanIDs("span_id"), spanIDs("parent_span_id"), texts("root"), spanIDs("root_span_id"),
		texts("service"), texts("scope"), texts("path"), list("input_dtypes", required(texts("item"))), texts("side"), bools("failed"),
		texts("error"), field("adjusted_count", float64Type), ints("dropped_attributes"),
		{Name: "attrs", Nullable: true, Type: arrowipc.Type{Kind: arrowipc.Map}, Children: []arrowipc.Field{attrs}},
		list("warn", required(texts("item"))),
		group("collective", texts("name"), texts("group"), ints("group_size"), ints("sequence"), ints("peer_rank"), ints("in_elements"),
			ints("out_elements")),
		texts("name"), bools("parent_remote"), ints("world_size"),
		group("gap", required(ints("dropped")), texts("reason")),
		group("batch", required(texts("writer")), required(ints("seq")), required(ints("entries"))),
		list("links", required(group("item", required(texts("trace_id")), required(spanIDs("span_id")), ints("weight")))),
		texts("extra"),
	}
	for i := range fields {
		switch i {
		case colDuration, colStart, colLaunch, colSpanID, colFailed, colParentRemote: // have values of their own
		default:
			index := indexType
			index.Bits = indexBits(i)
			fields[i].Dictionary = &arrowipc.Dictionary{ID: int64(i), Index: index}
		}
	}
	return &arrowipc.Schema{Fields: fields}
}

// indexBits returns the size of the indexes of a column that has a dictionary.
func indexBits(col int) int {
	switch col {
	case colRecord, colKind, colKindRule, colSide: // which have few values in any stream
		return byteIndex.Bits
	}
	return indexType.Bits
}

// AppendSchema appends the message that a stream of batches starts with. The same
// version of this package always appends the same.
func AppendSchema(dst []byte, name string) []byte {
	s := schema()
	s.Metadata = []arrowipc.KeyValue{{Key: SchemaKey, Value: name}}
	return arrowipc.AppendSchema(dst, s)
}

// End returns the mark of the end of a stream. One may as well end without.
func End() []byte { return arrowipc.End() }
