package parquet

import (
	"errors"
	"fmt"
	"strings"
)

// physical is how values are stored.
type physical int

const (
	physBoolean physical = iota
	physInt32
	physInt64
	physInt96
	physFloat
	physDouble
	physBytes
	physFixed
)

// leaf is a column that holds values.
type leaf struct {
	path []string
	typ  physical
	// size is that of a value of type physFixed.
	size int
	// unsigned and decimal tell how integers are meant, and unit is what
	// timestamps count, in nanoseconds; 0 for no timestamp.
	unsigned, decimal bool
	unit              int64
	// maxDef is the definition level of a value, and maxRep the repetition level
	// of the innermost list.
	maxDef, maxRep int
	// lists holds, for each list around the value, the definition level at
	// which it has an element.
	lists []int
}

// name returns the path in dots.
func (l *leaf) name() string { return strings.Join(l.path, ".") }

func (l *leaf) isText() bool { return l.typ == physBytes || l.typ == physFixed }

// nullable reports whether definition level 0 makes a row's value null, and
// not an empty list.
func (l *leaf) nullable() bool { return l.maxDef > 0 && (l.maxRep == 0 || l.lists[0] > 1) }

// element is a column or group of a schema, which lists them in the order of a
// walk that visits parents first.
type element struct {
	name       string
	children   int64
	repetition int64
	leaf       leaf
	isLeaf     bool
}

// The values of the fields repetition_type and converted_type.
const (
	repetitionOptional = 1
	repetitionRepeated = 2

	convertedDecimal   = 5
	convertedMillis    = 9
	convertedMicros    = 10
	convertedUint8     = 11
	convertedUint64    = 14
	logicalDecimal     = 5
	logicalTimestamp   = 8
	logicalInteger     = 10
	nanosPerMilli      = 1_000_000
	nanosPerMicro      = 1_000
	maxFixedValueBytes = 1 << 16
)

// readElement reads a SchemaElement.
func readElement(r *thriftReader) element {
	e := element{}
	for f := range r.fields() {
		switch f.id {
		case 1:
			e.leaf.typ, e.isLeaf = physical(r.int(f)), true
		case 2:
			e.leaf.size = int(r.int(f))
		case 3:
			e.repetition = r.int(f)
		case 4:
			e.name = string(r.bytes(f))
		case 5:
			e.children = r.int(f)
		case 6:
			e.leaf.setConverted(r.int(f))
		case 10:
			if f.typ == thriftStruct {
				e.leaf.readLogical(r)
			}
		}
	}
	return e
}

func (l *leaf) setConverted(converted int64) {
	switch {
	case converted == convertedMillis:
		l.unit = nanosPerMilli
	case converted == convertedMicros:
		l.unit = nanosPerMicro
	case converted == convertedDecimal:
		l.decimal = true
	case convertedUint8 <= converted && converted <= convertedUint64:
		l.unsigned = true
	}
}

// readLogical reads a LogicalType, a union.
func (l *leaf) readLogical(r *thriftReader) {
	for f := range r.fields() {
		if f.typ != thriftStruct {
			continue
		}
		switch f.id {
		case logicalDecimal:
			l.decimal = true
		case logicalTimestamp:
			for f := range r.fields() {
				if f.id == 2 && f.typ == thriftStruct { // the unit, a union again
					l.readUnit(r)
				}
			}
		case logicalInteger:
			for f := range r.fields() {
				if f.id == 2 {
					l.unsigned = f.typ == thriftFalse
				}
			}
		}
	}
}

func (l *leaf) readUnit(r *thriftReader) {
	units := [...]int64{1: nanosPerMilli, 2: nanosPerMicro, 3: 1}
	for f := range r.fields() {
		if 0 < f.id && f.id < len(units) {
			l.unit = units[f.id]
		}
	}
}

// group is a group of the schema whose children are being read.
type group struct {
	left             int64
	def, path, lists int
}

// readSchema reads the elements of a schema and returns its leaves in the order
// of the columns.
func readSchema(r *thriftReader, n int) ([]leaf, error) {
	if n > MaxColumns {
		return nil, fmt.Errorf("schema of more than %d columns", MaxColumns)
	}
	var leaves []leaf
	var path []string
	var lists []int
	groups := []group{{left: 1}}
	for range n {
		for len(groups) > 0 && groups[len(groups)-1].left == 0 {
			groups = groups[:len(groups)-1]
		}
		if len(groups) == 0 {
			return nil, errors.New("schema has columns outside its root")
		}
		parent := &groups[len(groups)-1]
		parent.left--
		e := readElement(r)
		if r.err != nil {
			return nil, fmt.Errorf("schema: %w", r.err)
		}
		path, lists = path[:parent.path], lists[:parent.lists]
		g := group{left: e.children, def: parent.def}
		if len(groups) > 1 { // the root has neither name nor level
			path = append(path, e.name)
			switch e.repetition {
			case repetitionOptional:
				g.def++
			case repetitionRepeated:
				g.def++
				lists = append(lists, g.def)
			}
		}
		g.path, g.lists = len(path), len(lists)
		if e.children > 0 {
			if len(groups) > MaxDepth {
				return nil, fmt.Errorf("schema nests deeper than %d levels", MaxDepth)
			}
			groups = append(groups, g)
			continue
		}
		if len(groups) == 1 {
			continue // a table without columns
		}
		if !e.isLeaf {
			return nil, fmt.Errorf("column %q has no type", strings.Join(path, "."))
		}
		l := e.leaf
		l.path = append([]string(nil), path...)
		l.lists = append([]int(nil), lists...)
		l.maxDef, l.maxRep = g.def, len(lists)
		if err := l.check(); err != nil {
			return nil, err
		}
		leaves = append(leaves, l)
	}
	return leaves, nil
}

func (l *leaf) check() error {
	switch {
	case l.typ < physBoolean || l.typ > physFixed:
		return fmt.Errorf("column %q is of unknown type %d", l.name(), l.typ)
	case l.typ == physFixed && (l.size < 0 || l.size > maxFixedValueBytes):
		return fmt.Errorf("column %q holds values of %d bytes", l.name(), l.size)
	}
	return nil
}
