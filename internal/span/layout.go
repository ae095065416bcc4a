package span

import (
	"math"
	"reflect"
	"slices"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
)

// layout mirrors the unexported fields of attribute.Value, which may change with any version of OpenTelemetry: layoutOf
// may be called only where LayoutKnown reports true.
type layout struct {
	typ    attribute.Type
	number uint64 // of a BOOL, INT64 or FLOAT64
	text   string // of a STRING or BYTESLICE
	list   any    // of all other types: an array
}

func layoutOf(v *attribute.Value) *layout { return (*layout)(unsafe.Pointer(v)) }

// LayoutKnown reports whether the attribute.Value of this version of OpenTelemetry has the four fields of layout and
// uses only one of number, text and list. Two values with equal memory are then equal, for types up to attribute.MAP.
func LayoutKnown() bool { return layoutKnown }

var layoutKnown = hasFields() && holdsScalars() && holdsLists(0) && holdsLists(2) && holdsLists(7)

// Words returns the number, the text and the address of the list of v. Copies of v have the same address.
// LayoutKnown must report true.
func Words(v *attribute.Value) (number uint64, text string, list uintptr) {
	l := layoutOf(v)
	return l.number, l.text, uintptr(l.array())
}

// array returns the address of the array: the second word of an interface.
func (l *layout) array() unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&l.list))[1] }

// size returns how many bytes the array takes, 0 without an array.
func (l *layout) size() int {
	if t := reflect.TypeOf(l.list); t != nil && t.Kind() == reflect.Array {
		return int(t.Size())
	}
	return 0
}

// elements returns the elements of the array, of type T, without a copy.
func elements[T any](l *layout) []T {
	return unsafe.Slice((*T)(l.array()), l.size()/int(unsafe.Sizeof(*new(T))))
}

func hasFields() bool {
	got, want := reflect.TypeFor[attribute.Value](), reflect.TypeFor[layout]()
	if got.Kind() != reflect.Struct || got.NumField() != want.NumField() {
		return false
	}
	for i := range want.NumField() {
		if got.Field(i).Type != want.Field(i).Type {
			return false
		}
	}
	const types = attribute.MAP + 1 // holdsScalars and holdsLists try that many
	return types == 12 && unsafe.Sizeof(attribute.KeyValue{}) == unsafe.Sizeof(attribute.Key(""))+got.Size()
}

func holdsScalars() bool {
	const text = "text"
	for _, want := range []struct {
		v attribute.Value
		layout
	}{
		{attribute.Value{}, layout{}},
		{attribute.BoolValue(true), layout{typ: attribute.BOOL, number: 1}},
		{attribute.Int64Value(math.MaxInt64), layout{typ: attribute.INT64, number: math.MaxInt64}},
		{attribute.Float64Value(0.1), layout{typ: attribute.FLOAT64, number: math.Float64bits(0.1)}},
		{attribute.StringValue(text), layout{typ: attribute.STRING, text: text}},
		{attribute.ByteSliceValue([]byte(text)), layout{typ: attribute.BYTESLICE, text: text}},
	} {
		if got := layoutOf(&want.v); got.list != nil || *got != want.layout {
			return false
		}
	}
	return true
}

// holdsLists reports whether a list of n elements, at most 7, is an array, for each type of list.
func holdsLists(n int) bool {
	bools := []bool{true, false, true, true, false, true, false}[:n]
	numbers := []int64{1, 2, 3, 4, 5, 6, 7}[:n]
	floats := []float64{1, 2, 3, 4, 5, 6, 7}[:n]
	texts := []string{"a", "b", "c", "d", "e", "f", "g"}[:n]
	values := make([]attribute.Value, n)
	pairs := make([]attribute.KeyValue, n)
	for i := range n {
		values[i] = attribute.IntValue(i)
		pairs[i] = attribute.Int(texts[i], i)
	}
	return holds(attribute.BoolSliceValue(bools), attribute.BOOLSLICE, bools) &&
		holds(attribute.Int64SliceValue(numbers), attribute.INT64SLICE, numbers) &&
		holds(attribute.Float64SliceValue(floats), attribute.FLOAT64SLICE, floats) &&
		holds(attribute.StringSliceValue(texts), attribute.STRINGSLICE, texts) &&
		holds(attribute.SliceValue(values...), attribute.SLICE, values) &&
		holds(attribute.MapValue(pairs...), attribute.MAP, pairs)
}

func holds[T comparable](v attribute.Value, typ attribute.Type, want []T) bool {
	l := layoutOf(&v)
	return l.typ == typ && l.number == 0 && l.text == "" &&
		reflect.TypeOf(l.list) == reflect.ArrayOf(len(want), reflect.TypeFor[T]()) && slices.Equal(want, elements[T](l))
}
