package kineto

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/optrace/optrace/ingest/internal/attrjson"
	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

type inputs struct {
	shapes []op.Shape
	dtypes []op.DType
	output op.Shape // of a convolution, nil where it does not follow
	warn   op.Warning
}

// appendInputsKey joins the JSON texts of an operator's shapes and types to one symbol: inputs repeat. For a
// convolution the symbol includes the inputs given by value.
func appendInputsKey(dst, name []byte, v *values) []byte {
	if v.dims == nil {
		return dst
	}
	dst = append(dst, v.dims...)
	dst = append(dst, 0)
	dst = append(dst, v.types...)
	if v.concrete == nil {
		return dst
	}
	if signature, ok := convolutions[string(name)]; ok {
		dst = append(dst, 0, signature)
		dst = append(dst, v.concrete...)
	}
	return dst
}

// parseInputs parses such a symbol. Kineto writes the inputs of an operator as two parallel lists:
//
//	"Input Dims": [[64,784], [], [], [[2,3],[4]]]
//	"Input type": ["float", "Scalar", "", "TensorList"]
//
// A number is a scalar. An input without a tensor, such as None, has no type and an unknown shape. Each tensor of a
// list is an input.
func parseInputs(key string) *inputs {
	dims, types, _ := strings.Cut(key, "\x00")
	types, concrete, _ := strings.Cut(types, "\x00")
	if strings.HasPrefix(dims, `"`) { // torch_npu's "4,8;8,2" of "float;float"
		dims = "[[" + strings.ReplaceAll(strings.Trim(dims, `"`), ";", "],[") + "]]"
		types = "[" + strings.ReplaceAll(types, ";", `","`) + "]"
	}
	names := parseTypes(types)
	in := &inputs{shapes: []op.Shape{}}
	var l lexer.Lexer
	l.Reset([]byte(dims))
	if l.Peek() != '[' {
		return &inputs{warn: op.WarnBadShape}
	}
	i := 0
	for l.Array(); l.More(); i++ {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		in.input(&l, name, names == nil)
	}
	if !slices.ContainsFunc(in.dtypes, func(d op.DType) bool { return d != "" }) {
		in.dtypes = nil // all unknown
	}
	if concrete != "" && 0 < concrete[0] && int(concrete[0]) <= len(signatures) {
		in.output = convolutionOutput(in.shapes, signatures[concrete[0]-1], concrete[1:])
	}
	return in
}

func parseTypes(text string) []string {
	var l lexer.Lexer
	l.Reset([]byte(text))
	if l.Peek() != '[' {
		return nil
	}
	names := []string{}
	for l.Array(); l.More(); {
		names = append(names, strings.ToValidUTF8(string(l.AnyStr()), "\ufffd"))
	}
	return names
}

// input reads one element of the list of shapes, a tensor or a list of tensors. untyped is set if the types are
// unknown.
func (in *inputs) input(l *lexer.Lexer, typeName string, untyped bool) {
	if !l.AnyArray() {
		in.warn |= op.WarnBadShape
		in.add(nil, "")
		return
	}
	dtype, isTensor := op.ParseDType(typeName)
	if !isTensor {
		dtype = ""
	}
	// The content so far of the innermost open list.
	const (
		nothing = iota
		dimensions
		tensors
	)
	holds := nothing
	var shape op.Shape
	for open := 1; open > 0; {
		switch {
		case !l.More():
			open--
			switch {
			case holds == dimensions:
				in.addShape(shape, dtype)
			case holds == nothing && (open > 0 || isTensor || untyped || typeName == "Scalar"):
				in.add(op.Shape{}, dtype)
			case holds == nothing:
				in.add(nil, dtype)
			}
			holds = tensors
		case l.Peek() == '[':
			l.Array()
			open++
			holds = nothing
			shape = nil
		default:
			holds = dimensions
			shape = append(shape, in.dimension(l))
		}
	}
}

func (in *inputs) dimension(l *lexer.Lexer) int64 {
	if n, ok := scalar.ParseInt(l.AnyNumber()); ok {
		return n
	}
	return op.Dynamic - 1
}

func (in *inputs) addShape(shape op.Shape, dtype op.DType) {
	for _, d := range shape {
		if d < op.Dynamic {
			in.warn |= op.WarnBadShape
			in.add(nil, dtype)
			return
		}
	}
	if len(shape) > op.MaxRank {
		in.warn |= op.WarnShapeTruncated
		shape = shape[:op.MaxRank]
	}
	in.add(shape, dtype)
}

func (in *inputs) add(shape op.Shape, dtype op.DType) {
	if len(in.shapes) == op.MaxInputs {
		in.warn |= op.WarnShapeTruncated
		return
	}
	in.shapes = append(in.shapes, shape)
	in.dtypes = append(in.dtypes, dtype)
}

// signature has the indexes of a convolution's arguments: stride, padding, dilation, and the transposed flag, 0 if
// it is missing.
type signature struct{ stride, padding, dilation, transposed int }

