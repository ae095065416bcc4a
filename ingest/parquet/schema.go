package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// leaf is a column that holds values.
type leaf struct {
	path []string
	typ  lib.Type // the physical one
	// unsigned and decimal tell how integers are meant, and unit is what
	// timestamps count, in nanoseconds; 0 for no timestamp.
	unsigned, decimal bool
	unit              int64
	// maxDef is the definition level of a value, and maxRep the repetition level
	// of the innermost list.
	maxDef, maxRep int32
	// lists holds, for each list around the value, the definition level at
	// which it has an element.
	lists []int32
}

// name returns the path in dots.
func (l *leaf) name() string { return strings.Join(l.path, ".") }

func (l *leaf) isText() bool { return l.typ.Kind() >= lib.ByteArray }

// nullable reports whether definition level 0 makes the value of a row null,
// and not an empty list.
func (l *leaf) nullable() bool { return l.maxDef > 0 && (l.maxRep == 0 || l.lists[0] > 1) }

// is reports whether the leaf is the column that a field names. The groups in
// lists and maps are called differently by different writers.
func (l *leaf) is(column string) bool {
	name, part, ok := strings.Cut(column, ".")
	return l.path[0] == name && (!ok || l.path[len(l.path)-1] == part)
}

// schemaReader reads the columns and groups of a schema, which lists them in the order of
// a walk that visits parents first.
type schemaReader struct {
	elements []format.SchemaElement // the elements to come
	leaves   []leaf
}

// leavesOf returns the leaves of a schema in the order of the columns. The library, which
// reads a schema together with all row groups, follows one of any depth.
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

// group reads the children of a group. parent holds what they have in common.
func (s *schemaReader) group(children int32, parent leaf) error {
	if len(parent.path) >= MaxDepth {
		return fmt.Errorf("schema nests deeper than %d levels", MaxDepth)
	}
	for ; children > 0 && len(s.elements) > 0; children-- {
		e := &s.elements[0]
		s.elements = s.elements[1:]
		l := parent
		l.path = append(slices.Clip(parent.path), e.Name)
		switch e.RepetitionType.V {
		case format.Optional:
			l.maxDef++
		case format.Repeated:
			l.maxDef++
			l.maxRep++
			l.lists = append(slices.Clip(parent.lists), l.maxDef)
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

var physicalTypes = [...]lib.Type{
	lib.BooleanType, lib.Int32Type, lib.Int64Type, lib.Int96Type, lib.FloatType, lib.DoubleType, lib.ByteArrayType,
}

// maxFixedValueBytes is the largest size of values of a type of fixed size.
const maxFixedValueBytes = 1 << 16

func (l *leaf) setType(e *format.SchemaElement) error {
	switch typ, size := e.Type.V, e.TypeLength.V; {
	case !e.Type.Valid:
		return fmt.Errorf("column %q has no type", l.name())
	case typ == format.FixedLenByteArray && (size < 0 || size > maxFixedValueBytes):
		return fmt.Errorf("column %q holds values of %d bytes", l.name(), size)
	case typ == format.FixedLenByteArray:
		l.typ = lib.FixedLenByteArrayType(int(size))
	case typ < 0 || int(typ) >= len(physicalTypes):
		return fmt.Errorf("column %q is of unknown type %d", l.name(), typ)
	default:
		l.typ = physicalTypes[typ]
	}
	if e.ConvertedType.Valid {
		switch e.ConvertedType.V {
		case deprecated.TimestampMillis:
			l.unit = nanosPerMilli
		case deprecated.TimestampMicros:
			l.unit = nanosPerMicro
		case deprecated.Decimal:
			l.decimal = true
		case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
			l.unsigned = true
		}
	}
	switch t := e.LogicalType.Value.(type) {
	case *format.DecimalType:
		l.decimal = true
	case *format.IntType:
		l.unsigned = !t.IsSigned
	case *format.TimestampType:
		switch t.Unit.Value.(type) {
		case *format.MilliSeconds:
			l.unit = nanosPerMilli
		case *format.MicroSeconds:
			l.unit = nanosPerMicro
		case *format.NanoSeconds:
			l.unit = 1
		}
	}
	return nil
}

const (
	nanosPerMilli = 1_000_000
	nanosPerMicro = 1_000
)
