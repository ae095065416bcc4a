package span

import (
	"reflect"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Memory returns about how many bytes attributes refer to: their keys, texts and lists, which count for each attribute
// that shares them. It does not allocate.
func Memory(attrs []attribute.KeyValue) (bytes int) {
	for i := range attrs {
		bytes += len(attrs[i].Key) + valueMemory(&attrs[i].Value, 0)
	}
	return bytes
}

// Bytes returns about how much memory a span takes that has ended.
func Bytes(name string, s sdktrace.Status, attrs []attribute.KeyValue, events []sdktrace.Event, links []sdktrace.Link) int {
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

// minList is about the least that a list takes.
const minList = 16

// valueMemory returns about how many bytes a value refers to: a text, or a list as an array.
func valueMemory(v *attribute.Value, depth int) int {
	switch v.Type() {
	case attribute.EMPTY, attribute.BOOL, attribute.INT64, attribute.FLOAT64:
		return 0
	case attribute.STRING, attribute.BYTESLICE:
		return len(v.AsString()) // what AsByteSlice copies
	}
	list := listOf(v)
	typ := reflect.TypeOf(list)
	if typ == nil || typ.Kind() != reflect.Array {
		return 0
	}
	bytes := max(minList, int(typ.Size()))
	if depth == MaxValueDepth {
		return bytes
	}
	switch n, at := typ.Len(), pointerOf(&list); v.Type() {
	case attribute.BOOLSLICE:
		bytes *= 8 // formats write as much for one as for a number
	case attribute.STRINGSLICE:
		for _, s := range unsafe.Slice((*string)(at), n) {
			bytes += len(s)
		}
	case attribute.SLICE:
		elements := unsafe.Slice((*attribute.Value)(at), n)
		for i := range elements {
			bytes += valueMemory(&elements[i], depth+1)
		}
	case attribute.MAP:
		elements := unsafe.Slice((*attribute.KeyValue)(at), n)
		for i := range elements {
			bytes += len(elements[i].Key) + valueMemory(&elements[i].Value, depth+1)
		}
	}
	return bytes
}

// listOf returns the array that v, a list, holds in its last field; the methods of a value return copies.
func listOf(v *attribute.Value) any {
	const size = unsafe.Sizeof(any(nil))
	return *(*any)(unsafe.Add(unsafe.Pointer(v), unsafe.Sizeof(*v)-size))
}

// pointerOf returns the address of the array in an interface.
func pointerOf(list *any) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(list), unsafe.Sizeof(uintptr(0))))
}
