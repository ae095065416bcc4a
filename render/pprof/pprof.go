package pprof

import (
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/render/internal/stacknotes"
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

// mapping is the ID of the mapping of all locations. With a mapping that has names, pprof
// does not look for a binary with symbols.
const mapping = 1

// builder builds a profile.
type builder struct {
	texts   texts
	samples message
	names   []string          // of functions and locations by ID, from 1 on
	ids     map[string]uint64 // of functions and locations by name
	// room is by how much the sum of each value may still grow: pprof adds them up in
	// 64 bits.
	room [5]int64
	cut  bool // there was not enough room
}

func newBuilder() *builder {
	b := &builder{ids: make(map[string]uint64), texts: newTexts()}
	for i := range b.room {
		b.room[i] = math.MaxInt64
	}
	for _, v := range [][2]string{{"count", "count"}, {"time", "nanoseconds"}, {"self", "nanoseconds"}, {"bytes", "bytes"}, {"flops", "count"}} {
		b.samples.message(profileSampleType, b.valueType(v[0], v[1]))
	}
	return b
}

func (b *builder) valueType(name, unit string) (m message) {
	m.number(valueTypeType, b.texts.index(name))
	m.number(valueTypeUnit, b.texts.index(unit))
	return m
}

// add adds a sample.
func (b *builder) add(row *stacks.Row) {
	values := []uint64{uint64(row.Count), uint64(row.TimeNS), uint64(row.SelfNS), uint64(row.Bytes), uint64(row.FLOPs)}
	for i := range values {
		if int64(values[i]) > b.room[i] {
			values[i], b.cut = uint64(b.room[i]), true
		}
		b.room[i] -= int64(values[i])
	}
	var locations []uint64
	for _, frame := range slices.Backward(row.Frames) { // the leaf comes first
		locations = append(locations, b.location(frame))
	}
	var m message
	m.numbers(sampleLocations, locations)
	m.numbers(sampleValues, values)
	label := func(key, value string) {
		if value = stacks.Clean(value); value == "" {
			return
		}
		var l message
		l.number(labelKey, b.texts.index(key))
		l.number(labelText, b.texts.index(value))
		m.message(sampleLabel, l)
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
	b.samples.message(profileSample, m)
}

// location returns the ID of the place that stands for a frame.
func (b *builder) location(frame string) uint64 {
	name := stacks.Name(frame)
	id, ok := b.ids[name]
	if !ok {
		b.names = append(b.names, name)
		id = uint64(len(b.names))
		b.ids[name] = id
	}
	return id
}

// profile returns the message Profile.
func (b *builder) profile(t *stacks.Table, notes []string) message {
	p := b.samples
	var m message
	m.number(mappingID, mapping)
	m.number(mappingFile, b.texts.index("operations"))
	m.number(mappingHasFunctions, 1)
	p.message(profileMapping, m)
	for i := range b.names {
		var line, l message
		line.number(lineFunction, uint64(i+1))
		l.number(locationID, uint64(i+1))
		l.number(locationMapping, mapping)
		l.message(locationLine, line)
		p.message(profileLocation, l)
	}
	for i, name := range b.names {
		// The function has no system name: pprof would take one that is the same for a symbol
		// of C++, and cut the arguments of templates.
		var f message
		f.number(functionID, uint64(i+1))
		f.number(functionName, b.texts.index(name))
		p.message(profileFunction, f)
	}
	period := b.valueType("count", "count")
	comments := make([]uint64, len(notes))
	for i, note := range notes {
		comments[i] = b.texts.index(note)
	}
	defaultType := b.texts.index("time")
	for _, s := range b.texts.all {
		p.text(profileString, s)
	}
	if t.Start.Known {
		p.number(profileTime, uint64(t.Start.V))
		p.number(profileDuration, uint64(t.End.V-t.Start.V))
	}
	p.message(profilePeriodType, period)
	p.number(profilePeriod, 1) // every operation is in it
	p.numbers(profileComments, comments)
	p.number(profileDefaultType, defaultType)
	return p
}
