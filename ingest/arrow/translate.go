package arrow

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// translator is what the translation of values shares.
type translator struct {
	strings intern.Table
	texts   *op.Builder // reads shapes that are kept as text
	err     error       // the first value that cannot be
	memory  *memory     // of the column that is translated
}

// memory is what meanings refer to. Where it grows, they keep what they had.
type memory struct {
	dims   []int64
	shapes []op.Shape
}

// reset forgets them. Empty lists are not nil.
func (m *memory) reset() {
	if m.dims == nil {
		m.dims, m.shapes = []int64{}, []op.Shape{}
	}
	m.dims, m.shapes = m.dims[:0], m.shapes[:0]
}

// mostReserved is for how many values of a dictionary memory is taken at once. Files may
// claim any number.
const mostReserved = 1 << 16

// reserve makes room for what the values of an array mean, as far as they are lists.
func (m *memory) reserve(a *array) {
	for ; a.isList(); a = &a.children[0] {
		if child := &a.children[0]; child.isList() {
			m.shapes = slices.Grow(m.shapes, min(child.n, mostReserved))
		} else {
			m.dims = slices.Grow(m.dims, min(child.n, mostReserved))
		}
	}
}

// translate tells what the i-th value of an array, which is not null and no index,
// means, a warning about it, and whether it means anything.
type translate[T any] func(x *translator, a *array, i int) (t T, warning op.Warning, ok bool)

// bytes returns the bytes of a text.
func (x *translator) bytes(a *array, i int) []byte {
	b, err := a.bytes(i)
	if err != nil && x.err == nil {
		x.err = err
	}
	return b
}

// list returns the elements of a list.
func (x *translator) list(a *array, i int) (child *array, start, end int) {
	child, start, end, err := a.list(i)
	if err != nil && x.err == nil {
		x.err = err
	}
	return child, start, end
}

// text returns a value as valid text, the same string for the same text. Numbers
// become text.
func text(x *translator, a *array, i int) (s string, warning op.Warning, ok bool) {
	if a.isText() {
		b := x.bytes(a, i)
		if s, ok := x.strings.Find(b); ok { // only what is valid is remembered
			return s, 0, true
		}
		if !utf8.Valid(b) {
			return string([]rune(string(b))), op.WarnInvalidUTF8, true
		}
		return x.strings.String(b), 0, true
	}
	if a.field.Type.Kind == arrowipc.Bool {
		n, _ := a.int(i)
		return strconv.FormatBool(n != 0), 0, true
	}
	if f, ok := a.float(i); ok {
		return strconv.FormatFloat(f, 'g', -1, 64), 0, true
	}
	if n, ok := a.int(i); ok {
		return strconv.FormatInt(n, 10), 0, true
	}
	return "", op.WarnBadValue, false
}

// named translates texts that parse knows, or warns of.
func named[T any](parse func(name string) (T, op.Warning)) translate[T] {
	return func(x *translator, a *array, i int) (T, op.Warning, bool) {
		name, warning, _ := text(x, a, i)
		t, w := parse(name)
		return t, warning | w, true
	}
}

// number returns a value as an integer.
func (x *translator) number(a *array, i int) (n int64, ok bool) {
	switch {
	case a.field.Type.Kind == arrowipc.Bool:
		return 0, false
	case a.field.Type.Kind == arrowipc.Float:
		f, _ := a.float(i)
		return jsontext.IntegralFloat(f)
	case a.isText():
		return jsontext.ParseInt(x.bytes(a, i))
	}
	return a.int(i)
}

// integer translates integers that are least or more. Anything else means nothing
// and adds a warning.
func integer(least int64, warning op.Warning) translate[op.Int] {
	return func(x *translator, a *array, i int) (op.Int, op.Warning, bool) {
		n, ok := x.number(a, i)
		if !ok || n < least {
			return op.Int{}, warning, false
		}
		return op.Known(n), 0, true
	}
}

// nanos translates times and durations, in nanoseconds unless the type of the
// column says otherwise.
func nanos(warning op.Warning) translate[op.Int] {
	return func(x *translator, a *array, i int) (op.Int, op.Warning, bool) {
		n, ok := x.number(a, i)
		if unit := a.field.Type.Unit; ok && unit > 1 {
			ok = math.MinInt64/unit <= n && n <= math.MaxInt64/unit
			n *= unit
		}
		if !ok {
			return op.Int{}, warning, false
		}
		return op.Known(n), 0, true
	}
}

