// Package opfields has the tables of the fields of an entry and of a collective. The decoder of entries and the
// formats with columns are made from them.
package opfields

import (
	"cmp"

	"github.com/optrace/optrace/op"
)

// Field describes a field of a T.
type Field[T any] struct {
	Name string // the key in entries JSON Lines and the name of the column in tables
	// At returns a pointer to the field: func(*T) *op.Int for an integer, func(*T) []byte for an id,
	// func(*T) [Name] for a field spelled as a word.
	At any
	// Signed allows negative integers.
	Signed bool
	// Zero allows an id of zeros, the value of an absent id.
	Zero bool
	Warn op.Warning // the warning about a bad value; 0 means op.WarnBadValue
}

// Bad returns the warning about a value outside the field's type or range.
func (f *Field[T]) Bad() op.Warning { return cmp.Or(f.Warn, op.WarnBadValue) }

// Name is a value that formats spell as a word, such as [op.Kind].
type Name interface {
	// String returns the word, "" for an unknown value.
	String() string
	// SetName sets the value to the one called word. The result is the warning about an unknown word.
	SetName(word string) op.Warning
}

// Entry lists the fields of an entry in the order of entries JSON Lines. It must not change while a program reads or
// writes entries.
//
// Append new fields at the end. A new field is an integer, a text, a name, an id or a number, and op.Entry.AppendJSON
// must write it; every other format then has its column.
var Entry = []Field[op.Entry]{
	{Name: "step", At: func(e *op.Entry) *op.Int { return &e.Step }, Signed: true},
	{Name: "operation", At: func(e *op.Entry) *string { return &e.Operation }},
	{Name: "device_id", At: func(e *op.Entry) *string { return &e.DeviceID }},
	{Name: "input_shapes", At: func(e *op.Entry) *[]op.Shape { return &e.InputShapes }, Warn: op.WarnBadShape},
	{Name: "output_shape", At: func(e *op.Entry) *op.Shape { return &e.OutputShape }, Warn: op.WarnBadShape},
	{Name: "duration_us"}, // of duration_ns
	{Name: "output_elements", At: func(e *op.Entry) *op.Int { return &e.OutputElements }},
	{Name: "memory_bytes", At: func(e *op.Entry) *op.Int { return &e.MemoryBytes }, Warn: op.WarnBadMemory},
	{Name: "kind", At: func(e *op.Entry) Name { return &e.Kind }},
	{Name: "kind_rule", At: func(e *op.Entry) Name { return &e.KindRule }},
	{Name: "dtype", At: func(e *op.Entry) Name { return &e.DType }},
	{Name: "start_unix_ns", At: func(e *op.Entry) *op.Int { return &e.Start }, Signed: true, Warn: op.WarnBadTime},
	{Name: "duration_ns", At: func(e *op.Entry) *int64 { return &e.Duration }, Signed: true},
	{Name: "launch_unix_ns", At: func(e *op.Entry) *op.Int { return &e.Launch }, Signed: true, Warn: op.WarnBadTime},
	{Name: "stream", At: func(e *op.Entry) *op.Int { return &e.Stream }},
	{Name: "rank", At: func(e *op.Entry) *op.Int { return &e.Rank }},
	{Name: "flops", At: func(e *op.Entry) *op.Int { return &e.FLOPs }},
	{Name: "trace_id", At: func(e *op.Entry) []byte { return e.TraceID[:] }, Warn: op.WarnBadID},
	{Name: "span_id", At: func(e *op.Entry) []byte { return e.SpanID[:] }, Warn: op.WarnBadID},
	{Name: "parent_span_id", At: func(e *op.Entry) []byte { return e.ParentSpanID[:] }, Warn: op.WarnBadID, Zero: true},
	{Name: "root", At: func(e *op.Entry) *string { return &e.Root }},
	{Name: "root_span_id", At: func(e *op.Entry) []byte { return e.RootSpanID[:] }, Warn: op.WarnBadID, Zero: true},
	{Name: "service", At: func(e *op.Entry) *string { return &e.Service }},
	{Name: "scope", At: func(e *op.Entry) *string { return &e.Scope }},
	{Name: "path", At: func(e *op.Entry) *string { return &e.Path }},
	{Name: "input_dtypes", At: func(e *op.Entry) *[]op.DType { return &e.InputDTypes }},
	{Name: "side", At: func(e *op.Entry) Name { return &e.Side }},
	{Name: "error", At: func(e *op.Entry) *string { return &e.Error }},
	{Name: "adjusted_count", At: func(e *op.Entry) *float64 { return &e.AdjustedCount }},
	{Name: "dropped_attributes", At: func(e *op.Entry) *int64 { return &e.DroppedAttributes }},
	{Name: "attrs", At: func(e *op.Entry) *[]op.Attr { return &e.Attrs }},
	{Name: "links", At: func(e *op.Entry) *[]op.Link { return &e.Links }},
	{Name: "extra", At: func(e *op.Entry) **op.Extra { return &e.Extra }},
	{Name: "warn", At: func(e *op.Entry) *op.Warning { return &e.Warn }},
	{Name: "collective", At: func(e *op.Entry) **op.Collective { return &e.Collective }},
	{Name: "launched_by", At: func(e *op.Entry) *string { return &e.LaunchedBy }},
	{Name: "launch_span_id", At: func(e *op.Entry) []byte { return e.LaunchSpanID[:] }, Warn: op.WarnBadID, Zero: true},
	{Name: "step_name", At: func(e *op.Entry) *string { return &e.StepName }},
	{Name: "phase", At: func(e *op.Entry) *string { return &e.Phase }},
}

// Collective lists the fields of a collective in the order of entries JSON Lines.
var Collective = []Field[op.Collective]{
	{Name: "name", At: func(c *op.Collective) *string { return &c.Name }},
	{Name: "group", At: func(c *op.Collective) *string { return &c.Group }},
	{Name: "group_size", At: func(c *op.Collective) *op.Int { return &c.GroupSize }, Signed: true},
	{Name: "sequence", At: func(c *op.Collective) *op.Int { return &c.Sequence }, Signed: true},
	{Name: "peer_rank", At: func(c *op.Collective) *op.Int { return &c.PeerRank }, Signed: true},
	{Name: "in_elements", At: func(c *op.Collective) *op.Int { return &c.InElements }, Signed: true},
	{Name: "out_elements", At: func(c *op.Collective) *op.Int { return &c.OutElements }, Signed: true},
}
