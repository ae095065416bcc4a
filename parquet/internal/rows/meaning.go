package rows

import (
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Value is a value of a column as a table holds it.
type Value struct {
	Kind  ValueKind
	Int   int64 // also 1 for true
	Float float64
	Bytes []byte
}

// ValueKind is the kind of a value.
type ValueKind uint8

// The kinds. Number is one that is no integer of 64 bits, though kept in Int, Bytes are of
// a size that the column has.
const (
	Integer ValueKind = iota
	Number
	Boolean
	Float
	Text
	Bytes
)

// Meaning is what a value means, in one of the fields, and a warning about it.
type Meaning struct {
	text    string
	number  int64
	float   float64
	id      op.TraceID // or a span's, at its start
	shapes  *op.Entry  // has those that the text holds
	warning op.Warning
	ok      bool // false for a value that means nothing
}

// SetValue sets what a value means in a row.
func (u *Use) SetValue(r *Row, m *Meaning) {
	if m.ok {
		u.Set(r, m)
	}
	r.Warn |= m.warning
}

func (m *Meaning) int() op.Int       { return op.Int{V: m.number, Known: m.ok} }
func (m *Meaning) spanID() op.SpanID { return op.SpanID(m.id[:8]) }

// set sets a number, or the warning where it means nothing.
func (m *Meaning) set(n int64, ok bool, warning op.Warning) {
	if m.number, m.ok = n, ok; !ok {
		m.number, m.warning = 0, warning
	}
}

// text translates to valid text, the same string for the same text. Numbers become text.
func text(b *Batch, _ *Form, v Value, to *Meaning) {
	to.ok = true
	switch v.Kind {
	case Text, Bytes:
		var valid bool
		if to.text, valid = b.strings.Valid(v.Bytes); !valid {
			to.text, to.warning = string([]rune(string(v.Bytes))), op.WarnInvalidUTF8
		}
	case Boolean:
		to.text = strconv.FormatBool(v.Int != 0)
	case Float:
		to.text = strconv.FormatFloat(v.Float, 'g', -1, 64)
	default:
		to.text = strconv.FormatInt(v.Int, 10)
	}
}

func dtype(b *Batch, f *Form, v Value, to *Meaning) {
	text(b, f, v, to)
	t, _ := op.ParseDType(to.text)
	to.text = string(t)
}

// warning translates the names of warnings. A newer version may know more of them.
func warning(b *Batch, f *Form, v Value, to *Meaning) {
	text(b, f, v, to)
	w, _ := op.ParseWarning(to.text)
	to.warning |= w
}

func (v *Value) integer() (n int64, ok bool) {
	switch v.Kind {
	case Integer:
		return v.Int, true
	case Float:
		return lexer.IntegralFloat(v.Float)
	case Text:
		return lexer.ParseInt(v.Bytes)
	}
	return 0, false
}

// integer translates integers that are least or more. Anything else means nothing and
// adds a warning.
func integer(least int64, warning op.Warning) translate {
	return func(_ *Batch, _ *Form, v Value, to *Meaning) {
		n, ok := v.integer()
		to.set(n, ok && n >= least, warning)
	}
}

// nanos translates times and durations, in nanoseconds unless the type of the column says
// otherwise.
func nanos(warning op.Warning) translate {
	return func(_ *Batch, f *Form, v Value, to *Meaning) {
		n, ok := v.integer()
		if unit := f.Unit; ok && unit > 1 {
			ok = math.MinInt64/unit <= n && n <= math.MaxInt64/unit
			n *= unit
		}
		to.set(n, ok, warning)
	}
}

// micros translates durations in microseconds, as the seed's recorder writes them, to
// nanoseconds.
func micros(_ *Batch, _ *Form, v Value, to *Meaning) {
	const most = math.MaxInt64 / 1000
	var ns int64
	var ok bool
	switch v.Kind {
	case Text:
		ns, ok = lexer.ParseMicros(v.Bytes)
	case Float:
		if ok = math.Abs(v.Float) < most; ok {
			ns = int64(math.Round(v.Float * 1000))
		}
	default:
		ns, ok = v.integer()
		ok = ok && -most <= ns && ns <= most
		ns *= 1000
	}
	to.set(ns, ok, op.WarnBadValue)
}

func adjustedCount(_ *Batch, _ *Form, v Value, to *Meaning) {
	ok := true
	switch v.Kind {
	case Float:
		to.float = v.Float
	case Text:
		to.float, ok = lexer.ParseFloat(v.Bytes)
	default:
		var n int64
		n, ok = v.integer()
		to.float = float64(n)
	}
	to.set(0, ok && to.float >= 1 && !math.IsInf(to.float, 1), op.WarnBadValue)
}

// flag translates to 0 for false.
func flag(_ *Batch, _ *Form, v Value, to *Meaning) {
	to.set(v.Int, v.Kind == Boolean || v.Kind == Integer || v.Kind == Number, op.WarnBadValue)
}

// traceID translates ids in hexadecimal or as bytes. One that is zero or neither is
// unknown.
func traceID(_ *Batch, _ *Form, v Value, to *Meaning) {
	text := v.Bytes
	var ok bool
	if to.id, ok = op.ParseTraceID(text); !ok && len(text) == len(to.id) {
		to.id = op.TraceID(text)
	}
	to.isID(v, !to.id.IsZero())
}

// spanID is traceID for a span. Where none is true, zero is an id too: that of no span.
func spanID(none bool) translate {
	return func(_ *Batch, _ *Form, v Value, to *Meaning) {
		text := v.Bytes
		id, ok := op.ParseSpanID(text)
		if !ok && len(text) == len(id) {
			id, ok = op.SpanID(text), true
		}
		copy(to.id[:], id[:])
		to.isID(v, ok && (none || !id.IsZero()))
	}
}

// isID adds a warning about a value that is not empty and no id.
func (m *Meaning) isID(v Value, isID bool) {
	if m.ok = true; !isID && (len(v.Bytes) > 0 || v.Kind < Text) {
		m.warning = op.WarnBadID
	}
}

// failure translates what an error column tells. Where the description of an error is not
// null, though empty, the operation failed.
func failure(b *Batch, f *Form, v Value, to *Meaning) {
	text(b, f, v, to)
	if f.MaxDef > 0 || to.text != "" {
		to.number = 1
	}
}
