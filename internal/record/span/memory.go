package span

import (
	"math"
	"reflect"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Memory returns about the number of bytes that attributes refer to: keys, texts and lists. Shared ones count for each
// attribute. It does not allocate if [LayoutKnown] reports true.
func Memory(attrs []attribute.KeyValue) int { return memory(attrs, 0) }

func memory(attrs []attribute.KeyValue, depth int) (bytes int) {
	for i := range attrs {
		bytes += len(attrs[i].Key) + valueMemory(&attrs[i].Value, depth)
	}
	return bytes
}

// Bytes returns about the memory of an ended span in bytes.
func Bytes(name string, s sdktrace.Status, attrs []attribute.KeyValue, events []sdktrace.Event,
	links []sdktrace.Link) int {
	const snapshot, part = 416, 128
	n := snapshot + len(name) + len(s.Description) + attributeBytes(attrs)
	for i := range events {
		n += part + len(events[i].Name) + attributeBytes(events[i].Attributes)
	}
	for i := range links {
		n += part + attributeBytes(links[i].Attributes)
	}
	return n
}

func attributeBytes(attrs []attribute.KeyValue) int {
	return len(attrs)*int(unsafe.Sizeof(attribute.KeyValue{})) + Memory(attrs)
}

const minList = 16 // about the smallest size of a list

// valueMemory returns about the number of bytes that a value refers to: a text, or a list as an array.
func valueMemory(v *attribute.Value, depth int) int {
	switch {
	case depth > MaxValueDepth:
		return 0
	case !layoutKnown:
		return copiedMemory(v, depth)
	}
	l := layoutOf(v)
	if l.list == nil {
		return len(l.text)
	}
	bytes := max(minList, l.size())
	switch l.typ {
	case attribute.BOOLSLICE:
		bytes = max(minList, number*l.size()) // formats write as much for a bool as for a number
	case attribute.STRINGSLICE:
		for _, s := range elements[string](l) {
			bytes += len(s)
		}
	case attribute.SLICE:
		list := elements[attribute.Value](l)
		for i := range list {
			bytes += valueMemory(&list[i], depth+1)
		}
	case attribute.MAP:
		bytes += memory(elements[attribute.KeyValue](l), depth+1)
	}
	return bytes
}

func copiedMemory(v *attribute.Value, depth int) (bytes int) {
	element := number
	switch v.Type() {
	case attribute.EMPTY, attribute.BOOL, attribute.INT64, attribute.FLOAT64:
		return 0
	case attribute.BYTESLICE:
		return len(v.AsByteSlice())
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE:
	case attribute.STRINGSLICE:
		element = int(unsafe.Sizeof(""))
	case attribute.SLICE:
		element = int(unsafe.Sizeof(*v))
	case attribute.MAP:
		pairs := v.AsMap()
		return max(minList, len(pairs)*int(unsafe.Sizeof(attribute.KeyValue{}))+memory(pairs, depth+1))
	default: // a text, or a type of a later version
		return len(v.String())
	}
	EachElement(*v, func(e attribute.Value) { bytes += element + valueMemory(&e, depth+1) })
	return max(minList, bytes)
}

// layout mirrors the unexported fields of attribute.Value. Call layoutOf only if LayoutKnown reports true.
type layout struct {
	typ    attribute.Type
	number uint64 // of a BOOL, INT64 or FLOAT64
	text   string // of a STRING or BYTESLICE
	list   any    // of all other types: an array
}

func layoutOf(v *attribute.Value) *layout { return (*layout)(unsafe.Pointer(v)) }

// LayoutKnown reports whether this version's attribute.Value has the four fields of layout and uses only one of
// number, text and list. Two values of equal memory are then equal, for types up to attribute.MAP.
func LayoutKnown() bool { return layoutKnown }

var layoutKnown = hasFields() && holdsValues()

// Words returns the number, the text and the address of the list of v, shared by its copies, if LayoutKnown.
func Words(v *attribute.Value) (number uint64, text string, list uintptr) {
	l := layoutOf(v)
	return l.number, l.text, uintptr(l.array())
}

// array returns the address of the array, the second word of an interface.
func (l *layout) array() unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&l.list))[1] }

