package pprof

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/google/pprof/profile"

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
	b.profile.Comments = stacknotes.Of(t, opts)
	if b.cut {
		b.profile.Comments = append(b.profile.Comments, "sums that do not fit 64 bits are cut")
	}
	if t.Start.Known {
		b.profile.TimeNanos, b.profile.DurationNanos = t.Start.V, t.End.V-t.Start.V
	}
	if err := b.profile.Write(w); err != nil {
		return fmt.Errorf("writing pprof profile: %w", err)
	}
	return nil
}

// builder builds a profile.
type builder struct {
	profile   *profile.Profile
	locations map[string]*profile.Location // by name
	// room is by how much the sum of each value may still grow: pprof adds them up in
	// 64 bits.
	room [5]int64
	cut  bool // there was not enough room
}

func newBuilder() *builder {
	// With a mapping that has names, pprof does not look for a binary with symbols.
	mapping := &profile.Mapping{ID: 1, File: "operations", HasFunctions: true}
	b := &builder{
		locations: make(map[string]*profile.Location),
		profile: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: "count", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}, {Type: "self", Unit: "nanoseconds"},
				{Type: "bytes", Unit: "bytes"}, {Type: "flops", Unit: "count"},
			},
			DefaultSampleType: "time",
			PeriodType:        &profile.ValueType{Type: "count", Unit: "count"},
			Period:            1, // every operation is in it
			Mapping:           []*profile.Mapping{mapping},
		},
	}
	for i := range b.room {
		b.room[i] = math.MaxInt64
	}
	return b
}

// add adds a sample.
func (b *builder) add(row *stacks.Row) {
	s := &profile.Sample{Value: []int64{row.Count, row.TimeNS, row.SelfNS, row.Bytes, row.FLOPs}}
	for i, v := range s.Value {
		if v > b.room[i] {
			s.Value[i], b.cut = b.room[i], true
		}
		b.room[i] -= s.Value[i]
	}
	for _, frame := range slices.Backward(row.Frames) { // the leaf comes first
		s.Location = append(s.Location, b.location(frame))
	}
	label := func(key, value string) {
		if value = stacks.Clean(value); value == "" {
			return
		}
		if s.Label == nil {
			s.Label = make(map[string][]string)
		}
		s.Label[key] = []string{value}
	}
	label("device", row.Device)
	label("kind", row.Kind.String())
	label("shape", row.Shape)
	label("request", row.Request.Name)
	if !row.Request.TraceID.IsZero() {
		label("trace_id", row.Request.TraceID.String())
	}
	if !row.Request.SpanID.IsZero() {
		label("span_id", row.Request.SpanID.String())
	}
	b.profile.Sample = append(b.profile.Sample, s)
}

// location returns the place that stands for a frame.
func (b *builder) location(frame string) *profile.Location {
	name := stacks.Name(frame)
	if l := b.locations[name]; l != nil {
		return l
	}
	// The function has no system name: pprof would take one that is the same for a symbol
	// of C++, and cut the arguments of templates.
	f := &profile.Function{ID: uint64(len(b.profile.Function) + 1), Name: name}
	l := &profile.Location{ID: f.ID, Mapping: b.profile.Mapping[0], Line: []profile.Line{{Function: f}}}
	b.profile.Function = append(b.profile.Function, f)
	b.profile.Location = append(b.profile.Location, l)
	b.locations[name] = l
	return l
}
