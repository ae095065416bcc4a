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
	path     []string
	typ      lib.Type // the physical one
	kind     rows.ValueKind
	unsigned bool
}

// name returns the path in dots.
func (l *leaf) name() string { return strings.Join(l.path, ".") }

// value returns a value as it is meant. A timestamp of 96 bits, the nanoseconds of the day
// and the Julian day, becomes the Unix time in nanoseconds, which wraps around outside the
// years 1678 to 2262.
func (l *leaf) value(v lib.Value) rows.Value {
	to := rows.Value{Kind: l.kind, Int: v.Int64()}
	switch l.typ.Kind() {
	case lib.ByteArray, lib.FixedLenByteArray:
		to.Bytes = v.ByteArray()
	case lib.Float:
		to.Float = float64(v.Float())
	case lib.Double:
		to.Float = v.Double()
	case lib.Int32:
		if to.Int = int64(v.Int32()); l.unsigned {
			to.Int = int64(v.Uint32())
		}
	case lib.Int96:
		const unixEpochDay, nanosPerDay = 2_440_588, 86_400_000_000_000
		t := v.Int96()
		to.Int = (int64(int32(t[2]))-unixEpochDay)*nanosPerDay + int64(uint64(t[1])<<32|uint64(t[0]))
	}
	if to.Kind == rows.Integer && l.unsigned && to.Int < 0 {
		to.Kind = rows.Number
	}
	return to
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

// physicalTypes are the types that the library decodes, and what their values are.
var physicalTypes = [...]struct {
	typ  lib.Type
	kind rows.ValueKind
}{
	{lib.BooleanType, rows.Boolean}, {lib.Int32Type, rows.Integer}, {lib.Int64Type, rows.Integer}, {lib.Int96Type, rows.Integer},
	{lib.FloatType, rows.Float}, {lib.DoubleType, rows.Float}, {lib.ByteArrayType, rows.Text}, {nil, rows.Bytes},
}

// maxFixedValueBytes is the largest size of values of a type of fixed size.
const maxFixedValueBytes = 1 << 16

func (l *leaf) setType(e *format.SchemaElement) error {
	typ, size, isDecimal := e.Type.V, e.TypeLength.V, false
	switch {
	case !e.Type.Valid:
		return fmt.Errorf("column %q has no type", l.name())
	case typ < 0 || int(typ) >= len(physicalTypes):
		return fmt.Errorf("column %q is of unknown type %d", l.name(), typ)
	case typ == format.FixedLenByteArray && (size < 0 || size > maxFixedValueBytes):
		return fmt.Errorf("column %q holds values of %d bytes", l.name(), size)
	}
	l.typ, l.kind = physicalTypes[typ].typ, physicalTypes[typ].kind
	if l.typ == nil {
		l.typ = lib.FixedLenByteArrayType(int(size))
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