// signatures of PyTorch's native functions.
var signatures = [...]signature{
	{stride: 3, padding: 4, dilation: 5},
	{stride: 3, padding: 4, dilation: 5, transposed: 6},
	{padding: 2, stride: 3, dilation: 4},
	{padding: 3, stride: 4, dilation: 5},
}

// convolutions maps operator names to indexes of signatures, plus 1.
var convolutions = map[string]byte{
	"aten::conv1d": 1, "aten::conv2d": 1, "aten::conv3d": 1,
	"aten::convolution": 2, "aten::_convolution": 2, "aten::convolution_overrideable": 2,
	"aten::cudnn_convolution":  3,
	"aten::mkldnn_convolution": 4, "aten::miopen_convolution": 4,
}

// convolutionOutput returns the shape of a convolution's output, missing in the trace. It computes it from the shapes
// of input and weights and from the arguments given by value:
//
//	"Concrete Inputs": ["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "1"]
//
// It returns nil if these are missing or do not fit, or if the padding is a word.
func convolutionOutput(shapes []op.Shape, s signature, concrete string) op.Shape {
	if len(shapes) < 2 {
		return nil
	}
	x, w := shapes[0], shapes[1]
	values := parseTypes(concrete) // a list of texts, like the types
	n := len(x)
	if n < 3 || len(w) != n || len(values) <= max(s.stride, s.padding, s.dilation, s.transposed) {
		return nil
	}
	if s.transposed != 0 && values[s.transposed] != "False" {
		return nil
	}
	stride := parseIntegers(values[s.stride])
	padding := parseIntegers(values[s.padding])
	dilation := parseIntegers(values[s.dilation])
	out := make(op.Shape, n)
	out[0] = x[0]
	out[1] = w[0]
	for i := 2; i < n; i++ {
		step := entryOf(stride, i-2)
		pad := entryOf(padding, i-2)
		spread := entryOf(dilation, i-2)
		if !isExtent(x[i]) || !isExtent(w[i]) || !isExtent(step) || !isExtent(spread) || pad != 0 && !isExtent(pad) {
			return nil
		}
		rest := x[i] + 2*pad - spread*(w[i]-1) - 1
		if rest < 0 {
			return nil
		}
		out[i] = rest/step + 1
	}
	if !isExtent(out[0]) || !isExtent(out[1]) {
		return nil
	}
	return out
}

// isExtent reports whether n can be a dimension or a factor of one.
func isExtent(n int64) bool { return 0 < n && n < 1<<30 }

// parseIntegers returns the integers of a list such as "[1, 1]", nil for any other text.
func parseIntegers(text string) (list []int64) {
	if strings.Contains(text, "null") || json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}

// entryOf returns the i-th element of a list, -1 if it is missing. A single element applies to every i.
func entryOf(list []int64, i int) int64 {
	switch {
	case len(list) == 1:
		return list[0]
	case i < len(list):
		return list[i]
	}
	return -1
}

// ownArguments are the arguments of a plain span beside its attributes: its ids, and the arguments that package
// render/chrome adds. It is reused for the next span.
type ownArguments struct {
	lex     lexer.Lexer
	strings intern.Table

	ownValues
	links []op.Link
	extra op.Extra
}

type ownValues struct {
	op.Span               // but for its name and times
	scope, message, state string
	dropped, droppedLinks int64
	emptyDevice, noStart  bool
}

// read reads the arguments in objects of valid JSON or nil, and feeds the others.
func (a *ownArguments) read(feed *attrjson.Feeder, texts ...[]byte) {
	a.ownValues = ownValues{}
	a.links = a.links[:0]
	for _, text := range texts {
		if text == nil {
			continue
		}
		a.lex.Reset(text)
		for a.lex.Object(); a.lex.More(); {
			if key := a.lex.Key(); !a.argument(key) {
				feed.Member(&a.lex, key)
			}
		}
	}
}

// argument reads the value of a key and reports whether the key is one of these arguments. Otherwise it reads no value.
// It ignores a value of another type.
func (a *ownArguments) argument(key []byte) bool {
	l := &a.lex
	switch string(key) {
	case "trace_id":
		a.TraceID, _ = op.ParseTraceID(l.AnyStr())
	case "span_id":
		a.SpanID, _ = op.ParseSpanID(l.AnyStr())
	case "parent_span_id":
		a.ParentSpanID, _ = op.ParseSpanID(l.AnyStr())
	case "optrace.parent_remote":
		a.RemoteParent = a.isTrue()
	case attrkey.ServiceName:
		a.Service = a.text()
	case "otel.scope.name":
		a.scope = a.text()
	case "optrace.error":
		a.Failed = l.Peek() == '"'
		a.message = a.text()
	case "optrace.trace_state":
		a.state = a.text()
	case "optrace.dropped_attributes":
		a.dropped = readCount(l).V
	case "optrace.empty_device":
		a.emptyDevice = a.isTrue()
	case "optrace.start_unix_ns":
		a.noStart = l.Peek() == 'n'
		l.Skip()
	case "optrace.dropped_links":
		a.droppedLinks = readCount(l).V
	case "optrace.links":
		a.readLinks()
	default:
		return false
	}
	return true
}

