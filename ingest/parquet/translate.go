package parquet

import (
	"math"
	"strconv"
	"unicode/utf8"

	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// value is what a value of a column means, in one of the fields, and a warning about it.
// The functions below translate values, those of a dictionary once.
type value struct {
	text    string
	number  int64
	float   float64
	id      op.TraceID // or a span's, at its start
	named   any        // what the text is the name of
	warning op.Warning
	ok      bool // false for a value that means nothing
}

func (v *value) int() op.Int       { return op.Int{V: v.number, Known: v.ok} }
func (v *value) spanID() op.SpanID { return op.SpanID(v.id[:8]) }

// set sets a number, or the warning where it means nothing.
func (v *value) set(n int64, ok bool, warning op.Warning) {
	if v.number, v.ok = n, ok; !ok {
		v.number, v.warning = 0, warning
	}
}

// text translates to valid text, the same string for the same text. Numbers become text.
func text(c *column, v lib.Value, to *value) {
	to.ok = true
	switch v.Kind() {
	case lib.ByteArray, lib.FixedLenByteArray:
		b, ok := v.ByteArray(), false
		if to.text, ok = c.strings.Find(b); ok { // only what is valid is remembered
			return
		}
		if utf8.Valid(b) {
			to.text = c.strings.String(b)
		} else {
			to.text, to.warning = string([]rune(string(b))), op.WarnInvalidUTF8
		}
	case lib.Boolean:
		to.text = strconv.FormatBool(v.Boolean())
	case lib.Float, lib.Double:
		to.text = strconv.FormatFloat(floatOf(v), 'g', -1, 64)
	default:
		to.text = strconv.FormatInt(c.leaf.signed(v), 10)
	}
}

// named translates texts that parse knows, or warns of.
func named[T any](parse func(name string) (T, op.Warning)) translate {
	return func(c *column, v lib.Value, to *value) {
		text(c, v, to)
		t, warning := parse(to.text)
		to.named, to.warning = t, to.warning|warning
	}
}

func floatOf(v lib.Value) float64 {
	if v.Kind() == lib.Float {
		return float64(v.Float())
	}
	return v.Double()
}

// signed returns a value of an integer type as it is kept. A timestamp of 96 bits, the
// nanoseconds of the day and the Julian day, becomes the Unix time in nanoseconds, which
// wraps around outside the years 1678 to 2262.
func (l *leaf) signed(v lib.Value) int64 {
	switch l.typ.Kind() {
	case lib.Int32:
		return int64(v.Int32())
	case lib.Int96:
		const unixEpochDay, nanosPerDay = 2_440_588, 86_400_000_000_000
		t := v.Int96()
		return (int64(int32(t[2]))-unixEpochDay)*nanosPerDay + int64(uint64(t[1])<<32|uint64(t[0]))
	}
	return v.Int64()
}

// integer returns a value as an integer.
func (l *leaf) integer(v lib.Value) (n int64, ok bool) {
	switch l.typ.Kind() {
	case lib.Int32, lib.Int64, lib.Int96:
		if n = l.signed(v); l.typ.Kind() == lib.Int32 && l.unsigned {
			n = int64(uint32(n))
		}
		return n, !l.decimal && (!l.unsigned || n >= 0)
	case lib.Float, lib.Double:
		return jsontext.IntegralFloat(floatOf(v))
	case lib.ByteArray:
		return jsontext.ParseInt(v.ByteArray())
	}
	return 0, false
}

// integer translates integers that are least or more. Anything else means nothing and
// adds a warning.
func integer(least int64, warning op.Warning) translate {
	return func(c *column, v lib.Value, to *value) {
		n, ok := c.leaf.integer(v)
		to.set(n, ok && n >= least, warning)
	}
}

// nanos translates times and durations, in nanoseconds unless the type of the column says
// otherwise.
func nanos(warning op.Warning) translate {
	return func(c *column, v lib.Value, to *value) {
		n, ok := c.leaf.integer(v)
		if unit := c.leaf.unit; ok && unit > 1 {
			ok = math.MinInt64/unit <= n && n <= math.MaxInt64/unit
			n *= unit
		}
		to.set(n, ok, warning)
	}
}

// micros translates durations in microseconds, as the seed's recorder writes them, to
// nanoseconds.
func micros(c *column, v lib.Value, to *value) {
	const most = math.MaxInt64 / nanosPerMicro
	var ns int64
	var ok bool
	switch c.leaf.typ.Kind() {
	case lib.ByteArray:
		ns, ok = jsontext.ParseMicros(v.ByteArray())
	case lib.Float, lib.Double:
		if ok = math.Abs(floatOf(v)) < most; ok {
			ns = int64(math.Round(floatOf(v) * nanosPerMicro))
		}
	default:
		ns, ok = c.leaf.integer(v)
		ok = ok && -most <= ns && ns <= most
		ns *= nanosPerMicro
	}
	to.set(ns, ok, op.WarnBadValue)
}

// adjustedCount translates numbers of operations that an entry stands for.
func adjustedCount(c *column, v lib.Value, to *value) {
	var f float64
	ok := true
	switch c.leaf.typ.Kind() {
	case lib.Float, lib.Double:
		f = floatOf(v)
	case lib.ByteArray:
		f, ok = jsontext.ParseFloat(v.ByteArray())
	default:
		var n int64
		n, ok = c.leaf.integer(v)
		f = float64(n)
	}
	to.float = f
	to.set(0, ok && f >= 1 && !math.IsInf(f, 1), op.WarnBadValue)
}

// flag translates to 1 for true and 0 for false.
func flag(c *column, v lib.Value, to *value) {
	switch c.leaf.typ.Kind() {
	case lib.Boolean:
		to.ok = true
		if v.Boolean() {
			to.number = 1
		}
	case lib.Int32, lib.Int64:
		to.set(c.leaf.signed(v), true, 0)
	default:
		to.set(0, false, op.WarnBadValue)
	}
}

// traceID translates ids in hexadecimal or as bytes. One that is zero or neither is
// unknown.
func traceID(c *column, v lib.Value, to *value) {
	text := c.leaf.bytes(v)
	var ok bool
	if to.id, ok = op.ParseTraceID(text); !ok && len(text) == len(to.id) {
		to.id = op.TraceID(text)
	}
	to.isID(c, text, !to.id.IsZero())
}

// spanID is traceID for a span. Where none is true, zero is an id too: that of no span.
func spanID(none bool) translate {
	return func(c *column, v lib.Value, to *value) {
		text := c.leaf.bytes(v)
		id, ok := op.ParseSpanID(text)
		if !ok && len(text) == len(id) {
			id, ok = op.SpanID(text), true
		}
		copy(to.id[:], id[:])
		to.isID(c, text, ok && (none || !id.IsZero()))
	}
}

func (l *leaf) bytes(v lib.Value) []byte {
	if l.isText() {
		return v.ByteArray()
	}
	return nil
}

// isID adds a warning about a value that is not empty and no id.
func (v *value) isID(c *column, text []byte, isID bool) {
	if v.ok = true; !isID && (len(text) > 0 || !c.leaf.isText()) {
		v.warning = op.WarnBadID
	}
}

// failure translates what an error column tells. Where the description of an error is not
// null, though empty, the operation failed.
func failure(c *column, v lib.Value, to *value) {
	text(c, v, to)
	if c.leaf.maxDef > 0 || to.text != "" {
		to.number = 1
	}
}

// parseShapes translates texts that hold all shapes of an entry. They mean what they mean
// as an attribute.
func parseShapes(c *column, v lib.Value, to *value) {
	text(c, v, to)
	c.texts.Reset()
	c.texts.Str(op.KeyName, "shapes")
	c.texts.Str(op.KeyInputShapes, to.text)
	e, _ := c.texts.Entry()
	to.named, to.warning = e.Clone().InputShapes, to.warning|e.Warn
}
