package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// schemaElement is what is read of a SchemaElement: a column or group of a
// schema, which lists them in the order of a walk that visits parents first.
type schemaElement struct {
	Type       thrift.Null[format.Type]              `thrift:"1"`
	Size       int32                                 `thrift:"2"`
	Repetition format.FieldRepetitionType            `thrift:"3"`
	Name       string                                `thrift:"4"`
	Children   int32                                 `thrift:"5"`
	Converted  thrift.Null[deprecated.ConvertedType] `thrift:"6"`
	Logical    struct {
		Decimal   *struct{} `thrift:"5"`
		Timestamp *struct {
			Unit struct {
				Milli *struct{} `thrift:"1"`
				Micro *struct{} `thrift:"2"`
				Nano  *struct{} `thrift:"3"`
			} `thrift:"2"`
		} `thrift:"8"`
		Integer *struct {
			Signed thrift.Null[bool] `thrift:"2"`
		} `thrift:"10"`
	} `thrift:"10"`
}

// leaf is a column that holds values.
type leaf struct {
	path []string
	typ  format.Type
	// size is that of a value of a type of fixed size, else 0.
	size int
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

func (l *leaf) isText() bool { return l.typ == format.ByteArray || l.typ == format.FixedLenByteArray }

// nullable reports whether definition level 0 makes the value of a row null,
// and not an empty list.
func (l *leaf) nullable() bool { return l.maxDef > 0 && (l.maxRep == 0 || l.lists[0] > 1) }

// is reports whether the leaf is the column that a field names. The groups in
// lists and maps are called differently by different writers.
func (l *leaf) is(column string) bool {
	name, part, ok := strings.Cut(column, ".")
	if l.path[0] != name {
		return false
	}
	return !ok || l.path[len(l.path)-1] == part
}

// leavesOf returns the leaves of a schema in the order of the columns.
func leavesOf(elements []schemaElement) ([]leaf, error) {
	if len(elements) == 0 {
		return nil, nil
	}
	s := schemaReader{elements: elements[1:]}
	if err := s.group(elements[0].Children, leaf{}); err != nil {
		return nil, err
	}
	if len(s.elements) > 0 {
		return nil, errors.New("schema has columns outside its root")
	}
	return s.leaves, nil
}

type schemaReader struct {
	elements []schemaElement // the elements to come
	leaves   []leaf
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
		switch e.Repetition {
		case format.Optional:
			l.maxDef++
		case format.Repeated:
			l.maxDef++
			l.maxRep++
			l.lists = append(slices.Clip(parent.lists), l.maxDef)
		}
		if e.Children > 0 {
			if err := s.group(e.Children, l); err != nil {
				return err
			}
			continue
		}
		if err := l.setType(e); err != nil {
			return err
		}
		s.leaves = append(s.leaves, l)
	}
	return nil
}

// maxFixedValueBytes is the largest size of values of a type of fixed size.
const maxFixedValueBytes = 1 << 16

var typeSizes = [...]int{
	format.Int32: 4, format.Int64: 8, format.Int96: 12, format.Float: 4, format.Double: 8, format.FixedLenByteArray: 0,
}

func (l *leaf) setType(e *schemaElement) error {
	l.typ = e.Type.V
	switch {
	case !e.Type.Valid:
		return fmt.Errorf("column %q has no type", l.name())
	case l.typ < format.Boolean || l.typ > format.FixedLenByteArray:
		return fmt.Errorf("column %q is of unknown type %d", l.name(), l.typ)
	case l.typ == format.FixedLenByteArray && (e.Size < 0 || e.Size > maxFixedValueBytes):
		return fmt.Errorf("column %q holds values of %d bytes", l.name(), e.Size)
	}
	if l.size = typeSizes[l.typ]; l.typ == format.FixedLenByteArray {
		l.size = int(e.Size)
	}
	if e.Converted.Valid {
		switch e.Converted.V {
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
	if e.Logical.Decimal != nil {
		l.decimal = true
	}
	if t := e.Logical.Integer; t != nil && t.Signed.Valid {
		l.unsigned = !t.Signed.V
	}
	if t := e.Logical.Timestamp; t != nil {
		switch {
		case t.Unit.Milli != nil:
			l.unit = nanosPerMilli
		case t.Unit.Micro != nil:
			l.unit = nanosPerMicro
		case t.Unit.Nano != nil:
			l.unit = 1
		}
	}
	return nil
}

const (
	nanosPerMilli = 1_000_000
	nanosPerMicro = 1_000
)
