package parquet

import (
	"cmp"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/op"
)

// resourceKey is the metadata key of the header of entries JSON Lines. The file has it if all rows come
// from one resource.
const resourceKey = "optrace.resource"

// newSchema returns the schema: the kind of record, the fields of entries, the fields of other records,
// and long fields. New fields of entries come last.
func newSchema() *parquet.Schema {
	list := []node{{"record", word()}}
	columns := slices.Clone(opfields.Entry)
	index := func(name string) int {
		return slices.IndexFunc(columns, func(c opfields.Field[op.Entry]) bool { return c.Name == name })
	}
	us := index("duration_us")
	ns := index("duration_ns")
	columns[us] = columns[ns] // the table has one duration, in nanoseconds
	columns = slices.Delete(columns, ns, ns+1)
	last := index("collective") + 1
	list = appendNodes(list, columns[:last])
	list = append(list, []node{
		{"name", parquet.Optional(word())},
		{"parent_remote", parquet.Optional(parquet.Leaf(parquet.BooleanType))},
		{"world_size", parquet.Optional(few())},
		{"gap", parquet.Optional(group([]node{
			{"dropped", few()},
			{"reason", parquet.Optional(word())},
		}))},
		{"batch", parquet.Optional(group([]node{
			{"writer", word()},
			{"seq", near()},
			{"entries", few()},
		}))},
		{"links", parquet.Optional(parquet.List(group([]node{
			{"trace_id", word()},
			{"span_id", parquet.Encoded(parquet.String(), &parquet.Plain)},
			{"weight", parquet.Optional(few())},
		})))},
		{"extra", parquet.Optional(parquet.String())},
	}...)
	return parquet.NewSchema("optrace", group(appendNodes(list, columns[last:])))
}

func appendNodes[T any](list []node, columns []opfields.Field[T]) []node {
	for _, c := range columns {
		var n parquet.Node
		switch c.At.(type) {
		case func(*T) *op.Int, func(*T) *int64:
			if n = few(); slices.Contains(nearby, c.Name) {
				n = near()
			}
		case func(*T) *string, func(*T) opfields.Name:
			n = word()
		case func(*T) []byte:
			if n = word(); c.Name == "span_id" {
				n = parquet.Encoded(parquet.String(), &parquet.Plain)
			}
		case func(*T) *float64:
			n = parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.RLEDictionary)
		case func(*T) *op.Shape:
			n = parquet.List(few())
		case func(*T) *[]op.Shape:
			n = parquet.List(parquet.Optional(parquet.List(few())))
		case func(*T) *[]op.DType, func(*T) *op.Warning:
			n = parquet.List(word())
		case func(*T) *[]op.Attr:
			n = parquet.Map(word(), word())
		case func(*T) **op.Collective:
			n = group(appendNodes(nil, opfields.Collective))
		default:
			continue
		}
		if c.Name == "error" {
			list = append(list, node{"failed", parquet.Optional(parquet.Leaf(parquet.BooleanType))})
		}
		list = append(list, node{c.Name, parquet.Optional(n)})
	}
	return list
}

type node struct {
	name string
	parquet.Node
}

// ordered is a group of columns in a given order; parquet.Group sorts them by name.
type ordered struct {
	parquet.Group
	names []string
}

func group(list []node) parquet.Node {
	g := ordered{Group: make(parquet.Group)}
	for _, n := range list {
		g.Group[n.name] = n.Node
		g.names = append(g.names, n.name)
	}
	return g
}

// Fields implements parquet.Node.
func (g ordered) Fields() []parquet.Field {
	list := g.Group.Fields()
	slices.SortFunc(list, func(a, b parquet.Field) int {
		return cmp.Compare(slices.Index(g.names, a.Name()), slices.Index(g.names, b.Name()))
	})
	return list
}

// nearby lists integers close to their neighbors.
var nearby = []string{"step", "duration_ns", "start_unix_ns", "launch_unix_ns", "sequence"}

// word is a text with few distinct values.
func word() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }

// few is an integer with few distinct values; near is an integer close to its neighbors.
func few() parquet.Node {
	return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.RLEDictionary)
}

func near() parquet.Node {
	return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked)
}
