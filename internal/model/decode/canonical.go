package decode

import (
	"math"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
)

// The methods in this file read records in canonical form, the form of AppendJSON with common members only and without
// escapes. Nearly all lines have it, and one pass takes a fraction of the Lexer's time. Each method takes the text and
// an index, and returns the index behind the value, or -1. Record then reads the line from its start.

// The common members.
var (
	nameStep           = lexer.NewName(`{"step":`)
	nameOperation      = lexer.NewName(`,"operation":`)
	nameDeviceID       = lexer.NewName(`,"device_id":`)
	nameInputShapes    = lexer.NewName(`,"input_shapes":`)
	nameOutputShape    = lexer.NewName(`,"output_shape":`)
	nameDurationUS     = lexer.NewName(`,"duration_us":`)
	nameOutputElements = lexer.NewName(`,"output_elements":`)
	nameMemoryBytes    = lexer.NewName(`,"memory_bytes":`)
	nameKind           = lexer.NewName(`,"kind":`)
	nameKindRule       = lexer.NewName(`,"kind_rule":`)
	valueCompute       = lexer.NewName(`"compute"`)
	nameDType          = lexer.NewName(`,"dtype":`)
	nameStartUnixNS    = lexer.NewName(`,"start_unix_ns":`)
	nameDurationNS     = lexer.NewName(`,"duration_ns":`)
	nameLaunchUnixNS   = lexer.NewName(`,"launch_unix_ns":`)
	nameStream         = lexer.NewName(`,"stream":`)
	nameRank           = lexer.NewName(`,"rank":`)
	nameFLOPs          = lexer.NewName(`,"flops":`)
	nameRoot           = lexer.NewName(`,"root":`)
	nameRootSpanID     = lexer.NewName(`,"root_span_id":`)
	nameService        = lexer.NewName(`,"service":`)
	nameScope          = lexer.NewName(`,"scope":`)
	namePath           = lexer.NewName(`,"path":`)
	nameTraceID        = lexer.NewName(`,"trace_id":`)
	nameSpanID         = lexer.NewName(`,"span_id":`)
	nameParentSpanID   = lexer.NewName(`,"parent_span_id":`)
)

// Canonical reads the entry or ancestry record in canonical form at the start of text. It returns the length of the
// line with its newline, 0 outside the canonical form.
func (d *Decoder) Canonical(text []byte) (size int) {
	if size = d.canonicalLine(text); size == 0 && len(text) < maxTail {
		d.tail = append(append(d.tail[:0], text...), tailMargin...)
		size = d.canonicalLine(d.tail)
	}
	return size
}

// Names need 24 bytes of text. Up to maxTail bytes are read again with tailMargin behind them.
const (
	maxTail    = 2048
	tailMargin = "                                "
)

// canonicalLine is Canonical, except that it may miss a line at the end of text.
func (d *Decoder) canonicalLine(text []byte) (size int) {
	if d.IsSpan = lexer.Has(text, 0, `{"span":`); d.IsSpan {
		size = d.canonicalSpan(text)
	} else if size = d.canonicalEntry(text); size > 0 {
		d.Finish()
	}
	if size > lineio.MaxLine || d.Fault != "" {
		return 0
	}
	return max(0, size)
}

