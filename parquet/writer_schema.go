package parquet

import "github.com/parquet-go/parquet-go"

// SchemaKey is the key of the file's metadata whose value names the schema,
// [op.Schema].
const SchemaKey = "optrace.schema"

// ResourceKey is the key of the file's metadata whose value is the header of entries JSON
// Lines, with the resource that all rows come from. It is there if they state one and the
// same.
const ResourceKey = "optrace.resource"

// newSchema returns the table's schema. The order of the fields is that of the
// columns, and the one in which rows.go fills them.
func newSchema() *parquet.Schema {
	return parquet.NewSchema("optrace", fields{
		{name: "record", Node: word()},
		{name: "step", Node: parquet.Optional(near())},
		{name: "operation", Node: parquet.Optional(word())},
		{name: "device_id", Node: parquet.Optional(word())},
		{name: "input_shapes", Node: parquet.Optional(parquet.List(parquet.Optional(parquet.List(few()))))},
		{name: "output_shape", Node: parquet.Optional(parquet.List(few()))},
		{name: "duration_ns", Node: parquet.Optional(near())},
		{name: "output_elements", Node: parquet.Optional(few())},
		{name: "memory_bytes", Node: parquet.Optional(few())},
		{name: "kind", Node: parquet.Optional(word())},
		{name: "kind_rule", Node: parquet.Optional(word())},
		{name: "dtype", Node: parquet.Optional(word())},
		{name: "start_unix_ns", Node: parquet.Optional(near())},
		{name: "launch_unix_ns", Node: parquet.Optional(near())},
		{name: "stream", Node: parquet.Optional(few())},
		{name: "rank", Node: parquet.Optional(few())},
		{name: "flops", Node: parquet.Optional(few())},
		{name: "trace_id", Node: parquet.Optional(word())},
		{name: "span_id", Node: parquet.Optional(parquet.Encoded(parquet.String(), &parquet.Plain))},
		{name: "parent_span_id", Node: parquet.Optional(word())},
		{name: "root", Node: parquet.Optional(word())},
		{name: "root_span_id", Node: parquet.Optional(word())},
		{name: "service", Node: parquet.Optional(word())},
		{name: "scope", Node: parquet.Optional(word())},
		{name: "path", Node: parquet.Optional(word())},
		{name: "input_dtypes", Node: parquet.Optional(parquet.List(word()))},
		{name: "side", Node: parquet.Optional(word())},
		{name: "failed", Node: parquet.Optional(parquet.Leaf(parquet.BooleanType))},
		{name: "error", Node: parquet.Optional(word())},
		{name: "adjusted_count", Node: parquet.Optional(parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.RLEDictionary))},
		{name: "dropped_attributes", Node: parquet.Optional(few())},
		{name: "attrs", Node: parquet.Optional(parquet.Map(word(), word()))},
		{name: "warn", Node: parquet.Optional(parquet.List(word()))},
		{name: "collective", Node: parquet.Optional(fields{
			{name: "name", Node: parquet.Optional(word())},
			{name: "group", Node: parquet.Optional(word())},
			{name: "group_size", Node: parquet.Optional(few())},
			{name: "sequence", Node: parquet.Optional(near())},
			{name: "peer_rank", Node: parquet.Optional(few())},
			{name: "in_elements", Node: parquet.Optional(few())},
			{name: "out_elements", Node: parquet.Optional(few())},
		})},
		{name: "name", Node: parquet.Optional(word())},
		{name: "parent_remote", Node: parquet.Optional(parquet.Leaf(parquet.BooleanType))},
		{name: "world_size", Node: parquet.Optional(few())},
		{name: "gap", Node: parquet.Optional(fields{
			{name: "dropped", Node: few()},
			{name: "reason", Node: parquet.Optional(word())},
		})},
		{name: "batch", Node: parquet.Optional(fields{
			{name: "writer", Node: word()},
			{name: "seq", Node: near()},
			{name: "entries", Node: few()},
		})},
		{name: "links", Node: parquet.Optional(parquet.List(fields{
			{name: "trace_id", Node: word()},
			{name: "span_id", Node: parquet.Encoded(parquet.String(), &parquet.Plain)},
			{name: "weight", Node: parquet.Optional(few())},
		}))},
		{name: "extra", Node: parquet.Optional(parquet.String())},
	})
}

// word is text with few distinct values.
func word() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }

// few is an integer with few distinct values, and near one whose neighbours are
// near each other.
func few() parquet.Node {
	return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.RLEDictionary)
}

func near() parquet.Node {
	return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked)
}
