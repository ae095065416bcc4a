package op

import (
	"bytes"
	"math"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/jsontext"
)

// The methods in this file read entries and ancestry records in canonical form,
// which is how AppendJSON writes them: the members in its order, no white space, no
// escapes in strings, no member twice. Nearly all lines are, and reading those in
// one pass without a Lexer takes a fraction of the time. Each method takes the text
// and an index and returns the index behind what it has read, -1 where the text is
// not canonical, as the functions of jsontext do. Such a line is read by
// decodeRecord, from its start.
//
// A member that AppendJSON writes belongs here, in its place, and in entryField.

// canonicalRecord reads the record in canonical form at the start of text. It
// returns the length of the line with its newline, 0 where it is something else.
func (d *decoder) canonicalRecord(text []byte) (rec Record, size int) {
	switch {
	case jsontext.Has(text, 0, `{"step":`):
		d.resetEntry()
		if size = d.canonicalEntry(text); size >= 0 {
			d.finishEntry()
		}
		rec.Entry = &d.entry
	case jsontext.Has(text, 0, `{"span":`):
		size = d.canonicalSpan(text)
		rec.Span = &d.span
	}
	if size <= 0 || size > MaxLineBytes || d.fault != "" {
		return Record{}, 0
	}
	return rec, size
}

// canonicalEntry reads an entry, which starts the line b.
func (d *decoder) canonicalEntry(b []byte) (i int) {
	e := &d.entry
	d.has = hasAny | hasDuration | hasElements | hasMemory
	e.Step, i = optionalInt(b, jsontext.Literal(b, 0, `{"step":`))
	e.Operation, i = d.canonicalText(b, jsontext.Literal(b, i, `,"operation":`))
	if i = jsontext.Literal(b, i, `,"device_id":`); jsontext.Has(b, i, "null") {
		i += len("null")
	} else {
		e.DeviceID, i = d.canonicalText(b, i)
		e.EmptyDevice = e.DeviceID == ""
	}
	e.InputShapes, i = d.canonicalShapes(b, jsontext.Literal(b, i, `,"input_shapes":`))
	e.OutputShape, i = d.canonicalShape(b, jsontext.Literal(b, i, `,"output_shape":`))
	e.Duration, i = jsontext.Micros(b, jsontext.Literal(b, i, `,"duration_us":`))
	e.OutputElements, i = optionalAmount(b, jsontext.Literal(b, i, `,"output_elements":`))
	e.MemoryBytes, i = optionalAmount(b, jsontext.Literal(b, i, `,"memory_bytes":`))

	if j := jsontext.Literal(b, i, `,"kind":`); j > 0 {
		if e.Kind, i = d.canonicalKind(b, j); e.Kind == KindUnknown {
			return -1
		}
		if j := jsontext.Literal(b, i, `,"kind_rule":`); j > 0 {
			var name string
			name, i = d.canonicalText(b, j)
			var ok bool
			if e.KindRule, ok = parseKindRule(name); !ok {
				return -1
			}
			d.has |= hasRule
		}
	}
	if j := jsontext.Literal(b, i, `,"dtype":`); j > 0 {
		if e.DType, i = d.canonicalDType(b, j); e.DType == "" {
			return -1
		}
	}
	if j := jsontext.Literal(b, i, `,"start_unix_ns":`); j > 0 {
		e.Start, i = amount(b, j)
	}
	if j := jsontext.Literal(b, i, `,"duration_ns":`); j > 0 {
		e.Duration, i = jsontext.Digits(b, j)
		d.has |= hasDurationNS
	}
	if j := jsontext.Literal(b, i, `,"launch_unix_ns":`); j > 0 {
		e.Launch, i = amount(b, j)
	}
	if j := jsontext.Literal(b, i, `,"stream":`); j > 0 {
		e.Stream, i = integer(b, j)
	}
	if j := jsontext.Literal(b, i, `,"rank":`); j > 0 {
		e.Rank, i = amount(b, j)
	}
	if j := jsontext.Literal(b, i, `,"flops":`); j > 0 {
		e.FLOPs, i = amount(b, j)
	}
	if i = canonicalIDs(b, i, &e.TraceID, &e.SpanID, &e.ParentSpanID); i < 0 {
		return -1
	}
	if j := jsontext.Literal(b, i, `,"root":`); j > 0 {
		e.Root, i = d.repeatedText(b, j, &d.lastRoot)
	}
	if j := jsontext.Literal(b, i, `,"root_span_id":`); j > 0 {
		i = jsontext.QuotedHex(b, j, e.RootSpanID[:])
	}
	if j := jsontext.Literal(b, i, `,"service":`); j > 0 {
		e.Service, i = d.repeatedText(b, j, &d.lastService)
	}
	if j := jsontext.Literal(b, i, `,"scope":`); j > 0 {
		e.Scope, i = d.repeatedText(b, j, &d.lastScope)
	}
	if j := jsontext.Literal(b, i, `,"path":`); j > 0 {
		e.Path, i = d.canonicalText(b, j)
	}
	if jsontext.Has(b, i, "}\n") {
		return i + len("}\n")
	}
	return d.canonicalRarities(b, i)
}

