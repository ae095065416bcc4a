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
	locations  map[string]int32 // by name
	stacks     map[string]int32 // by locations
	links      map[stacks.Request]int32
	attributes map[[2]string]int32 // by key and text
}

func newDictionary() *dictionary {
	return &dictionary{
		tables: tables{
			Mappings: make([]struct{}, 1), Locations: make([]location, 1), Functions: make([]function, 1),
			// Some readers want ids of their length here, too.
			Links:   []link{{make(id, 16), make(id, 8)}},
			Strings: []string{""}, Attributes: make([]attribute, 1), Stacks: make([]stack, 1),
		},
		strings: map[string]int32{"": 0}, locations: make(map[string]int32), stacks: make(map[string]int32),
		links: make(map[stacks.Request]int32), attributes: make(map[[2]string]int32),
	}
}

func (d *dictionary) string(s string) int32 {
	return wire.Index(d.strings, &d.tables.Strings, s, func() string { return s })
}

func (d *dictionary) valueType(name, unit string) valueType {
	return valueType{d.string(name), d.string(unit)}
}

// location returns the place that stands for a name.
func (d *dictionary) location(name string) int32 {
	return wire.Index(d.locations, &d.tables.Locations, name, func() location {
		d.tables.Functions = append(d.tables.Functions, function{d.string(name)})
		return location{[]line{{int32(len(d.tables.Functions) - 1)}}}
	})
}

// stack returns the stack of frames from the root down.
func (d *dictionary) stack(frames []string) int32 {
	locations := make([]int32, len(frames))
	for i, frame := range frames {
		locations[len(frames)-1-i] = d.location(stacks.Name(frame)) // the leaf comes first
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
