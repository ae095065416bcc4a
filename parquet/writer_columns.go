package parquet

import (
	"github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/op"
)

// leaves are the numbers of leaf columns, of several the first one.
type leaves struct {
	record, failed, attrs, name, parentRemote, worldSize, gap, batch, links, extra int
	// entry, span and resource are the columns of the fields of an entry that such records have.
	entry, span, resource []entryLeaf
}

// entryLeaf is the column of a field of an entry.
type entryLeaf struct {
	*op.Column[op.Entry]
	leaf int
}

// findLeaves returns the leaves of a schema.
func findLeaves(schema *parquet.Schema) (l leaves) {
	first := make(map[string]int)
	for i, path := range schema.Columns() {
		if _, ok := first[path[0]]; !ok {
			first[path[0]] = i
		}
	}
	l = leaves{
		record: first["record"], failed: first["failed"], attrs: first["attrs"], name: first["name"], parentRemote: first["parent_remote"],
		worldSize: first["world_size"], gap: first["gap"], batch: first["batch"], links: first["links"], extra: first["extra"],
	}
	for i := range op.Columns {
		c := entryLeaf{&op.Columns[i], first[op.Columns[i].Name]}
		if c.leaf > 0 && c.Name != "links" && c.Name != "extra" {
			l.entry = append(l.entry, c)
		}
		switch c.Name {
		case "trace_id", "span_id", "parent_span_id", "start_unix_ns", "duration_ns":
			l.span = append(l.span, c)
		case "service":
			l.span, l.resource = append(l.span, c), append(l.resource, c)
		case "rank":
			l.resource = append(l.resource, c)
		}
	}
	return l
}

type columnValues struct {
	w      *parquet.ColumnWriter
	values []parquet.Value
	// null is the value of a row that has none.
	null parquet.Value
	// rows is how many rows, since the last flush, have values.
	rows int
}