// canonicalRarities reads the last members of an entry, which few entries have.
func (d *decoder) canonicalRarities(b []byte, i int) int {
	e := &d.entry
	if j := jsontext.Literal(b, i, `,"input_dtypes":[`); j > 0 {
		e.InputDTypes, i = d.canonicalDTypes(b, j)
	}
	if j := jsontext.Literal(b, i, `,"side":"host"`); j > 0 {
		e.Side = SideHost
		i = j
	}
	if j := jsontext.Literal(b, i, `,"error":`); j > 0 {
		e.Failed = true
		e.Error, i = d.canonicalText(b, j)
	}
	if j := jsontext.Literal(b, i, `,"dropped_attributes":`); j > 0 {
		e.DroppedAttributes, i = jsontext.Digits(b, j)
	}
	if j := jsontext.Literal(b, i, `,"attrs":{`); j > 0 {
		e.Attrs, i = d.canonicalAttrs(b, j)
	}
	if j := jsontext.Literal(b, i, `,"links":[`); j > 0 {
		e.Links, i = d.canonicalLinks(b, j)
	}
	if j := jsontext.Literal(b, i, `,"extra":`); j > 0 {
		e.Extra, i = d.canonicalExtra(b, j)
	}
	if j := jsontext.Literal(b, i, `,"warn":[`); j > 0 {
		e.Warn, i = d.canonicalWarnings(b, j)
	}
	if j := jsontext.Literal(b, i, `,"collective":`); j > 0 {
		i = d.canonicalCollective(b, j)
		e.Collective = &d.coll
	}
	return jsontext.Literal(b, i, "}\n")
}

func (d *decoder) canonicalCollective(b []byte, i int) int {
	c := &d.coll
	*c = Collective{}
	c.Name, i = d.canonicalText(b, jsontext.Literal(b, i, `{"name":`))
	if j := jsontext.Literal(b, i, `,"group":`); j > 0 {
		c.Group, i = d.canonicalText(b, j)
	}
	if j := jsontext.Literal(b, i, `,"group_size":`); j > 0 {
		c.GroupSize, i = integer(b, j)
	}
	if j := jsontext.Literal(b, i, `,"sequence":`); j > 0 {
		c.Sequence, i = integer(b, j)
	}
	if j := jsontext.Literal(b, i, `,"peer_rank":`); j > 0 {
		c.PeerRank, i = integer(b, j)
	}
	if j := jsontext.Literal(b, i, `,"in_elements":`); j > 0 {
		c.InElements, i = integer(b, j)
	}
	if j := jsontext.Literal(b, i, `,"out_elements":`); j > 0 {
		c.OutElements, i = integer(b, j)
	}
	return jsontext.Literal(b, i, "}")
}

