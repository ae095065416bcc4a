package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/ingest/internal/rows"
)

// leaf is a column that holds values.
type leaf struct {
	rows.Form
	path              []string
	typ               lib.Type // the physical one
	unsigned, decimal bool     // how integers are meant
}

// name returns the path in dots.
func (l *leaf) name() string { return strings.Join(l.path, ".") }

// nullable reports whether definition level 0 makes the value of a row null,
// and not an empty list.
func (l *leaf) nullable() bool { return l.MaxDef > 0 && (l.MaxRep == 0 || l.Lists[0] > 1) }

// value returns a value as it is meant. A timestamp of 96 bits, the nanoseconds of the day
// and the Julian day, becomes the Unix time in nanoseconds, which wraps around outside the
// years 1678 to 2262.
func (l *leaf) value(v lib.Value) rows.Value {
	n := v.Int64()
	switch l.typ.Kind() {
	case lib.Boolean:
		return rows.Value{Kind: rows.Boolean, Int: n}
	case lib.Float:
		return rows.Value{Kind: rows.Float, Float: float64(v.Float())}
	case lib.Double:
		return rows.Value{Kind: rows.Float, Float: v.Double()}
	case lib.ByteArray:
		return rows.Value{Kind: rows.Text, Bytes: v.ByteArray()}
	case lib.FixedLenByteArray:
		return rows.Value{Kind: rows.Bytes, Bytes: v.ByteArray()}
	case lib.Int96:
		const unixEpochDay, nanosPerDay = 2_440_588, 86_400_000_000_000
		t := v.Int96()
		n = (int64(int32(t[2]))-unixEpochDay)*nanosPerDay + int64(uint64(t[1])<<32|uint64(t[0]))
	case lib.Int32:
		if n = int64(int32(n)); l.unsigned {
			n = int64(uint32(n))
		}
	}
	if l.decimal || l.unsigned && n < 0 {
		return rows.Value{Kind: rows.Number, Int: n}
	}
	return rows.Value{Kind: rows.Integer, Int: n}
}

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
	l.Text = l.typ.Kind() >= lib.ByteArray
	if e.ConvertedType.Valid {
		switch e.ConvertedType.V {
		case deprecated.TimestampMillis:
			l.Unit = nanosPerMilli
		case deprecated.TimestampMicros:
			l.Unit = nanosPerMicro
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
			l.Unit = nanosPerMilli
		case *format.MicroSeconds:
			l.Unit = nanosPerMicro
		case *format.NanoSeconds:
			l.Unit = 1
		}
	}
	return nil
}

const (
	nanosPerMilli = 1_000_000
	nanosPerMicro = 1_000
)
