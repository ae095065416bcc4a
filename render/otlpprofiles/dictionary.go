package otlpprofiles

import (
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/render/internal/wire"
)

type dictionary struct {
	locations, functions, links, attributes, stacks table
	strings                                         symbols.Table[string]
}

// table is a table of a dictionary. Element 0 is the zero value, a null reference.
type table struct {
	elements []message
	places   symbols.Table[string] // by element in protobuf
}

// add returns the index of an element, and adds it if it is new.
func (t *table) add(element message) int32 {
	place := t.places.ID(string(element.AppendProto(nil)))
	if int(place) == len(t.elements) {
		t.elements = append(t.elements, element)
	}
	return place
}

func newDictionary() *dictionary {
	d := &dictionary{}
	d.strings.ID("")
	for _, t := range []*table{&d.locations, &d.functions, &d.links, &d.attributes, &d.stacks} {
		t.add(message{})
	}
	return d
}

func (d *dictionary) message() message {
	return message{
		wire.F(1, "mappingTable", []message{{}}), wire.F(2, "locationTable", d.locations.elements),
		wire.F(3, "functionTable", d.functions.elements), wire.F(4, "linkTable", d.links.elements),
		wire.F(5, "stringTable", d.strings.Values), wire.F(6, "attributeTable", d.attributes.elements),
		wire.F(7, "stackTable", d.stacks.elements),
	}
}

func (d *dictionary) valueType(name, unit string) message {
	return message{wire.F(1, "typeStrindex", d.strings.ID(name)), wire.F(2, "unitStrindex", d.strings.ID(unit))}
}

// location returns the location of a frame. code is the type of its runtime in semantic conventions
// (profile.frame.type), "" for an unknown runtime or a frame without one, such as a device.
func (d *dictionary) location(frame, code string) int32 {
	function := d.functions.add(message{wire.F(1, "nameStrindex", d.strings.ID(frame))})
	var attributes []int32
	if code != "" {
		attributes = append(attributes, d.attribute(keyFrameType, wire.TextValue(code)))
	}
	return d.locations.add(message{
		wire.F(3, "lines", []message{{wire.F(1, "functionIndex", function)}}),
		wire.F(4, "attributeIndices", attributes),
	})
}

// stack returns the stack of frames from the root down. code is the type of the last frame.
func (d *dictionary) stack(frames []string, code string) int32 {
	locations := make([]int32, len(frames))
	for i, name := range frames {
		of := ""
		if i == len(frames)-1 && name != stacks.Deeper {
			of = code
		}
		locations[len(frames)-1-i] = d.location(stacks.Name(name), of) // the leaf comes first
	}
	return d.stacks.add(message{wire.F(1, "locationIndices", locations)})
}

// link returns the link to the span of a request, 0 for unknown ids.
func (d *dictionary) link(r *stacks.Request) int32 {
	if r.TraceID.IsZero() || r.SpanID.IsZero() {
		return 0
	}
	return d.links.add(message{wire.F(1, "traceId", wire.ID(r.TraceID[:])), wire.F(2, "spanId", wire.ID(r.SpanID[:]))})
}

func (d *dictionary) attribute(key string, value message) int32 {
	return d.attributes.add(message{wire.F(1, "keyStrindex", d.strings.ID(key)), wire.F(2, "value", value)})
}
