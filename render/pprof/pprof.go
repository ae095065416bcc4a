package pprof

import (
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/render/internal/stacknotes"
	"github.com/optrace/optrace/render/internal/wire"
)

// Options says what a profile tells about itself, in comments.
type Options = stacknotes.Options

// Write writes a table as a compressed profile.
func Write(w io.Writer, t *stacks.Table, opts Options) error {
	b := newBuilder()
	for _, row := range t.Rows() {
		b.add(&row)
	}
	notes := stacknotes.Of(t, opts)
	if b.cut {
		notes = append(notes, "sums that do not fit 64 bits are cut")
	}
	z := gzip.NewWriter(w)
	_, err := z.Write(b.profile(t, notes))
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("writing pprof profile: %w", err)
	}
	return nil
}

// The fields of the messages of [profile.proto] that are used.
//
// [profile.proto]: https://github.com/google/pprof/blob/main/proto/profile.proto
const (
	profileSampleType, profileSample, profileMapping        = 1, 2, 3
	profileLocation, profileFunction, profileString         = 4, 5, 6
	profileTime, profileDuration                            = 9, 10
	profilePeriodType, profilePeriod                        = 11, 12
	profileComments, profileDefaultType                     = 13, 14
	valueTypeType, valueTypeUnit                            = 1, 2
	sampleLocations, sampleValues, sampleLabel              = 1, 2, 3
	labelKey, labelText                                     = 1, 2
	mappingID, mappingFile, mappingHasFunctions             = 1, 5, 7
	locationID, locationMapping, locationLine, lineFunction = 1, 2, 4, 1
	functionID, functionName                                = 1, 2
)

// mapping is the ID of the mapping of all locations. With a mapping that has names, pprof
// does not look for a binary with symbols.
const mapping = 1

// builder builds a profile.
type builder struct {
	samples wire.Fields
	texts   []string         // the first is empty
	indices map[string]int32 // of texts
	names   []string         // of functions and locations, whose IDs are their places, from 1 on
	ids     map[string]int32 // by name
	// room is by how much the sum of each value may still grow: pprof adds them up in
	// 64 bits.
	room [5]int64
	cut  bool // there was not enough room
}

func newBuilder() *builder {
	b := &builder{texts: []string{""}, indices: map[string]int32{"": 0}, names: []string{""}, ids: make(map[string]int32)}
	for i := range b.room {
		b.room[i] = math.MaxInt64
	}
	for _, v := range [][2]string{
		{"count", "count"}, {"time", "nanoseconds"}, {"self", "nanoseconds"}, {"bytes", "bytes"}, {"flops", "count"},
	} {
		b.samples = b.samples.Message(profileSampleType, b.valueType(v[0], v[1]))
	}
	return b
}

// text returns the place of a text in the profile's table.
func (b *builder) text(s string) int64 {
	return int64(wire.Index(b.indices, &b.texts, s, func() string { return s }))
}

func (b *builder) valueType(name, unit string) wire.Fields {
	return wire.Fields(nil).Varint(valueTypeType, b.text(name)).Varint(valueTypeUnit, b.text(unit))
}

// add adds a sample.
func (b *builder) add(row *stacks.Row) {
	values := []int64{row.Count, row.TimeNS, row.SelfNS, row.Bytes, row.FLOPs}
	for i := range values {
		if values[i] > b.room[i] {
			values[i], b.cut = b.room[i], true
		}
		b.room[i] -= values[i]
	}
	var locations []int64
	for _, frame := range slices.Backward(row.Frames) { // the leaf comes first
		locations = append(locations, b.location(frame))
	}
	m := list(list(nil, sampleLocations, locations), sampleValues, values)
	label := func(key, value string) {
		if value = stacks.Clean(value); value != "" {
			m = m.Message(sampleLabel, wire.Fields(nil).Varint(labelKey, b.text(key)).Varint(labelText, b.text(value)))
		}
	}
	label("device", row.Device)
	label("kind", row.Kind.String())
	label("request", row.Request.Name)
	label("shape", row.Shape)
	if !row.Request.SpanID.IsZero() {
		label("span_id", row.Request.SpanID.String())
	}
	if !row.Request.TraceID.IsZero() {
		label("trace_id", row.Request.TraceID.String())
	}
	b.samples = b.samples.Message(profileSample, m)
}

// list appends a list of integers, packed where that is shorter; of up to two, none is 0.
func list(f wire.Fields, n protowire.Number, values []int64) wire.Fields {
	if len(values) > 2 {
		return wire.Packed(f, n, values)
	}
	for _, v := range values {
		f = f.Varint(n, v)
	}
	return f
}

// location returns the ID of the place that stands for a frame.
func (b *builder) location(frame string) int64 {
	name := stacks.Name(frame)
	return int64(wire.Index(b.ids, &b.names, name, func() string { return name }))
}

// profile returns the message Profile.
func (b *builder) profile(t *stacks.Table, notes []string) wire.Fields {
	p := b.samples.Message(profileMapping, wire.Fields(nil).
		Varint(mappingID, mapping).Varint(mappingFile, b.text("operations")).Varint(mappingHasFunctions, 1))
	for id := range b.names[1:] {
		line := wire.Fields(nil).Varint(lineFunction, int64(id+1))
		p = p.Message(profileLocation, wire.Fields(nil).
			Varint(locationID, int64(id+1)).Varint(locationMapping, mapping).Message(locationLine, line))
	}
	for id, name := range b.names[1:] {
		// The function has no system name: pprof would take one that is the same for a symbol
		// of C++, and cut the arguments of templates.
		p = p.Message(profileFunction, wire.Fields(nil).Varint(functionID, int64(id+1)).Varint(functionName, b.text(name)))
	}
	period := b.valueType("count", "count")
	comments := make([]int64, len(notes))
	for i, note := range notes {
		comments[i] = b.text(note)
	}
	defaultType := b.text("time")
	for _, s := range b.texts {
		p = p.Element(profileString, s)
	}
	if t.Start.Known {
		p = p.Varint(profileTime, t.Start.V).Varint(profileDuration, t.End.V-t.Start.V)
	}
	p = p.Message(profilePeriodType, period).Varint(profilePeriod, 1) // every operation is in it
	return list(p, profileComments, comments).Varint(profileDefaultType, defaultType)
}
