package op

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
)

// Column is a field of an [Entry], or with another T one of that: a row of the table from
// which the formats are made.
type Column[T any] struct {
	// Name is the key in entries JSON Lines and the name of the column in tables.
	Name string
	// At returns a pointer to where T keeps the field, func(*T) *Int for one. An id is
	// func(*T) []byte, and what is the name of something func(*T) [Name].
	At any
	// Signed is set for an integer that may be negative, and Zero for an id where zero says
	// that there is none. Warn is the warning about other values, [WarnBadValue] where it is 0.
	Signed, Zero bool
	Warn         Warning
}

// Name is the value of a field that formats spell as a word, "" where it is not known.
type Name interface {
	String() string
	// SetName sets the value that a word names. The result is the warning about one that
	// names none.
	SetName(word string) Warning
}

// Columns is the table of the fields of an entry in the order of entries JSON Lines. It must not
// change while entries are read or written.
//
// A field that is added behind the last one is an integer, a text, a name, an id or a number.
// It then is in every format whose columns are those of this table.
var Columns = []Column[Entry]{
	{Name: "step", At: func(e *Entry) *Int { return &e.Step }, Signed: true},
	{Name: "operation", At: func(e *Entry) *string { return &e.Operation }},
	{Name: "device_id", At: func(e *Entry) *string { return &e.DeviceID }},
	{Name: "input_shapes", At: func(e *Entry) *[]Shape { return &e.InputShapes }, Warn: WarnBadShape},
	{Name: "output_shape", At: func(e *Entry) *Shape { return &e.OutputShape }, Warn: WarnBadShape},
	{Name: "duration_us"}, // of duration_ns
	{Name: "output_elements", At: func(e *Entry) *Int { return &e.OutputElements }},
	{Name: "memory_bytes", At: func(e *Entry) *Int { return &e.MemoryBytes }, Warn: WarnBadMemory},
	{Name: "kind", At: func(e *Entry) Name { return &e.Kind }},
	{Name: "kind_rule", At: func(e *Entry) Name { return &e.KindRule }},
	{Name: "dtype", At: func(e *Entry) Name { return &e.DType }},
	{Name: "start_unix_ns", At: func(e *Entry) *Int { return &e.Start }, Signed: true, Warn: WarnBadTime},
	{Name: "duration_ns", At: func(e *Entry) *int64 { return &e.Duration }, Signed: true},
	{Name: "launch_unix_ns", At: func(e *Entry) *Int { return &e.Launch }, Signed: true, Warn: WarnBadTime},
	{Name: "stream", At: func(e *Entry) *Int { return &e.Stream }},
	{Name: "rank", At: func(e *Entry) *Int { return &e.Rank }},
	{Name: "flops", At: func(e *Entry) *Int { return &e.FLOPs }},
	{Name: "trace_id", At: func(e *Entry) []byte { return e.TraceID[:] }, Warn: WarnBadID},
	{Name: "span_id", At: func(e *Entry) []byte { return e.SpanID[:] }, Warn: WarnBadID},
	{Name: "parent_span_id", At: func(e *Entry) []byte { return e.ParentSpanID[:] }, Warn: WarnBadID, Zero: true},
	{Name: "root", At: func(e *Entry) *string { return &e.Root }},
	{Name: "root_span_id", At: func(e *Entry) []byte { return e.RootSpanID[:] }, Warn: WarnBadID, Zero: true},
	{Name: "service", At: func(e *Entry) *string { return &e.Service }},
	{Name: "scope", At: func(e *Entry) *string { return &e.Scope }},
	{Name: "path", At: func(e *Entry) *string { return &e.Path }},
	{Name: "input_dtypes", At: func(e *Entry) *[]DType { return &e.InputDTypes }},
	{Name: "side", At: func(e *Entry) Name { return &e.Side }},
	{Name: "error", At: func(e *Entry) *string { return &e.Error }},
	{Name: "adjusted_count", At: func(e *Entry) *float64 { return &e.AdjustedCount }},
	{Name: "dropped_attributes", At: func(e *Entry) *int64 { return &e.DroppedAttributes }},
	{Name: "attrs", At: func(e *Entry) *[]Attr { return &e.Attrs }},
	{Name: "links", At: func(e *Entry) *[]Link { return &e.Links }},
	{Name: "extra", At: func(e *Entry) **Extra { return &e.Extra }},
	{Name: "warn", At: func(e *Entry) *Warning { return &e.Warn }},
	{Name: "collective", At: func(e *Entry) **Collective { return &e.Collective }},
	{Name: "launched_by", At: func(e *Entry) *string { return &e.LaunchedBy }},
	{Name: "launch_span_id", At: func(e *Entry) []byte { return e.LaunchSpanID[:] }, Warn: WarnBadID, Zero: true},
	{Name: "step_name", At: func(e *Entry) *string { return &e.StepName }},
	{Name: "phase", At: func(e *Entry) *string { return &e.Phase }},
}

// numWritten is how many of the columns AppendJSON writes without the table.
var numWritten = len(Columns)

// CollectiveColumns is the table of what is known of a collective.
var CollectiveColumns = []Column[Collective]{
	{Name: "name", At: func(c *Collective) *string { return &c.Name }},
	{Name: "group", At: func(c *Collective) *string { return &c.Group }},
	{Name: "group_size", At: func(c *Collective) *Int { return &c.GroupSize }, Signed: true},
	{Name: "sequence", At: func(c *Collective) *Int { return &c.Sequence }, Signed: true},
	{Name: "peer_rank", At: func(c *Collective) *Int { return &c.PeerRank }, Signed: true},
	{Name: "in_elements", At: func(c *Collective) *Int { return &c.InElements }, Signed: true},
	{Name: "out_elements", At: func(c *Collective) *Int { return &c.OutElements }, Signed: true},
}

// Bad returns the warning about a value that the field does not take.
func (c *Column[T]) Bad() Warning { return cmp.Or(c.Warn, WarnBadValue) }

// appendJSON appends the field as a member of an object, with a comma in front, where its value
// is known.
func (c *Column[T]) appendJSON(dst []byte, v *T) []byte {
	start := len(dst)
	dst = append(append(append(dst, ',', '"'), c.Name...), '"', ':')
	switch at := c.At.(type) {
	case func(*T) *Int:
		if n := at(v); n.Known {
			return strconv.AppendInt(dst, n.V, 10)
		}
	case func(*T) *string:
		if text := *at(v); text != "" {
			return lexer.AppendString(dst, text)
		}
	case func(*T) Name:
		if word := at(v).String(); word != "" {
			return lexer.AppendString(dst, word)
		}
	case func(*T) []byte:
		if id := at(v); slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
			return append(lexer.AppendHex(append(dst, '"'), id), '"')
		}
	case func(*T) *int64:
		if n := *at(v); n != 0 {
			return strconv.AppendInt(dst, n, 10)
		}
	case func(*T) *float64:
		if f := *at(v); f != 0 {
			return lexer.AppendFloat(dst, f)
		}
	}
	return dst[:start]
}