func (d *Decoder) canonicalEntry(b []byte) (i int) {
	if i = nameStep.Read(b, 0); i < 0 {
		return -1
	}
	d.Reset()
	e := &d.Entry
	d.has = hasAny | hasDuration | hasElements | hasMemory
	e.Step, i = optionalInt(b, i)
	e.Operation, i = d.canonicalText(b, nameOperation.Read(b, i))
	if i = nameDeviceID.Read(b, i); lexer.Has(b, i, "null") {
		i += len("null")
	} else {
		e.DeviceID, i = d.canonicalText(b, i)
		e.EmptyDevice = e.DeviceID == ""
	}
	e.InputShapes, i = d.canonicalShapes(b, nameInputShapes.Read(b, i))
	e.OutputShape, i = d.canonicalShape(b, nameOutputShape.Read(b, i))
	e.Duration, i = lexer.Micros(b, nameDurationUS.Read(b, i))
	e.OutputElements, i = optionalAmount(b, nameOutputElements.Read(b, i))
	e.MemoryBytes, i = optionalAmount(b, nameMemoryBytes.Read(b, i))

	if j := nameKind.Read(b, i); j > 0 {
		if e.Kind, i = d.canonicalKind(b, j); e.Kind == op.KindUnknown {
			return -1
		}
		if j := nameKindRule.Read(b, i); j > 0 {
			var name string
			name, i = d.canonicalText(b, j)
			var ok bool
			if e.KindRule, ok = op.ParseKindRule(name); !ok {
				return -1
			}
			d.has |= hasRule
		}
	}
	if j := nameDType.Read(b, i); j > 0 {
		if e.DType, i = d.canonicalDType(b, j); e.DType == "" {
			return -1
		}
	}
	if j := nameStartUnixNS.Read(b, i); j > 0 {
		e.Start, i = amount(b, j)
	}
	if j := nameDurationNS.Read(b, i); j > 0 {
		e.Duration, i = lexer.Digits(b, j)
		d.has |= hasDurationNS
	}
	if j := nameLaunchUnixNS.Read(b, i); j > 0 {
		e.Launch, i = amount(b, j)
	}
	if j := nameStream.Read(b, i); j > 0 {
		e.Stream, i = amount(b, j)
	}
	if j := nameRank.Read(b, i); j > 0 {
		e.Rank, i = amount(b, j)
	}
	if j := nameFLOPs.Read(b, i); j > 0 {
		e.FLOPs, i = amount(b, j)
	}
	if i = canonicalIDs(b, i, &e.TraceID, &e.SpanID, &e.ParentSpanID); i < 0 {
		return -1
	}
	if j := nameRoot.Read(b, i); j > 0 {
		e.Root, i = d.repeatedText(b, j, &d.lastRoot)
	}
	if j := nameRootSpanID.Read(b, i); j > 0 {
		i = lexer.QuotedHex(b, j, e.RootSpanID[:])
	}
	if j := nameService.Read(b, i); j > 0 {
		e.Service, i = d.repeatedText(b, j, &d.lastService)
	}
	if j := nameScope.Read(b, i); j > 0 {
		e.Scope, i = d.repeatedText(b, j, &d.lastScope)
	}
	if j := namePath.Read(b, i); j > 0 {
		e.Path, i = d.canonicalText(b, j)
	}
	if j := lexer.Literal(b, i, `,"input_dtypes":[`); j > 0 {
		e.InputDTypes, i = d.canonicalDTypes(b, j)
	}
	if j := lexer.Literal(b, i, `,"collective":`); j > 0 {
		i = d.canonicalCollective(b, j)
		e.Collective = &d.coll
	}
	return lexer.Literal(b, i, "}\n")
}

func (d *Decoder) canonicalCollective(b []byte, i int) int {
	c := &d.coll
	*c = op.Collective{}
	c.Name, i = d.canonicalText(b, lexer.Literal(b, i, `{"name":`))
	if j := lexer.Literal(b, i, `,"group":`); j > 0 {
		c.Group, i = d.canonicalText(b, j)
	}
	if j := lexer.Literal(b, i, `,"group_size":`); j > 0 {
		c.GroupSize, i = integer(b, j)
	}
	if j := lexer.Literal(b, i, `,"sequence":`); j > 0 {
		c.Sequence, i = integer(b, j)
	}
	if j := lexer.Literal(b, i, `,"peer_rank":`); j > 0 {
		c.PeerRank, i = integer(b, j)
	}
	if j := lexer.Literal(b, i, `,"in_elements":`); j > 0 {
		c.InElements, i = integer(b, j)
	}
	if j := lexer.Literal(b, i, `,"out_elements":`); j > 0 {
		c.OutElements, i = integer(b, j)
	}
	return lexer.Literal(b, i, "}")
}

func (d *Decoder) canonicalSpan(b []byte) (i int) {
	s := &d.Span
	*s = op.Span{}
	d.Fault = ""
	s.Name, i = d.canonicalText(b, lexer.Literal(b, 0, `{"span":{"name":`))
	if i = canonicalIDs(b, i, &s.TraceID, &s.SpanID, &s.ParentSpanID); i < 0 {
		return -1
	}
	if j := lexer.Literal(b, i, `,"parent_remote":true`); j > 0 {
		s.RemoteParent = true
		i = j
	}
	if j := lexer.Literal(b, i, `,"start_unix_ns":`); j > 0 {
		s.Start, i = amount(b, j)
	}
	s.Duration, i = lexer.Digits(b, lexer.Literal(b, i, `,"duration_ns":`))
	if j := lexer.Literal(b, i, `,"service":`); j > 0 {
		s.Service, i = d.repeatedText(b, j, &d.lastService)
	}
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = op.Int{}
	}
	return lexer.Literal(b, i, "}}\n")
}

// canonicalIDs reads the ids of a span. AppendJSON writes no id of zero.
func canonicalIDs(b []byte, i int, trace *op.TraceID, span, parent *op.SpanID) int {
	if j := nameTraceID.Read(b, i); j > 0 {
		if i = lexer.QuotedHex(b, j, trace[:]); trace.IsZero() {
			return -1
		}
	}
	if j := nameSpanID.Read(b, i); j > 0 {
		if i = lexer.QuotedHex(b, j, span[:]); span.IsZero() {
			return -1
		}
	}
	if j := nameParentSpanID.Read(b, i); j > 0 {
		i = lexer.QuotedHex(b, j, parent[:])
	}
	return i
}

