package arrow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/internal/arrowtable"
	"github.com/optrace/optrace/op"
)

// table is a schema whose columns are known.
type table struct {
	schema *arrowipc.Schema
	// bound holds, for each column of the schema, the place of its field in fields,
	// -1 for a column that means nothing.
	bound []int
	seen  rows.Seen
}

// bind finds the columns that mean something. Where several have the same name it is
// the first. A later version of the table is refused; others name none.
func bind(s *arrowipc.Schema) (*table, error) {
	if name := s.Value(arrowtable.SchemaKey); name != "" && name != op.Schema {
		return nil, fmt.Errorf("schema %q is not supported, this version reads %q", name, op.Schema)
	}
	if s.BigEndian {
		return nil, errors.New("numbers with the highest byte first, which are not supported")
	}
	t := &table{schema: s, bound: make([]int, len(s.Fields))}
	found := make(map[string]bool)
	for i := range s.Fields {
		t.bound[i] = -1
		for k, f := range fields {
			if f.name == s.Fields[i].Name && !found[f.name] {
				t.bound[i] = k
				found[f.name] = true
			}
		}
	}
	operation := columnNamed(s, "operation")
	switch {
	case operation == nil || operation.Type.Kind == arrowipc.Null:
		return nil, fmt.Errorf("arrow table without a column operation; it has %s", columnNames(s))
	case !found["duration_ns"] && !found["duration_us"]:
		return nil, fmt.Errorf("arrow table without a column duration_ns or duration_us; it has %s", columnNames(s))
	}
	t.seen = rows.Seen{Elements: found["output_elements"], Memory: found["memory_bytes"]}
	return t, nil
}

func columnNamed(s *arrowipc.Schema, name string) *arrowipc.Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// columnNames lists the first columns.
func columnNames(s *arrowipc.Schema) string {
	const maxShown = 8
	if len(s.Fields) == 0 {
		return "none"
	}
	var names []string
	for i := range s.Fields {
		if i == maxShown {
			return strings.Join(names, ", ") + " and others"
		}
		names = append(names, fmt.Sprintf("%q", s.Fields[i].Name))
	}
	return strings.Join(names, ", ")
}
