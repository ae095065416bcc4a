package parquet

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// row is a row of the table while its columns are read, and what it may become.
// All of it is reused for the next one.
type row struct {
	strings intern.Table
	texts   *op.Builder // reads shapes that are kept as text

	record string
	entry  op.Entry // also holds what other records have in common with it
	has    fieldsSeen
	failed bool

	coll     op.Collective
	span     op.Span
	resource op.Resource
	gap      op.Gap
	batch    op.Batch

	inputs []op.Shape
	dims   []int64 // backs all shapes of an entry
	dtypes []op.DType
	attrs  []op.Attr

	kinds map[string]inferred
}

// fieldsSeen tells which columns of a row had a value, where that matters.
type fieldsSeen struct {
	duration                    durationSource
	rule, collective, outputCut bool
}

// durationSource tells where a row's duration is from. A later one wins.
type durationSource uint8

const (
	durationUnknown durationSource = iota
	durationMicros
	durationNanos
)

// inferred is the kind that an operation's name tells.
type inferred struct {
	kind op.Kind
	rule op.KindRule
}

// maxKinds bounds how many names' kinds are remembered.
const maxKinds = 1 << 12

func (r *row) reset() {
	r.record, r.failed = "", false
	r.entry = op.Entry{}
	r.has = fieldsSeen{}
	r.coll = op.Collective{}
	r.span = op.Span{}
	r.resource.WorldSize = op.Int{}
	r.gap, r.batch = op.Gap{}, op.Batch{}
	r.inputs, r.dims, r.dtypes, r.attrs = r.inputs[:0], r.dims[:0], r.dtypes[:0], r.attrs[:0]
}

func (r *row) warn(w op.Warning) { r.entry.Warn |= w }

// one returns the value of a column that holds one per row, nil for null. A
// list in its place is a wrong value.
func (r *row) one(c *cursor, warning op.Warning) (*value, error) {
	if c.leaf.maxRep > 0 {
		return nil, r.pass(c, warning)
	}
	v, err := c.take()
	if err != nil {
		return nil, c.wrap(err)
	}
	return v, nil
}

// pass passes over a row's values, which a warning tells of unless they are
// null.
func (r *row) pass(c *cursor, warning op.Warning) error {
	for {
		if c.nextDef > 0 {
			r.warn(warning)
		}
		if _, err := c.take(); err != nil {
			return c.wrap(err)
		}
		if more, err := c.more(); err != nil || !more {
			return err
		}
	}
}

// str reads a column of text; null is "". Numbers become text.
func (r *row) str(c *cursor) (string, error) {
	v, err := r.one(c, op.WarnBadValue)
	if v == nil || err != nil {
		return "", err
	}
	return r.text(c.leaf, v), nil
}

// text returns a value as valid text, the same string for the same text.
func (r *row) text(l *leaf, v *value) string {
	if v.state == textUnknown {
		r.setText(l, v)
	}
	if v.state == textInvalid {
		r.warn(op.WarnInvalidUTF8)
	}
	return v.text
}

func (r *row) setText(l *leaf, v *value) {
	v.state = textValid
	switch l.typ {
	case physBytes, physFixed:
		if s, ok := r.strings.Find(v.b); ok { // only what is valid is remembered
			v.text = s
		} else if utf8.Valid(v.b) {
			v.text = r.strings.String(v.b)
		} else {
			v.text, v.state = string([]rune(string(v.b))), textInvalid
		}
	case physBoolean:
		v.text = strconv.FormatBool(v.i != 0)
	case physFloat, physDouble:
		v.text = strconv.FormatFloat(v.f, 'g', -1, 64)
	default:
		v.text = strconv.FormatInt(v.i, 10)
	}
}

// integer reads a column of integers; null is unknown, and so is anything that
// is no integer, which adds warning.
func (r *row) integer(c *cursor, warning op.Warning) (op.Int, error) {
	v, err := r.one(c, warning)
	if v == nil || err != nil {
		return op.Int{}, err
	}
	n, ok := c.leaf.integer(v)
	if !ok {
		r.warn(warning)
		return op.Int{}, nil
	}
	return op.Known(n), nil
}

// integer returns a value as an integer.
func (l *leaf) integer(v *value) (n int64, ok bool) {
	switch l.typ {
	case physInt32, physInt64, physInt96:
		n = v.i
		if l.typ == physInt32 && l.unsigned {
			n = int64(uint32(n))
		}
		return n, !l.decimal && (!l.unsigned || n >= 0)
	case physFloat, physDouble:
		return jsontext.IntegralFloat(v.f)
	case physBytes:
		return jsontext.ParseInt(v.b)
	}
	return 0, false
}

// nanos reads a column of times or durations, in nanoseconds unless its type
// says otherwise.
func (r *row) nanos(c *cursor, warning op.Warning) (op.Int, error) {
	n, err := r.integer(c, warning)
	if unit := c.leaf.unit; unit > 1 && n.Known {
		if n.V > math.MaxInt64/unit || n.V < math.MinInt64/unit {
			r.warn(warning)
			return op.Int{}, err
		}
		n.V *= unit
	}
	return n, err
}

// amount reads an integer that cannot be negative.
func (r *row) amount(c *cursor, warning op.Warning) (op.Int, error) {
	n, err := r.integer(c, warning)
	if n.V < 0 {
		r.warn(warning)
		return op.Int{}, err
	}
	return n, err
}

// number reads a column of numbers; null is unknown.
func (r *row) number(c *cursor) (f float64, ok bool, err error) {
	v, err := r.one(c, op.WarnBadValue)
	if v == nil || err != nil {
		return 0, false, err
	}
	switch c.leaf.typ {
	case physFloat, physDouble:
		f, ok = v.f, true
	case physBytes:
		f, ok = jsontext.ParseFloat(v.b)
	default:
		var n int64
		n, ok = c.leaf.integer(v)
		f = float64(n)
	}
	if !ok {
		r.warn(op.WarnBadValue)
	}
	return f, ok, nil
}

// flag reads a column of booleans; null is false.
func (r *row) flag(c *cursor) (bool, error) {
	v, err := r.one(c, op.WarnBadValue)
	if v == nil || err != nil {
		return false, err
	}
	switch c.leaf.typ {
	case physBoolean, physInt32, physInt64:
		return v.i != 0, nil
	}
	r.warn(op.WarnBadValue)
	return false, nil
}

// traceID reads an id, in hexadecimal or as bytes. One that is zero or neither
// is unknown.
func (r *row) traceID(c *cursor) (op.TraceID, error) {
	v, err := r.one(c, op.WarnBadID)
	if v == nil || err != nil {
		return op.TraceID{}, err
	}
	id, ok := op.ParseTraceID(v.b)
	if !ok && len(v.b) == len(id) {
		id = op.TraceID(v.b)
	}
	if id.IsZero() && (len(v.b) > 0 || !c.leaf.isText()) {
		r.warn(op.WarnBadID)
	}
	return id, nil
}

// spanID is traceID for a span. Where none is a value too, zero is one.
func (r *row) spanID(c *cursor, none bool) (op.SpanID, error) {
	v, err := r.one(c, op.WarnBadID)
	if v == nil || err != nil {
		return op.SpanID{}, err
	}
	id, ok := op.ParseSpanID(v.b)
	if !ok && len(v.b) == len(id) {
		id, ok = op.SpanID(v.b), true
	}
	if bad := !ok || id.IsZero() && !none; bad && (len(v.b) > 0 || !c.leaf.isText()) {
		r.warn(op.WarnBadID)
	}
	return id, nil
}