// micros translates durations in microseconds, as the seed's recorder writes them,
// to nanoseconds.
func micros(x *translator, a *array, i int) (ns op.Int, warning op.Warning, ok bool) {
	const maxMicros = math.MaxInt64 / 1000
	if a.isText() {
		ns.V, ok = jsontext.ParseMicros(x.bytes(a, i))
	} else if f, isFloat := a.float(i); isFloat {
		if ok = math.Abs(f) < maxMicros; ok {
			ns.V = int64(math.Round(f * 1000))
		}
	} else if ns.V, ok = x.number(a, i); ok {
		ok = -maxMicros <= ns.V && ns.V <= maxMicros
		ns.V *= 1000
	}
	if !ok {
		return op.Int{}, op.WarnBadValue, false
	}
	ns.Known = true
	return ns, 0, true
}

// adjustedCount translates numbers of operations that an entry stands for.
func adjustedCount(x *translator, a *array, i int) (f float64, warning op.Warning, ok bool) {
	if f, ok = a.float(i); !ok {
		if a.isText() {
			f, ok = jsontext.ParseFloat(x.bytes(a, i))
		} else {
			var n int64
			n, ok = x.number(a, i)
			f = float64(n)
		}
	}
	if !ok || !(f >= 1) || math.IsInf(f, 1) {
		return 0, op.WarnBadValue, false
	}
	return f, 0, true
}

func flag(_ *translator, a *array, i int) (set bool, warning op.Warning, ok bool) {
	if n, ok := a.int(i); ok {
		return n != 0, 0, true
	}
	return false, op.WarnBadValue, false
}

// traceID translates ids in hexadecimal or as bytes. One that is zero or neither is
// unknown.
func traceID(x *translator, a *array, i int) (id op.TraceID, warning op.Warning, ok bool) {
	b := x.bytes(a, i)
	id, ok = op.ParseTraceID(b)
	if !ok && len(b) == len(id) {
		id = op.TraceID(b)
	}
	return id, badID(a, b, !id.IsZero()), true
}

// isSpanNumber reports whether values are integers of 64 bits, which ids of spans may
// be.
func (a *array) isSpanNumber() bool {
	return a.field.Type.Kind == arrowipc.Int && a.field.Type.Bits == 64
}

// spanIDOf returns the id whose digits are those of the i-th number.
func spanIDOf(data []byte, i int) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], uint64(int64At(data, i)))
	return id
}

// spanID is traceID for a span, whose id may be a number as well. Where none is true, zero
// is an id too: that of no span.
func spanID(none bool) translate[op.SpanID] {
	return func(x *translator, a *array, i int) (op.SpanID, op.Warning, bool) {
		if a.isSpanNumber() {
			id := spanIDOf(a.data, i)
			return id, badID(a, nil, none || !id.IsZero()), true
		}
		b := x.bytes(a, i)
		id, ok := op.ParseSpanID(b)
		if !ok && len(b) == len(id) {
			id, ok = op.SpanID(b), true
		}
		return id, badID(a, b, ok && (none || !id.IsZero())), true
	}
}

// badID returns a warning about a value that is not empty and no id.
func badID(a *array, b []byte, isID bool) op.Warning {
	if !isID && (len(b) > 0 || !a.isText()) {
		return op.WarnBadID
	}
	return 0
}

// failure is what an error column tells. Where the description of an error is not
// null, though empty, the operation failed.
type failure struct {
	text   string
	failed bool
}

func failureOf(x *translator, a *array, i int) (failure, op.Warning, bool) {
	s, warning, _ := text(x, a, i)
	return failure{s, a.field.Nullable || s != ""}, warning, true
}

// each calls f for the elements of a list: with an array of values and the place in
// it, or nil for null.
func (x *translator) each(a *array, i int, f func(n int, a *array, i int)) {
	child, start, end := x.list(a, i)
	for k := start; k < end; k++ {
		element, at, ok := child.at(k)
		if !ok {
			element = nil
		}
		f(k-start, element, at)
	}
}

// warnings translates lists of warnings.
func warnings(x *translator, a *array, i int) (_ struct{}, set op.Warning, ok bool) {
	if !a.isList() {
		return struct{}{}, op.WarnBadValue, false
	}
	x.each(a, i, func(_ int, name *array, i int) {
		if name != nil {
			s, w, _ := text(x, name, i)
			_, known := rows.ParseWarning(s)
			set |= w | known
		}
	})
	return struct{}{}, set, true
}

