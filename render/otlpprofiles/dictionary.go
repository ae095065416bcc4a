package otlpprofiles

import (
	"encoding/binary"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/render/internal/wire"
)

// dictionary builds the tables that profiles refer to. The element 0 of each is its zero
// value, which stands for none.
type dictionary struct {
	tables     tables
	strings    map[string]int32
	locations  map[frame]int32
	functions  map[int32]int32  // by string
	stacks     map[string]int32 // by locations
	links      map[stacks.Request]int32
	attributes map[[2]string]int32 // by key and text
}

func newDictionary() *dictionary {
	return &dictionary{
		tables: tables{
			Mappings: make([]struct{}, 1), Locations: make([]location, 1), Functions: make([]function, 1),
			Links: make([]link, 1), Strings: []string{""}, Attributes: make([]attribute, 1), Stacks: make([]stack, 1),
		},
		strings: map[string]int32{"": 0}, locations: make(map[frame]int32), functions: map[int32]int32{0: 0}, stacks: make(map[string]int32),
		links: make(map[stacks.Request]int32), attributes: make(map[[2]string]int32),
	}
}

func (d *dictionary) string(s string) int32 {
	return wire.Index(d.strings, &d.tables.Strings, s, func() string { return s })
}

func (d *dictionary) valueType(name, unit string) valueType {
	return valueType{d.string(name), d.string(unit)}
}

// frame is a name on a stack. code is what runs it, as the semantic conventions call it
// (profile.frame.type), "" where that is not known, or nothing runs it, such as a device.
type frame struct{ name, code string }

// location returns the place that stands for a frame.
func (d *dictionary) location(f frame) int32 {
	return wire.Index(d.locations, &d.tables.Locations, f, func() location {
		l := location{Lines: []line{{d.function(f.name)}}}
		if f.code != "" {
			l.AttributeIndices = []int32{d.attribute(keyFrameType, f.code)}
		}
		return l
	})
}

func (d *dictionary) function(name string) int32 {
	text := d.string(name)
	return wire.Index(d.functions, &d.tables.Functions, text, func() function { return function{text} })
}

// stack returns the stack of frames from the root down, of which code runs the last.
func (d *dictionary) stack(frames []string, code string) int32 {
	locations := make([]int32, len(frames))
	for i, name := range frames {
		f := frame{name: stacks.Name(name)}
		if i == len(frames)-1 && name != stacks.Deeper {
			f.code = code
		}
		locations[len(frames)-1-i] = d.location(f) // the leaf comes first
	}
	return wire.Index(d.stacks, &d.tables.Stacks, identityOf(locations), func() stack { return stack{locations} })
}

// link returns the link to the span of a request, 0 where its ids are not known.
func (d *dictionary) link(r *stacks.Request) int32 {
	if r.TraceID.IsZero() || r.SpanID.IsZero() {
		return 0
	}
	key := stacks.Request{TraceID: r.TraceID, SpanID: r.SpanID}
	return wire.Index(d.links, &d.tables.Links, key, func() link { return link{key.TraceID[:], key.SpanID[:]} })
}

// attribute returns an attribute of a text.
func (d *dictionary) attribute(key, text string) int32 {
	return wire.Index(d.attributes, &d.tables.Attributes, [2]string{key, text}, func() attribute {
		return attribute{d.string(key), &anyValue{text}}
	})
}

// comment returns an attribute of several texts. It is called once.
func (d *dictionary) comment(texts []string) int32 {
	var list []anyValue
	for _, t := range texts {
		list = append(list, anyValue{t})
	}
	d.tables.Attributes = append(d.tables.Attributes, attribute{d.string(keyComment), &anyValue{list}})
	return int32(len(d.tables.Attributes) - 1)
}

// identityOf returns a key that differs for different numbers.
func identityOf(numbers []int32) string {
	var key []byte
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint32(key, uint32(n))
	}
	return string(key)
}
