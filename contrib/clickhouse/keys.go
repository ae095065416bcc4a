package clickhouse

import (
	"errors"

	"github.com/optrace/optrace/analyze/key"
)

// keyColumn is a key of groups as an expression.
type keyColumn struct {
	expr   string // of type Nullable(String)
	number bool   // the values are integers
}

// keyColumnOf returns the expression of a key. Rows do not have the local root.
func keyColumnOf(k key.Key) (keyColumn, error) {
	if name := k.Attr(); name != "" {
		at := "indexOf(attr_k, " + quote(name) + ")"
		return keyColumn{expr: "if(" + at + " > 0, attr_v[" + at + "], NULL)"}, nil
	}
	switch name := k.String(); name {
	case "operation", "kind", "service", "path":
		return keyColumn{expr: "nullIf(" + name + ", '')"}, nil
	case "shape":
		return keyColumn{expr: "nullIf(shapes, '')"}, nil
	case "error":
		return keyColumn{expr: "if(failed = 1, error, NULL)"}, nil
	case "device":
		return keyColumn{expr: "device_id"}, nil
	case "rank", "stream", "step":
		return keyColumn{expr: "toString(" + name + ")", number: true}, nil
	case "trace":
		return keyColumn{expr: "if(trace_id = '' OR startsWith(trace_id, '6f70747261636501'), NULL, trace_id)"}, nil
	}
	return keyColumn{}, errors.New("groups by root need the structure of the run: convert the records, and use optrace report")
}
