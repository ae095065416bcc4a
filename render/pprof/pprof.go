package pprof

import (
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/render/internal/stacknotes"
	"github.com/optrace/optrace/render/internal/wire"
)

// Options configures the comments of a profile.
type Options = stacknotes.Options

// Write writes a table as a compressed profile.
func Write(w io.Writer, t *stacks.Table, opts Options) error {
	z := gzip.NewWriter(w)
	b := &builder{w: z, room: slices.Repeat([]int64{math.MaxInt64}, len(stacknotes.Values))}
	b.profile(t, opts)
	if b.err == nil {
		b.err = z.Close()
	}
	if b.err != nil {
		return fmt.Errorf("writing pprof profile: %w", b.err)
	}
	return nil
}

type message = wire.Message

// mapping is the ID of the one mapping. Because it has names, pprof does not look for a binary with symbols.
const mapping = int64(1)

// profile writes the fields of t one by one, so that only their texts are held.
func (b *builder) profile(t *stacks.Table, opts Options) {
	b.text("")
	for _, v := range stacknotes.Values {
		b.add(wire.F(1, "sample_type", b.valueType(v.Name, v.Unit)))
	}
	for _, row := range t.Rows() {
		b.add(wire.F(2, "sample", b.sample(&row)))
	}
	b.add(wire.F(3, "mapping", message{
		wire.F(1, "id", mapping), wire.F(5, "filename", b.text("operations")), wire.F(7, "has_functions", true),
	}))
	for i := range b.names.Values {
		id := int64(i + 1)
		line := message{wire.F(1, "function_id", id)}
		b.add(wire.F(4, "location", message{wire.F(1, "id", id), wire.F(2, "mapping_id", mapping), wire.F(4, "line", line)}))
	}
	for i, name := range b.names.Values {
		// The function has no system name: pprof would take it for a symbol of C++ and cut template arguments.
		b.add(wire.F(5, "function", message{wire.F(1, "id", int64(i+1)), wire.F(2, "name", b.text(name))}))
	}
	period := b.valueType("count", "count")
	notes := stacknotes.Of(t, opts)
	if b.cut {
		notes = append(notes, "sums that do not fit 64 bits are cut")
	}
	var comments wire.Ints
	for _, note := range notes {
		comments = append(comments, b.text(note))
	}
	var start, duration int64
	if t.Start.Known {
		start = t.Start.V
		duration = t.End.V - t.Start.V
	}
	defaultType := b.text("time")
	for _, text := range b.texts.Values {
		b.add(wire.F(6, "string_table", wire.Text(text)))
	}
	b.add(
		wire.F(9, "time_nanos", start), wire.F(10, "duration_nanos", duration),
		wire.F(11, "period_type", period), wire.F(12, "period", int64(1)), // every operation is in it
		wire.F(13, "comment", comments), wire.F(14, "default_sample_type", defaultType),
	)
}

type builder struct {
	w   io.Writer
	err error // of writing

	scratch []byte

	texts symbols.Table[string] // "" is the first
	names symbols.Table[string] // of functions and locations; an ID is the index plus one
	room  []int64               // the remaining growth of the sum of each value: pprof sums them up in 64 bits
	cut   bool                  // there was not enough room
}

func (b *builder) add(fields ...wire.Field) {
	if b.err == nil {
		b.scratch = message(fields).AppendProto(b.scratch[:0])
		_, b.err = b.w.Write(b.scratch)
	}
}

func (b *builder) text(s string) int64 { return int64(b.texts.ID(s)) }

func (b *builder) valueType(name, unit string) message {
	return message{wire.F(1, "type", b.text(name)), wire.F(2, "unit", b.text(unit))}
}

func (b *builder) sample(row *stacks.Row) message {
	amounts := make(wire.Ints, len(b.room))
	for i, v := range stacknotes.Values {
		if amounts[i] = v.Of(row); amounts[i] > b.room[i] {
			amounts[i] = b.room[i]
			b.cut = true
		}
		b.room[i] -= amounts[i]
	}
	var locations wire.Ints
	for _, frame := range slices.Backward(row.Frames) { // the leaf comes first
		locations = append(locations, int64(b.names.ID(stacks.Name(frame)))+1)
	}
	var labels []message
	label := func(key, value string) {
		if value = stacks.Clean(value); value != "" {
			labels = append(labels, message{wire.F(1, "key", b.text(key)), wire.F(2, "str", b.text(value))})
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
	return message{wire.F(1, "location_id", locations), wire.F(2, "value", amounts), wire.F(3, "label", labels)}
}