func (l *layout) size() int {
	if t := reflect.TypeOf(l.list); t != nil && t.Kind() == reflect.Array {
		return int(t.Size())
	}
	return 0
}

func elements[T any](l *layout) []T {
	return unsafe.Slice((*T)(l.array()), l.size()/int(unsafe.Sizeof(*new(T))))
}

func hasFields() bool {
	got := reflect.TypeFor[attribute.Value]()
	want := reflect.TypeFor[layout]()
	if got.Kind() != reflect.Struct || got.NumField() != want.NumField() {
		return false
	}
	for i := range want.NumField() {
		if got.Field(i).Type != want.Field(i).Type {
			return false
		}
	}
	return unsafe.Sizeof(attribute.KeyValue{}) == unsafe.Sizeof(attribute.Key(""))+got.Size()
}

// holdsValues reports whether values up to attribute.MAP lie in memory like layout. Lists rely on numbers.
func holdsValues() bool {
	one := attribute.IntValue(1)
	two := attribute.IntValue(2)
	pairs := make([]attribute.KeyValue, 7)
	pairs[5] = attribute.KeyValue{Key: "a", Value: one}
	pairs[6] = attribute.KeyValue{Key: "b", Value: two}
	for _, want := range []struct {
		v attribute.Value
		layout
	}{
		{attribute.Value{}, layout{}},
		{attribute.BoolValue(true), layout{attribute.BOOL, 1, "", nil}},
		{attribute.Int64Value(math.MaxInt64), layout{attribute.INT64, math.MaxInt64, "", nil}},
		{attribute.Float64Value(0.1), layout{attribute.FLOAT64, math.Float64bits(0.1), "", nil}},
		{attribute.StringValue("a"), layout{attribute.STRING, 0, "a", nil}},
		{attribute.ByteSliceValue([]byte("a")), layout{attribute.BYTESLICE, 0, "a", nil}},
		{attribute.BoolSliceValue([]bool{true, false}), layout{attribute.BOOLSLICE, 0, "", [2]bool{true, false}}},
		{attribute.BoolSliceValue(make([]bool, 7)), layout{attribute.BOOLSLICE, 0, "", [7]bool{}}},
		{attribute.Int64SliceValue([]int64{1, 2}), layout{attribute.INT64SLICE, 0, "", [2]int64{1, 2}}},
		{attribute.Int64SliceValue(make([]int64, 7)), layout{attribute.INT64SLICE, 0, "", [7]int64{}}},
		{attribute.Float64SliceValue([]float64{1, 2}), layout{attribute.FLOAT64SLICE, 0, "", [2]float64{1, 2}}},
		{attribute.Float64SliceValue(make([]float64, 7)), layout{attribute.FLOAT64SLICE, 0, "", [7]float64{}}},
		{attribute.StringSliceValue([]string{"a", "b"}), layout{attribute.STRINGSLICE, 0, "", [2]string{"a", "b"}}},
		{attribute.StringSliceValue(make([]string, 7)), layout{attribute.STRINGSLICE, 0, "", [7]string{}}},
		{attribute.SliceValue(one, two), layout{attribute.SLICE, 0, "", [2]attribute.Value{one, two}}},
		{attribute.SliceValue(make([]attribute.Value, 7)...), layout{attribute.SLICE, 0, "", [7]attribute.Value{}}},
		{attribute.MapValue(pairs[5:]...), layout{attribute.MAP, 0, "", [2]attribute.KeyValue(pairs[5:])}},
		{attribute.MapValue(pairs...), layout{attribute.MAP, 0, "", [7]attribute.KeyValue(pairs)}},
	} {
		if *layoutOf(&want.v) != want.layout {
			return false
		}
	}
	return attribute.MAP == 11 // without gaps above
}
