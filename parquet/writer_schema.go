package parquet

import (
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/op"
)

// metadataKey is the key of the file's metadata whose value names the schema,
// [op.Schema].
const metadataKey = "optrace.schema"

// resourceKey is the key of the file's metadata whose value is the header of entries JSON
// Lines, with the resource that all rows come from. It is there if they state one and the
// same.
const resourceKey = "optrace.resource"

// newSchema returns the table's schema: what the row is, the fields of an entry, those of other records,
// and what is long. Fields of an entry that are new come last.
func newSchema() *parquet.Schema {
	list := fields{{name: "record", Node: word()}}
	columns := slices.Clone(op.Columns)
	index := func(name string) int {
		return slices.IndexFunc(columns, func(c op.Column[op.Entry]) bool { return c.Name == name })
	}
	us, ns := index("duration_us"), index("duration_ns")
	columns[us] = columns[ns] // there is one duration, in nanoseconds
	columns = slices.Delete(columns, ns, ns+1)
	last := index("collective") + 1
	list = appendNodes(list, columns[:last])
	list = append(list, fields{
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
	}...)
	return parquet.NewSchema("optrace", appendNodes(list, columns[last:]))
}

// appendNodes appends columns for the fields of a part of a row.
func appendNodes[T any](list fields, columns []op.Column[T]) fields {
	for _, c := range columns {
		var node parquet.Node
		switch c.At.(type) {
		case func(*T) *op.Int, func(*T) *int64:
			if node = few(); slices.Contains(nearby, c.Name) {
				node = near()
			}
		case func(*T) *string, func(*T) op.Name:
			node = word()
		case func(*T) []byte:
			if node = word(); c.Name == "span_id" {
				node = parquet.Encoded(parquet.String(), &parquet.Plain)
			}
		case func(*T) *float64:
			node = parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.RLEDictionary)
		case func(*T) *op.Shape:
			node = parquet.List(few())
		case func(*T) *[]op.Shape:
			node = parquet.List(parquet.Optional(parquet.List(few())))
		case func(*T) *[]op.DType, func(*T) *op.Warning:
			node = parquet.List(word())
		case func(*T) *[]op.Attr:
			node = parquet.Map(word(), word())
		case func(*T) **op.Collective:
			node = appendNodes(nil, op.CollectiveColumns)
		default:
			continue
		}
		if c.Name == "error" {
			list = append(list, field{name: "failed", Node: parquet.Optional(parquet.Leaf(parquet.BooleanType))})
		}
		list = append(list, field{name: c.Name, Node: parquet.Optional(node)})
	}
	return list
}

// nearby are the integers whose neighbors are near each other.
var nearby = []string{"step", "duration_ns", "start_unix_ns", "launch_unix_ns", "sequence"}

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
