package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/parquet/internal/rows"
)

// leaf is a column of values.
type leaf struct {
	rows.Form
	path     []string
	typ      format.Type
	size     int // bytes of a value of fixed size, else 0
	kind     rows.ValueKind
	unsigned bool
}

// name returns the path with dots.
func (l *leaf) name() string { return strings.Join(l.path, ".") }

// is reports whether the leaf is the named column. It ignores the groups within lists and maps, because
// writers name them differently.
func (l *leaf) is(column string) bool {
	name, part, ok := strings.Cut(column, ".")
	return l.path[0] == name && (!ok || l.path[len(l.path)-1] == part)
}

// schemaReader reads the columns and groups of a schema in depth-first order.
type schemaReader struct {
	elements []format.SchemaElement // not yet read
	leaves   []leaf
}

// leavesOf returns the leaves of a schema in the order of the columns. Unlike the library it limits the
// depth and does not read the row groups.
func leavesOf(elements []format.SchemaElement) ([]leaf, error) {
	if len(elements) == 0 {
		return nil, nil
	}
	s := schemaReader{elements: elements[1:]}
	err := s.group(elements[0].NumChildren.V, leaf{})
	if err == nil && len(s.elements) > 0 {
		err = errors.New("schema has columns outside its root")
	}
	return s.leaves, err
}

// group reads the children of a group. A child starts as a copy of parent.
func (s *schemaReader) group(children int32, parent leaf) error {
	if len(parent.path) >= maxDepth {
		return fmt.Errorf("schema nests deeper than %d levels", maxDepth)
	}
	for ; children > 0 && len(s.elements) > 0; children-- {
		e := &s.elements[0]
		s.elements = s.elements[1:]
		l := parent
		l.path = append(slices.Clip(parent.path), e.Name)
		switch e.RepetitionType.V {
		case format.Optional:
			l.MaxDef++
		case format.Repeated:
			l.MaxDef++
			l.MaxRep++
			l.Lists = append(slices.Clip(parent.Lists), l.MaxDef)
		}
		var err error
		if e.NumChildren.V > 0 {
			err = s.group(e.NumChildren.V, l)
		} else if err = l.setType(e); err == nil {
			s.leaves = append(s.leaves, l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// physicalTypes has the size and the kind of each type.
var physicalTypes = [...]struct {
	size int
	kind rows.ValueKind
}{
	format.Boolean: {0, rows.Boolean}, format.Int32: {4, rows.Integer}, format.Int64: {8, rows.Integer},
	format.Int96: {12, rows.Integer}, format.Float: {4, rows.Float}, format.Double: {8, rows.Float},
	format.ByteArray: {0, rows.Text}, format.FixedLenByteArray: {0, rows.Bytes},
}

const maxFixedValueBytes = 1 << 16

func (l *leaf) setType(e *format.SchemaElement) error {
	typ := e.Type.V
	size := e.TypeLength.V
	isDecimal := false
	switch {
	case !e.Type.Valid:
		return fmt.Errorf("column %q has no type", l.name())
	case typ < 0 || int(typ) >= len(physicalTypes):
		return fmt.Errorf("column %q is of unknown type %d", l.name(), typ)
	case typ == format.FixedLenByteArray && (size < 0 || size > maxFixedValueBytes):
		return fmt.Errorf("column %q holds values of %d bytes", l.name(), size)
	}
	l.typ = typ
	l.size = physicalTypes[typ].size
	l.kind = physicalTypes[typ].kind
	if typ == format.FixedLenByteArray {
		l.size = int(size)
	}
	l.Text = l.kind == rows.Text || l.kind == rows.Bytes
	switch e.ConvertedType.V {
	case deprecated.TimestampMillis:
		l.Unit = nanosPerMilli
	case deprecated.TimestampMicros:
		l.Unit = nanosPerMicro
	case deprecated.Decimal:
		isDecimal = true
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		l.unsigned = true
	}
	switch t := e.LogicalType.Value.(type) {
	case *format.DecimalType:
		isDecimal = true
	case *format.IntType:
		l.unsigned = !t.IsSigned
	case *format.TimestampType:
		switch t.Unit.Value.(type) {
		case *format.MilliSeconds:
			l.Unit = nanosPerMilli
		case *format.MicroSeconds:
			l.Unit = nanosPerMicro
		case *format.NanoSeconds:
			l.Unit = 1
		}
	}
	if isDecimal && l.kind == rows.Integer {
		l.kind = rows.Number
	}
	return nil
}

const (
	nanosPerMilli = 1_000_000
	nanosPerMicro = 1_000
)
