package parquet

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// translate tells what a value of a column means, a warning about it, and
// whether it means anything.
type translate[T any] func(c *column, v value) (t T, warning op.Warning, ok bool)

// text returns a value as valid text, the same string for the same text.
// Numbers become text.
func text(c *column, v value) (s string, warning op.Warning, ok bool) {
	switch c.leaf.typ {
	case format.ByteArray, format.FixedLenByteArray:
		if s, ok := c.strings.Find(v.b); ok { // only what is valid is remembered
			return s, 0, true
		}
		if !utf8.Valid(v.b) {
			return string([]rune(string(v.b))), op.WarnInvalidUTF8, true
		}
		return c.strings.String(v.b), 0, true
	case format.Boolean:
		return strconv.FormatBool(v.i != 0), 0, true
	case format.Float, format.Double:
		return strconv.FormatFloat(v.f, 'g', -1, 64), 0, true
	}
	return strconv.FormatInt(v.i, 10), 0, true
}

// named translates texts that parse knows, or warns of.
func named[T any](parse func(name string) (T, op.Warning)) translate[T] {
	return func(c *column, v value) (T, op.Warning, bool) {
		name, warning, _ := text(c, v)
		t, w := parse(name)
		return t, warning | w, true
	}
}

// number returns a value as an integer.
func (l *leaf) number(v value) (n int64, ok bool) {
	switch l.typ {
	case format.Int32, format.Int64, format.Int96:
		n = v.i
		if l.typ == format.Int32 && l.unsigned {
			n = int64(uint32(n))
		}
		return n, !l.decimal && (!l.unsigned || n >= 0)
	case format.Float, format.Double:
		return jsontext.IntegralFloat(v.f)
	case format.ByteArray:
		return jsontext.ParseInt(v.b)
	}
	return 0, false
}

// integer translates integers that are least or more. Anything else means
// nothing and adds a warning.
func integer(least int64, warning op.Warning) translate[op.Int] {
	return func(c *column, v value) (op.Int, op.Warning, bool) {
		n, ok := c.leaf.number(v)
		if !ok || n < least {
			return op.Int{}, warning, false
		}
		return op.Known(n), 0, true
	}
}

// nanos translates times and durations, in nanoseconds unless the type of the
// column says otherwise.
func nanos(warning op.Warning) translate[op.Int] {
	return func(c *column, v value) (op.Int, op.Warning, bool) {
		n, ok := c.leaf.number(v)
		if unit := c.leaf.unit; ok && unit > 1 {
			ok = math.MinInt64/unit <= n && n <= math.MaxInt64/unit
			n *= unit
		}
		if !ok {
			return op.Int{}, warning, false
		}
		return op.Known(n), 0, true
	}
}

// micros translates durations in microseconds, as the seed's recorder writes
// them, to nanoseconds.
func micros(c *column, v value) (ns int64, warning op.Warning, ok bool) {
	const maxMicros = math.MaxInt64 / 1000
	switch c.leaf.typ {
	case format.ByteArray:
		ns, ok = jsontext.ParseMicros(v.b)
	case format.Float, format.Double:
		if ok = math.Abs(v.f) < maxMicros; ok {
			ns = int64(math.Round(v.f * 1000))
		}
	default:
		if ns, ok = c.leaf.number(v); ok {
			ok = -maxMicros <= ns && ns <= maxMicros
			ns *= 1000
		}
	}
	if !ok {
		return 0, op.WarnBadValue, false
	}
	return ns, 0, true
}

// adjustedCount translates numbers of operations that an entry stands for.
func adjustedCount(c *column, v value) (f float64, warning op.Warning, ok bool) {
	switch c.leaf.typ {
	case format.Float, format.Double:
		f, ok = v.f, true
	case format.ByteArray:
		f, ok = jsontext.ParseFloat(v.b)
	default:
		var n int64
		n, ok = c.leaf.number(v)
		f = float64(n)
	}
	if !ok || !(f >= 1) || math.IsInf(f, 1) {
		return 0, op.WarnBadValue, false
	}
	return f, 0, true
}

func flag(c *column, v value) (set bool, warning op.Warning, ok bool) {
	switch c.leaf.typ {
	case format.Boolean, format.Int32, format.Int64:
		return v.i != 0, 0, true
	}
	return false, op.WarnBadValue, false
}

// traceID translates ids in hexadecimal or as bytes. One that is zero or neither
// is unknown.
func traceID(c *column, v value) (id op.TraceID, warning op.Warning, ok bool) {
	id, ok = op.ParseTraceID(v.b)
	if !ok && len(v.b) == len(id) {
		id = op.TraceID(v.b)
	}
	return id, badID(c, v, !id.IsZero()), true
}

// spanID is traceID for a span. Where none is true, zero is an id too: that of
// no span.
func spanID(none bool) translate[op.SpanID] {
	return func(c *column, v value) (op.SpanID, op.Warning, bool) {
		id, ok := op.ParseSpanID(v.b)
		if !ok && len(v.b) == len(id) {
			id, ok = op.SpanID(v.b), true
		}
		return id, badID(c, v, ok && (none || !id.IsZero())), true
	}
}

// badID returns a warning about a value that is not empty and no id.
func badID(c *column, v value, isID bool) op.Warning {
	if !isID && (len(v.b) > 0 || !c.leaf.isText()) {
		return op.WarnBadID
	}
	return 0
}

// failure is what an error column tells. Where the description of an error is
// not null, though empty, the operation failed.
type failure struct {
	text   string
	failed bool
}

func failureOf(c *column, v value) (failure, op.Warning, bool) {
	s, warning, _ := text(c, v)
	return failure{s, c.leaf.maxDef > 0 || s != ""}, warning, true
}

// parseShapes translates texts that hold all shapes of an entry. They mean what
// they mean as an attribute.
func parseShapes(c *column, v value) ([]op.Shape, op.Warning, bool) {
	name, warning, _ := text(c, v)
	c.texts.Reset()
	c.texts.Str(op.KeyName, "shapes")
	c.texts.Str(op.KeyInputShapes, name)
	e, _ := c.texts.Entry()
	return e.Clone().InputShapes, warning | e.Warn, true
}
