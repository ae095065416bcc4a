package span

import (
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

// minList is about the smallest size of a list.
const minList = 16

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