// canonicalSpan reads an ancestry record, which starts the line b.
func (d *decoder) canonicalSpan(b []byte) (i int) {
	s := &d.span
	*s = Span{}
	d.resetLists()
	d.fault = ""
	s.Name, i = d.canonicalText(b, jsontext.Literal(b, 0, `{"span":{"name":`))
	if i = canonicalIDs(b, i, &s.TraceID, &s.SpanID, &s.ParentSpanID); i < 0 {
		return -1
	}
	if j := jsontext.Literal(b, i, `,"parent_remote":true`); j > 0 {
		s.RemoteParent = true
		i = j
	}
	if j := jsontext.Literal(b, i, `,"start_unix_ns":`); j > 0 {
		s.Start, i = amount(b, j)
	}
	s.Duration, i = jsontext.Digits(b, jsontext.Literal(b, i, `,"duration_ns":`))
	if j := jsontext.Literal(b, i, `,"service":`); j > 0 {
		s.Service, i = d.repeatedText(b, j, &d.lastService)
	}
	if j := jsontext.Literal(b, i, `,"failed":true`); j > 0 {
		s.Failed = true
		i = j
	}
	if j := jsontext.Literal(b, i, `,"attrs":{`); j > 0 {
		s.Attrs, i = d.canonicalAttrs(b, j)
	}
	if j := jsontext.Literal(b, i, `,"links":[`); j > 0 {
		s.Links, i = d.canonicalLinks(b, j)
	}
	if j := jsontext.Literal(b, i, `,"extra":`); j > 0 {
		s.Extra, i = d.canonicalExtra(b, j)
	}
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = Int{}
	}
	return jsontext.Literal(b, i, "}}\n")
}

// canonicalIDs reads the ids of a span, none of which AppendJSON writes where it
// is zero.
func canonicalIDs(b []byte, i int, trace *TraceID, span, parent *SpanID) int {
	if j := jsontext.Literal(b, i, `,"trace_id":`); j > 0 {
		if i = jsontext.QuotedHex(b, j, trace[:]); trace.IsZero() {
			return -1
		}
	}
	if j := jsontext.Literal(b, i, `,"span_id":`); j > 0 {
		if i = jsontext.QuotedHex(b, j, span[:]); span.IsZero() {
			return -1
		}
	}
	if j := jsontext.Literal(b, i, `,"parent_span_id":`); j > 0 {
		i = jsontext.QuotedHex(b, j, parent[:])
	}
	return i
}

// canonicalText reads a string, which is valid UTF-8.
func (d *decoder) canonicalText(b []byte, i int) (string, int) {
	text, end := jsontext.Quoted(b, i)
	if s, ok := d.strings.Find(text); ok {
		return s, end // only valid text is remembered
	}
	if !utf8.Valid(text) {
		return "", -1
	}
	return d.strings.String(text), end
}

// canonicalKind reads a kind.
func (d *decoder) canonicalKind(b []byte, i int) (Kind, int) {
	name, i := d.canonicalText(b, i)
	k, _ := ParseKind(name)
	return k, i
}

// canonicalDType reads an element type that is recognised.
func (d *decoder) canonicalDType(b []byte, i int) (DType, int) {
	name, i := d.canonicalText(b, i)
	t, ok := ParseDType(name)
	if !ok {
		return "", -1
	}
	return t, i
}

// canonicalDTypes reads the rest of a list of element types.
func (d *decoder) canonicalDTypes(b []byte, i int) ([]DType, int) {
	if jsontext.Has(b, i, "]") {
		return []DType{}, i + 1
	}
	for {
		var name string
		name, i = d.canonicalText(b, i)
		t, _ := ParseDType(name)
		d.dtypes = append(d.dtypes, t)
		if !jsontext.Has(b, i, ",") {
			break
		}
		i++
	}
	if len(d.dtypes) > MaxInputs {
		return nil, -1
	}
	return d.dtypes, jsontext.Literal(b, i, "]")
}

// canonicalAttrs reads the rest of an object, which is not empty and whose values are
// no lists or objects.
func (d *decoder) canonicalAttrs(b []byte, i int) ([]Attr, int) {
	for {
		var a Attr
		a.Key, i = d.canonicalText(b, i)
		i = jsontext.Literal(b, i, ":")
		switch end := jsontext.Literal(b, i, "true"); {
		case jsontext.Has(b, i, `"`):
			a.Value, i = d.canonicalText(b, i)
		case end > 0:
			a.Value, a.Type, i = "true", AttrBool, end
		case jsontext.Has(b, i, "false"):
			a.Value, a.Type, i = "false", AttrBool, i+len("false")
		default:
			i = d.canonicalNumber(b, i, &a)
		}
		if i < 0 {
			return nil, -1
		}
		d.attrs = setAttr(d.attrs, a)
		if !jsontext.Has(b, i, ",") {
			return d.attrs, jsontext.Literal(b, i, "}")
		}
		i++
	}
}

