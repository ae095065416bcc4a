package arrowipc

import "fmt"

// The bounds of a schema.
const (
	// MaxFields is how many fields a schema may have, nested ones included.
	MaxFields = 1 << 16
	// MaxDepth is how deep fields may nest.
	MaxDepth = 64
)

// Kind is the kind of a type, with the numbers that Arrow gives them.
type Kind uint8

// The kinds.
const (
	Null            Kind = 1
	Int             Kind = 2
	Float           Kind = 3
	Binary          Kind = 4
	Utf8            Kind = 5
	Bool            Kind = 6
	Decimal         Kind = 7
	Date            Kind = 8
	Time            Kind = 9
	Timestamp       Kind = 10
	Interval        Kind = 11
	List            Kind = 12
	Struct          Kind = 13
	Union           Kind = 14
	FixedSizeBinary Kind = 15
	FixedSizeList   Kind = 16
	Map             Kind = 17
	Duration        Kind = 18
	LargeBinary     Kind = 19
	LargeUtf8       Kind = 20
	LargeList       Kind = 21
	RunEndEncoded   Kind = 22
	BinaryView      Kind = 23
	Utf8View        Kind = 24
	ListView        Kind = 25
	LargeListView   Kind = 26
)

// Type is the type of a field.
type Type struct {
	Kind Kind
	// Bits is the width of a value of fixed size: 8 to 64 for integers, 16 to 64
	// for floating-point numbers.
	Bits int
	// Signed tells of integers.
	Signed bool
	// Unit is what timestamps, durations, times and dates count, in nanoseconds.
	Unit int64
	// Size is the number of bytes of a FixedSizeBinary, and of elements of a
	// FixedSizeList.
	Size int
	// Dense tells of unions.
	Dense bool
}

// Field is a column, or a part of one.
type Field struct {
	Name     string
	Nullable bool
	// Type is that of the values, those of the dictionary where there is one.
	Type       Type
	Children   []Field
	Dictionary *Dictionary // nil for none
}

// Dictionary tells that a field holds indexes into a dictionary.
type Dictionary struct {
	ID    int64
	Index Type // an integer
}

// Schema is the schema of a stream or file.
type Schema struct {
	Fields   []Field
	Metadata []KeyValue
	// BigEndian tells of buffers in an order of bytes that is not supported.
	BigEndian bool
}

// KeyValue is a pair of the custom metadata.
type KeyValue struct{ Key, Value string }

