package rows

import (
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// Value is a value as the table stores it.
type Value struct {
	Kind  ValueKind
	Int   int64 // 1 for true
	Float float64
	Bytes []byte
}

// ValueKind is the kind of a value.
type ValueKind uint8

// The kinds. Number has an integer in Int but is not an integer of 64 bits. Bytes have a fixed size.
const (
	Integer ValueKind = iota
	Number
	Boolean
	Float
	Text
	Bytes
)

// Meaning is a translated value, in one of its fields, with a warning.
type Meaning struct {
	text    string
	number  int64
	float   float64
	id      op.TraceID // of a trace, or of a span at its start
	shapes  *op.Entry  // has the shapes of a text
	warning op.Warning
	ok      bool // false for an unusable value
}

// SetValue sets a value in a row, and adds its warning.
func (u *Use) SetValue(r *Row, m *Meaning) {
	if m.ok {
		u.Set(r, m)
	}
	r.Warn |= m.warning
}

func (m *Meaning) int() op.Int { return op.Int{V: m.number, Known: m.ok} }

// set sets a number if ok, otherwise the warning.
func (m *Meaning) set(n int64, ok bool, warning op.Warning) {
	if m.number, m.ok = n, ok; !ok {
		m.number = 0
		m.warning = warning
	}
}

// text translates to valid UTF-8 and interns it. Numbers become text.
func text(b *Batch, _ *Form, v *Value, to *Meaning) {
	to.ok = true
	switch v.Kind {
	case Text, Bytes:
		var valid bool
		if to.text, valid = b.strings.Valid(v.Bytes); !valid {
			to.text = string([]rune(string(v.Bytes)))
			to.warning = op.WarnInvalidUTF8
		}
	case Boolean:
		to.text = strconv.FormatBool(v.Int != 0)
	case Float:
		to.text = strconv.FormatFloat(v.Float, 'g', -1, 64)
	default:
		to.text = strconv.FormatInt(v.Int, 10)
	}
}

func dtype(b *Batch, f *Form, v *Value, to *Meaning) {
	text(b, f, v, to)
	t, _ := op.ParseDType(to.text)
	to.text = string(t)
}

// warning translates the name of a warning. A newer version may know more names.
func warning(b *Batch, f *Form, v *Value, to *Meaning) {
	text(b, f, v, to)
	w, _ := op.ParseWarning(to.text)
	to.warning |= w
}

func (v *Value) integer() (n int64, ok bool) {
	switch v.Kind {
	case Integer:
		return v.Int, true
	case Float:
		return scalar.IntegralFloat(v.Float)
	case Text:
		return scalar.ParseInt(v.Bytes)
	}
	return 0, false
}

// integer translates integers of at least least. Other values add a warning.
func integer(least int64, warning op.Warning) translate {
	return func(_ *Batch, _ *Form, v *Value, to *Meaning) {
		n, ok := v.integer()
		to.set(n, ok && n >= least, warning)
	}
}

// nanos translates times and durations. They are in nanoseconds unless the column has a unit.
func nanos(warning op.Warning) translate {
	return func(_ *Batch, f *Form, v *Value, to *Meaning) {
		n, ok := v.integer()
		if unit := f.Unit; ok && unit > 1 {
			ok = math.MinInt64/unit <= n && n <= math.MaxInt64/unit
			n *= unit
		}
		to.set(n, ok, warning)
	}
}

// micros translates durations from microseconds, the unit of the seed format, to nanoseconds.
func micros(_ *Batch, _ *Form, v *Value, to *Meaning) {
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

func adjustedCount(_ *Batch, _ *Form, v *Value, to *Meaning) {
	ok := true
	switch v.Kind {
	case Float:
		to.float = v.Float
	case Text:
		to.float, ok = scalar.ParseFloat(v.Bytes)
	default:
		var n int64
		n, ok = v.integer()
		to.float = float64(n)
	}
	to.set(0, ok && to.float >= 1 && !math.IsInf(to.float, 1), op.WarnBadValue)
}

// flag translates to a number; 0 is false.
func flag(_ *Batch, _ *Form, v *Value, to *Meaning) {
	to.set(v.Int, v.Kind == Boolean || v.Kind == Integer || v.Kind == Number, op.WarnBadValue)
}

// traceID translates ids in hexadecimal or as bytes. A zero id is unknown.
func traceID(_ *Batch, _ *Form, v *Value, to *Meaning) {
	text := v.Bytes
	var ok bool
	if to.id, ok = op.ParseTraceID(text); !ok && len(text) == len(to.id) {
		to.id = op.TraceID(text)
	}
	to.isID(v, !to.id.IsZero())
}

// spanID translates span ids like traceID. With none, a zero id means no span.
func spanID(none bool) translate {
	return func(_ *Batch, _ *Form, v *Value, to *Meaning) {
		text := v.Bytes
		id, ok := op.ParseSpanID(text)
		if !ok && len(text) == len(id) {
			id = op.SpanID(text)
			ok = true
		}
		copy(to.id[:], id[:])
		to.isID(v, ok && (none || !id.IsZero()))
	}
}

// isID adds a warning for a value that is neither empty nor an id.
func (m *Meaning) isID(v *Value, isID bool) {
	if m.ok = true; !isID && (len(v.Bytes) > 0 || v.Kind < Text) {
		m.warning = op.WarnBadID
	}
}

// failure translates an error column. A description that is not null marks the operation as failed, even
// if it is empty.
func failure(b *Batch, f *Form, v *Value, to *Meaning) {
	text(b, f, v, to)
	if f.MaxDef > 0 || to.text != "" {
		to.number = 1
	}
}