// The values of members in canonical form, see canonical.go.

func (d *Decoder) canonicalText(b []byte, i int) (string, int) {
	first, second, third, end := lexer.QuotedWords(b, i)
	if end < 0 {
		return d.otherText(b, i)
	}
	w := intern.Words{First: first, Second: second, Third: third}
	s, ok := d.short.Find(w)
	if !ok {
		if s, end = d.otherText(b, i); end > 0 && s != "" {
			d.short.Add(w, s)
		}
	}
	return s, end
}

// otherText is canonicalText for a long or a new string.
func (d *Decoder) otherText(b []byte, i int) (string, int) {
	text, end := lexer.Quoted(b, i)
	if s, ok := d.strings.Find(text); ok {
		return s, end // only valid text is remembered
	}
	if !utf8.Valid(text) {
		return "", -1
	}
	return d.strings.String(text), end
}

func (d *Decoder) canonicalKind(b []byte, i int) (op.Kind, int) {
	if end := valueCompute.Read(b, i); end > 0 { // most do
		return op.KindCompute, end
	}
	name, i := d.canonicalText(b, i)
	k, _ := op.ParseKind(name)
	return k, i
}

func (d *Decoder) canonicalDType(b []byte, i int) (op.DType, int) {
	name, i := d.canonicalText(b, i)
	t, ok := op.ParseDType(name)
	if !ok {
		return "", -1
	}
	return t, i
}

func (d *Decoder) canonicalDTypes(b []byte, i int) ([]op.DType, int) {
	if lexer.Has(b, i, "]") {
		return []op.DType{}, i + 1
	}
	for {
		var name string
		name, i = d.canonicalText(b, i)
		t, _ := op.ParseDType(name)
		d.dtypes = append(d.dtypes, t)
		if !lexer.Has(b, i, ",") {
			break
		}
		i++
	}
	if len(d.dtypes) > op.MaxInputs {
		return nil, -1
	}
	return d.dtypes, lexer.Literal(b, i, "]")
}

func (d *Decoder) canonicalShapes(b []byte, i int) ([]op.Shape, int) {
	if !lexer.Has(b, i, "[") {
		return nil, lexer.Literal(b, i, "null")
	}
	if d.inputs == nil {
		d.inputs = make([]op.Shape, 0, 4)
	}
	if i++; lexer.Has(b, i, "]") {
		return d.inputs, i + 1
	}
	for {
		var s op.Shape
		s, i = d.canonicalShape(b, i)
		d.inputs = append(d.inputs, s)
		if !lexer.Has(b, i, ",") {
			break
		}
		i++
	}
	if len(d.inputs) > op.MaxInputs {
		return nil, -1
	}
	return d.inputs, lexer.Literal(b, i, "]")
}

func (d *Decoder) canonicalShape(b []byte, i int) (op.Shape, int) {
	if !lexer.Has(b, i, "[") {
		return nil, lexer.Literal(b, i, "null")
	}
	if d.dims == nil {
		d.dims = make([]int64, 0, 16)
	}
	start := len(d.dims)
	if i++; lexer.Has(b, i, "]") {
		return op.Shape(d.dims[start:start:start]), i + 1
	}
	dims, end := lexer.ShortList(b, i, d.dims)
	if end < 0 || len(dims)-start > op.MaxRank {
		return nil, -1
	}
	d.dims = dims
	// If dims grows later, this shape keeps its memory.
	return op.Shape(dims[start:len(dims):len(dims)]), end
}

func amount(b []byte, i int) (op.Int, int) {
	n, i := lexer.Digits(b, i)
	return op.Known(n), i
}

func optionalAmount(b []byte, i int) (op.Int, int) {
	if lexer.Has(b, i, "null") {
		return op.Int{}, i + len("null")
	}
	return amount(b, i)
}

func integer(b []byte, i int) (op.Int, int) {
	n, i := lexer.Integer(b, i)
	return op.Known(n), i
}

func optionalInt(b []byte, i int) (op.Int, int) {
	if lexer.Has(b, i, "null") {
		return op.Int{}, i + len("null")
	}
	return integer(b, i)
}

// repeatedText is canonicalText for a member that mostly has the value of the record before, *last.
func (d *Decoder) repeatedText(b []byte, i int, last *string) (string, int) {
	end := i + 1 + len(*last)
	if i >= 0 && end < len(b) && b[end] == '"' && b[i] == '"' && string(b[i+1:end]) == *last {
		return *last, end + 1
	}
	*last, i = d.canonicalText(b, i)
	return *last, i
}