// Value returns the value of a key, "" for none.
func (s *Schema) Value(key string) string {
	for _, kv := range s.Metadata {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

// header returns the schema as the header of a message.
func (s *Schema) header() table {
	fields := make(tables, len(s.Fields))
	for i := range s.Fields {
		fields[i] = s.Fields[i].table()
	}
	metadata := make(tables, len(s.Metadata))
	for i, kv := range s.Metadata {
		metadata[i] = table{ref(text(kv.Key)), ref(text(kv.Value))}
	}
	return table{num16(0), ref(fields), ref(metadata)}
}

func (f *Field) table() table {
	children := make(tables, len(f.Children))
	for i := range f.Children {
		children[i] = f.Children[i].table()
	}
	t := table{ref(text(f.Name)), flag(f.Nullable), num8(uint8(f.Type.Kind)), ref(f.Type.table()), {}, ref(children)}
	if d := f.Dictionary; d != nil {
		t[4] = ref(table{num64(d.ID), ref(d.Index.table()), flag(false)})
	}
	return t
}

// table returns the type for the kinds that are written.
func (t Type) table() table {
	switch t.Kind {
	case Int:
		return table{num32(int32(t.Bits)), flag(t.Signed)}
	case Float:
		return table{num16(int16(t.Bits / 32))} // half, single, double
	case Map:
		return table{flag(false)}
	}
	return table{}
}

// The nanoseconds of Arrow's units of time: second, milli-, micro- and
// nanosecond.
var units = [...]int64{1_000_000_000, 1_000_000, 1_000, 1}

const (
	nanosPerDay = 86_400_000_000_000
	milli       = 1 // index in units
)

func unit(n int64) int64 {
	if n < 0 || n >= int64(len(units)) {
		return 0
	}
	return units[n]
}

// readType returns the type of a field.
func readType(kind Kind, v view) Type {
	t := Type{Kind: kind}
	switch kind {
	case Int:
		t.Bits, t.Signed = int(v.number(0, 4, 0)), v.number(1, 1, 0) != 0
	case Float:
		t.Bits = 16 << max(0, min(2, v.number(0, 2, 0)))
	case Timestamp:
		t.Bits, t.Unit = 64, unit(v.number(0, 2, 0))
	case Duration:
		t.Bits, t.Unit = 64, unit(v.number(0, 2, milli))
	case Time:
		t.Bits, t.Unit = int(v.number(1, 4, 32)), unit(v.number(0, 2, milli))
	case Date:
		t.Bits, t.Unit = 64, units[milli]
		if v.number(0, 2, 1) == 0 {
			t.Bits, t.Unit = 32, nanosPerDay
		}
	case Interval:
		t.Bits = map[int64]int{0: 32, 1: 64, 2: 128}[v.number(0, 2, 0)]
	case Decimal:
		t.Bits = int(v.number(2, 4, 128))
	case FixedSizeBinary, FixedSizeList:
		t.Size = int(v.number(0, 4, 0))
	case Union:
		t.Dense = v.number(0, 2, 0) != 0
	}
	return t
}

// check reports a type that cannot be.
func (t Type) check() error {
	bad := t.Size < 0
	switch t.Kind {
	case Int, Time:
		bad = t.Bits != 8 && t.Bits != 16 && t.Bits != 32 && t.Bits != 64
	case Decimal, Interval:
		bad = t.Bits <= 0 || t.Bits > 256 || t.Bits%8 != 0
	}
	switch {
	case t.Kind < Null || t.Kind > LargeListView:
		return fmt.Errorf("of unknown type %d", t.Kind)
	case bad:
		return fmt.Errorf("of type %d with a width that it does not have", t.Kind)
	}
	return nil
}

// schemaReader reads the fields of a schema.
type schemaReader struct{ fields int }

func readSchema(v view) (*Schema, error) {
	s := &Schema{BigEndian: v.number(0, 2, 0) != 0}
	var err error
	if s.Fields, err = new(schemaReader).list(v, 1, 0); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	metadata, err := v.tables(2, MaxFields)
	if err != nil {
		return nil, fmt.Errorf("metadata of the schema: %w", err)
	}
	for _, kv := range metadata {
		s.Metadata = append(s.Metadata, KeyValue{kv.text(0), kv.text(1)})
	}
	return s, v.err()
}

func (r *schemaReader) list(v view, i, depth int) ([]Field, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("fields nest deeper than %d levels", MaxDepth)
	}
	list, err := v.tables(i, MaxFields)
	if err != nil {
		return nil, err
	}
	if r.fields += len(list); r.fields > MaxFields { // vectors may be shared
		return nil, fmt.Errorf("more than %d fields", MaxFields)
	}
	fields := make([]Field, len(list))
	for k, f := range list {
		if fields[k], err = r.field(f, depth); err != nil {
			return nil, err
		}
	}
	return fields, v.err()
}

func (r *schemaReader) field(v view, depth int) (f Field, err error) {
	f = Field{Name: v.text(0), Nullable: v.number(1, 1, 0) != 0, Type: readType(Kind(v.number(2, 1, 0)), v.table(3))}
	if err := f.Type.check(); err != nil {
		return f, fmt.Errorf("column %q is %w", f.Name, err)
	}
	if d := v.table(4); d.exists() {
		f.Dictionary = &Dictionary{ID: d.number(0, 8, 0), Index: Type{Kind: Int, Bits: 32, Signed: true}}
		if index := d.table(1); index.exists() {
			f.Dictionary.Index = readType(Int, index)
		}
		if err := f.Dictionary.Index.check(); err != nil {
			return f, fmt.Errorf("the dictionary of column %q has indexes %w", f.Name, err)
		}
	}
	f.Children, err = r.list(v, 5, depth+1)
	if err != nil {
		return f, err
	}
	return f, f.checkChildren()
}

// checkChildren reports a number of children that the type cannot have.
func (f *Field) checkChildren() error {
	var want int
	switch f.Type.Kind {
	case List, LargeList, ListView, LargeListView, FixedSizeList, Map:
		want = 1
	case RunEndEncoded:
		want = 2
	case Struct, Union:
		return nil
	default:
		want = 0
	}
	if len(f.Children) != want || f.Type.Kind == Map && (f.Children[0].Type.Kind != Struct || len(f.Children[0].Children) != 2) {
		return fmt.Errorf("column %q has children that its type does not have", f.Name)
	}
	return nil
}