// maxAttrs bounds the attributes of a row. The SDK's limit is a fraction of it.
const maxAttrs = 1024

// attrs translates maps of texts.
func attrs(x *translator, a *array, i int) (list []op.Attr, warning op.Warning, ok bool) {
	if !a.isList() || len(a.children[0].children) < 2 {
		return nil, op.WarnBadValue, false
	}
	x.each(a, i, func(n int, pair *array, i int) {
		if n >= maxAttrs || pair == nil {
			warning |= op.WarnBadValue
			return
		}
		key, value := &pair.children[0], &pair.children[1]
		list = append(list, op.Attr{Key: x.part(key, i, &warning), Value: x.part(value, i, &warning)})
	})
	return slices.Clip(rows.UniqueAttrs(list)), warning, true
}

// part returns the text of a part of a group, "" where that is null or missing.
func (x *translator) part(a *array, i int, warning *op.Warning) string {
	if a == nil {
		return ""
	}
	values, at, ok := a.at(i)
	if !ok {
		return ""
	}
	s, w, _ := text(x, values, at)
	*warning |= w
	return s
}

// intPart returns an integer of a group that is least or more.
func (x *translator) intPart(a *array, i int, least int64, warning *op.Warning) op.Int {
	if a == nil {
		return op.Int{}
	}
	values, at, ok := a.at(i)
	if !ok {
		return op.Int{}
	}
	n, w, _ := integer(least, op.WarnBadValue)(x, values, at)
	*warning |= w
	return n
}

// links translates lists of groups.
func links(x *translator, a *array, i int) (list []op.Link, warning op.Warning, ok bool) {
	if !a.isList() {
		return nil, op.WarnBadValue, false
	}
	x.each(a, i, func(n int, group *array, i int) {
		if n >= op.MaxLinks {
			warning |= op.WarnDroppedLinks
			return
		}
		var l op.Link
		if group != nil {
			l = x.link(group, i, &warning)
		}
		if l.TraceID.IsZero() || l.SpanID.IsZero() {
			warning |= op.WarnBadID
		} else {
			list = append(list, l)
		}
	})
	return slices.Clip(list), warning, true
}

func (x *translator) link(group *array, i int, warning *op.Warning) (l op.Link) {
	if a := group.child("trace_id"); a != nil {
		if values, at, ok := a.at(i); ok {
			l.TraceID, _, _ = traceID(x, values, at)
		}
	}
	if a := group.child("span_id"); a != nil {
		if values, at, ok := a.at(i); ok {
			l.SpanID, _, _ = spanID(false)(x, values, at)
		}
	}
	l.Weight = x.intPart(group.child("weight"), i, 0, warning)
	return l
}

// collective translates groups.
func collective(x *translator, a *array, i int) (c *op.Collective, warning op.Warning, ok bool) {
	if a.field.Type.Kind != arrowipc.Struct {
		return nil, op.WarnBadValue, false
	}
	return &op.Collective{
		Name: x.part(a.child("name"), i, &warning), Group: x.part(a.child("group"), i, &warning),
		GroupSize:   x.intPart(a.child("group_size"), i, math.MinInt64, &warning),
		Sequence:    x.intPart(a.child("sequence"), i, math.MinInt64, &warning),
		PeerRank:    x.intPart(a.child("peer_rank"), i, math.MinInt64, &warning),
		InElements:  x.intPart(a.child("in_elements"), i, math.MinInt64, &warning),
		OutElements: x.intPart(a.child("out_elements"), i, math.MinInt64, &warning),
	}, warning, true
}

// gap translates groups.
func gap(x *translator, a *array, i int) (g op.Gap, warning op.Warning, ok bool) {
	if a.field.Type.Kind != arrowipc.Struct {
		return g, op.WarnBadValue, false
	}
	g.Dropped = x.intPart(a.child("dropped"), i, 0, &warning).V
	g.Reason = x.part(a.child("reason"), i, &warning)
	return g, warning, true
}

// write translates groups that head the records of a write.
func write(x *translator, a *array, i int) (b op.Batch, warning op.Warning, ok bool) {
	if a.field.Type.Kind != arrowipc.Struct {
		return b, op.WarnBadValue, false
	}
	b.Writer = x.part(a.child("writer"), i, &warning)
	b.Sequence = x.intPart(a.child("seq"), i, 0, &warning).V
	b.Entries = x.intPart(a.child("entries"), i, 0, &warning).V
	return b, warning, true
}