// canonicalNumber reads an attribute that is a number.
func (d *decoder) canonicalNumber(b []byte, i int, a *Attr) int {
	if i < 0 {
		return -1
	}
	d.lex.Reset(b[i:])
	number := d.lex.Number()
	if d.lex.Err() != nil {
		return -1
	}
	a.setNumber(number)
	return i + d.lex.Pos()
}

// canonicalExtra reads an object.
func (d *decoder) canonicalExtra(b []byte, i int) (*Extra, int) {
	if line := bytes.IndexByte(b[i:], '\n'); line >= 0 {
		b = b[:i+line]
	}
	d.lex.Reset(b[i:])
	before := d.entry.Warn
	d.entry.Warn = 0
	x := d.decodeExtra()
	bad := d.lex.Err() != nil || d.entry.Warn != 0
	if d.entry.Warn = before; bad {
		return nil, -1
	}
	return x, i + d.lex.Pos()
}

// canonicalWarnings reads the rest of a list, which is not empty.
func (d *decoder) canonicalWarnings(b []byte, i int) (all Warning, end int) {
	for {
		var name string
		name, i = d.canonicalText(b, i)
		w, _ := ParseWarning(name) // a later version may know more of them
		all |= w
		if !jsontext.Has(b, i, ",") {
			return all, jsontext.Literal(b, i, "]")
		}
		i++
	}
}

// canonicalShapes reads a list of shapes, or null.
func (d *decoder) canonicalShapes(b []byte, i int) ([]Shape, int) {
	if !jsontext.Has(b, i, "[") {
		return nil, jsontext.Literal(b, i, "null")
	}
	if d.inputs == nil {
		d.inputs = make([]Shape, 0, 4)
	}
	if i++; jsontext.Has(b, i, "]") {
		return d.inputs, i + 1
	}
	for {
		var s Shape
		s, i = d.canonicalShape(b, i)
		d.inputs = append(d.inputs, s)
		if !jsontext.Has(b, i, ",") {
			break
		}
		i++
	}
	if len(d.inputs) > MaxInputs {
		return nil, -1
	}
	return d.inputs, jsontext.Literal(b, i, "]")
}

// canonicalShape reads a list of dimensions, or null.
func (d *decoder) canonicalShape(b []byte, i int) (Shape, int) {
	if !jsontext.Has(b, i, "[") {
		return nil, jsontext.Literal(b, i, "null")
	}
	if d.dims == nil {
		d.dims = make([]int64, 0, 16)
	}
	start := len(d.dims)
	if i++; jsontext.Has(b, i, "]") {
		return Shape(d.dims[start:start:start]), i + 1
	}
	for {
		n, end := jsontext.ShortDigits(b, i)
		if end < 0 {
			if end = jsontext.Literal(b, i, "-1"); end < 0 {
				return nil, -1
			}
			n = Dynamic
		}
		d.dims = append(d.dims, n)
		i = end
		if !jsontext.Has(b, i, ",") {
			break
		}
		i++
	}
	if len(d.dims)-start > MaxRank {
		return nil, -1
	}
	// Where dims grows later, this shape keeps the memory it had.
	return Shape(d.dims[start:len(d.dims):len(d.dims)]), jsontext.Literal(b, i, "]")
}

// amount reads a number that is not negative.
func amount(b []byte, i int) (Int, int) {
	n, i := jsontext.Digits(b, i)
	return Known(n), i
}

// optionalAmount reads a number that is not negative, or null.
func optionalAmount(b []byte, i int) (Int, int) {
	if jsontext.Has(b, i, "null") {
		return Int{}, i + len("null")
	}
	return amount(b, i)
}

// integer reads a number.
func integer(b []byte, i int) (Int, int) {
	n, i := jsontext.Integer(b, i)
	return Known(n), i
}

// optionalInt reads a number, or null.
func optionalInt(b []byte, i int) (Int, int) {
	if jsontext.Has(b, i, "null") {
		return Int{}, i + len("null")
	}
	return integer(b, i)
}

// repeatedText is canonicalText for a member that is mostly the same as in the
// record before, which last holds.
func (d *decoder) repeatedText(b []byte, i int, last *string) (string, int) {
	end := i + 1 + len(*last)
	if i >= 0 && end < len(b) && b[end] == '"' && b[i] == '"' && string(b[i+1:end]) == *last {
		return *last, end + 1
	}
	*last, i = d.canonicalText(b, i)
	return *last, i
}