func (a *ownArguments) text() string {
	return strings.ToValidUTF8(a.strings.String(a.lex.AnyStr()), "\ufffd")
}

func (a *ownArguments) isTrue() bool { return string(a.lex.Raw()) == "true" }

func (a *ownArguments) readLinks() {
	l := &a.lex
	for more := l.AnyArray(); more && l.More(); {
		if !l.AnyObject() {
			continue
		}
		var link op.Link
		for l.More() {
			switch string(l.Key()) {
			case "trace_id":
				link.TraceID, _ = op.ParseTraceID(l.AnyStr())
			case "span_id":
				link.SpanID, _ = op.ParseSpanID(l.AnyStr())
			case "weight":
				link.Weight = readCount(l)
			case "weight_attention":
				link.Attention = readCount(l)
			default:
				l.Skip()
			}
		}
		if !link.TraceID.IsZero() && !link.SpanID.IsZero() && len(a.links) < op.MaxLinks {
			a.links = append(a.links, link)
		}
	}
}

func (a *ownArguments) complete(b *attrmap.Builder, e *op.Entry) {
	if !a.TraceID.IsZero() || !a.SpanID.IsZero() || !a.ParentSpanID.IsZero() {
		b.SetIDs(a.TraceID, a.SpanID, a.ParentSpanID)
	}
	e.Service, e.Scope, e.DroppedAttributes = a.Service, a.scope, a.dropped
	if a.dropped > 0 {
		e.Warn |= op.WarnDroppedAttributes
	}
	if a.Failed {
		b.SetError(a.message)
	}
	b.SetTraceState(a.state)
	e.EmptyDevice = a.emptyDevice && e.DeviceID == ""
	if a.noStart {
		e.Start = op.Int{}
	}
	if len(a.links) > 0 {
		e.Links = a.links
	}
	if a.droppedLinks > 0 {
		e.Extra = a.withDropped(e.Extra)
		e.Warn |= op.WarnDroppedLinks
	}
}

func (a *ownArguments) withDropped(x *op.Extra) *op.Extra {
	if x == nil {
		x = &a.extra
		a.extra = op.Extra{}
	}
	x.DroppedLinks = a.droppedLinks
	return x
}

func (a *ownArguments) span(name string, start op.Int, dur int64) *op.Span {
	a.Name = strings.ToValidUTF8(name, "\ufffd")
	a.Duration = max(0, dur)
	if !a.noStart {
		a.Start = start
	}
	if len(a.links) > 0 {
		a.Links = a.links
	}
	if a.droppedLinks > 0 {
		a.Extra = a.withDropped(nil)
	}
	return &a.Span
}

// plainSpan yields a span of a plain Chrome trace. taken is false for a span without content, wanted if the consumer
// wants no more. args and then more are its arguments.
func (r *reader) plainSpan(name []byte, start, dur int64, args, more []byte) (wanted, taken bool) {
	base := r.timeBase()
	b := r.build
	b.Reset()
	own := &r.own
	own.read(r.feed, args, more)
	spanName := r.names.String(name)
	b.SetName(spanName)
	b.SetTime(opfile.UnixTime(base.V, start), dur)
	rec := op.Record{}
	if e, ok := b.Entry(); ok {
		own.complete(b, e)
		rec.Entry = e
	} else if !own.SpanID.IsZero() {
		rec.Span = own.span(spanName, opfile.UnixTime(base.V, start), dur)
	} else {
		return true, false
	}
	if !base.Known {
		r.baseless++
	}
	return r.yield(rec, nil), true
}

const maxOpenBytes = 64 << 20

type pairs struct {
	open  map[uint32][]beginning
	count int64 // of the open spans
	bytes int64
}

type beginning struct {
	name, args []byte
	start      int64
}

func (b *beginning) size() int64 {
	const header = 64
	return int64(len(b.name)+len(b.args)) + header
}

func (r *reader) begin(e *traceevent.Event) {
	p := &r.pairs
	b := beginning{start: e.Start.V}
	b.name = append(b.name, e.Name...)
	b.args = append(b.args, e.Args...)
	if p.bytes+b.size() > maxOpenBytes {
		r.skipped[op.SkipUnpaired]++
		return
	}
	if p.open == nil {
		p.open = make(map[uint32][]beginning)
	}
	thread := r.tables.addThread(e)
	p.open[thread] = append(p.open[thread], b)
	p.count++
	p.bytes += b.size()
}

// end yields the last open span of the thread and reports whether the consumer wants more. The span has the arguments
// of both ends.
func (r *reader) end(e *traceevent.Event) bool {
	p := &r.pairs
	thread := r.tables.addThread(e)
	open := p.open[thread]
	if len(open) == 0 {
		r.skipped[op.SkipUnpaired]++
		return true
	}
	b := open[len(open)-1]
	p.open[thread] = open[:len(open)-1]
	p.count--
	p.bytes -= b.size()
	more, taken := r.plainSpan(b.name, b.start, e.Start.V-b.start, b.args, e.Args)
	if !taken {
		r.skipped[op.SkipNonOp]++
	}
	return more
}
