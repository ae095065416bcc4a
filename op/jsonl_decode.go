package op

import (
	"fmt"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/jsontext"
)

// decoder reads records of the entries format, and the entries of a seed
// trace, which have the same keys. What it returns is overwritten by the next
// record.
type decoder struct {
	lex     jsontext.Lexer
	strings intern.Table

	entry    Entry
	coll     Collective
	span     Span
	resource Resource
	gap      Gap
	batch    Batch

	inputs []Shape
	// dims backs all shapes of an entry; the shapes are cut from it once it has
	// stopped growing.
	dims     []int64
	dtypes   []DType
	attrs    []Attr
	inferred map[string]inferredKind

	has fieldsSeen
	// msg is what is wrong with the record although it is valid JSON.
	msg string
}

// fieldsSeen tells which keys an entry had, where their absence matters.
type fieldsSeen struct {
	any, operation, durationNS, elements, memory, kind bool
	rule                                               KindRule
}

// decodeRecord reads one line. An error is one of the grammar or of the
// format, with its offset in the line.
func (d *decoder) decodeRecord(line []byte) (rec Record, offset int, err error) {
	d.lex.Reset(line)
	d.resetEntry()
	l := &d.lex
	unknown := false
	control := false
	for l.Object(); l.More(); {
		key := l.Key()
		if d.entryField(key) {
			continue
		}
		switch string(key) {
		case "schema":
			control = true
			if s := string(l.Str()); l.Err() == nil && s != Schema {
				return Record{}, 0, &schemaError{s}
			}
		case "resource":
			control = true
			rec.Resource = d.decodeResource()
		case "batch":
			control = true
			rec.Batch = d.decodeBatch()
		case "gap":
			control = true
			rec.Gap = d.decodeGap()
		case "span":
			control = true
			rec.Span = d.decodeSpan()
		default:
			unknown = true
			l.Skip()
		}
	}
	l.End()
	switch {
	case l.Err() != nil:
		return Record{}, l.Offset(), l.Err()
	case d.msg != "":
		return Record{}, 0, fmt.Errorf("%s", d.msg)
	case control:
		return rec, 0, nil
	case d.has.operation:
		d.finishEntry()
		rec.Entry = &d.entry
	case d.has.any:
		return Record{}, 0, fmt.Errorf("an entry without an operation")
	case unknown:
		rec.Skipped = Skipped{Reason: SkipUnknownRecord, N: 1}
	}
	return rec, 0, nil
}

// schemaError ends reading: the file is of a version that is not understood.
type schemaError struct{ schema string }

func (e *schemaError) Error() string {
	return fmt.Sprintf("schema %q is not supported, this version reads %q", e.schema, Schema)
}

func (d *decoder) resetEntry() {
	d.entry = Entry{}
	d.has = fieldsSeen{}
	d.inputs, d.dims, d.dtypes, d.attrs = d.inputs[:0], d.dims[:0], d.dtypes[:0], d.attrs[:0]
	d.msg = ""
}

// entryField reads the value behind key into the entry, or reports false for
// a key that is not one of an entry's.
func (d *decoder) entryField(key []byte) bool {
	l, e := &d.lex, &d.entry
	switch string(key) {
	case "step":
		e.Step = d.integer("step")
	case "operation":
		e.Operation = d.text()
		d.has.operation = true
	case "device_id":
		e.DeviceID = d.text()
	case "input_shapes":
		e.InputShapes = d.shapes()
	case "output_shape":
		e.OutputShape = d.shape()
	case "duration_us":
		ns := d.micros()
		if !d.has.durationNS {
			e.Duration = ns
		}
	case "output_elements":
		e.OutputElements = d.integer("output_elements")
		d.has.elements = true
	case "memory_bytes":
		e.MemoryBytes = d.integer("memory_bytes")
		d.has.memory = true
	case "kind":
		k, ok := ParseKind(d.text())
		d.has.kind = ok
		e.Kind = k
		if !ok {
			e.Warn |= WarnBadValue
		}
	case "kind_rule":
		d.has.rule, _ = parseKindRule(d.text())
	case "dtype":
		e.DType = d.dtype()
	case "start_unix_ns":
		e.Start = d.integer("start_unix_ns")
	case "duration_ns":
		if n := d.integer("duration_ns"); n.Known {
			e.Duration = n.V
			d.has.durationNS = true
		}
	case "launch_unix_ns":
		e.Launch = d.integer("launch_unix_ns")
	case "stream":
		e.Stream = d.integer("stream")
	case "rank":
		e.Rank = d.integer("rank")
	case "flops":
		e.FLOPs = d.integer("flops")
	case "trace_id":
		e.TraceID = d.traceID()
	case "span_id":
		e.SpanID = d.spanID()
	case "parent_span_id":
		e.ParentSpanID = d.spanID()
	case "root":
		e.Root = d.text()
	case "root_span_id":
		e.RootSpanID = d.spanID()
	case "service":
		e.Service = d.text()
	case "scope":
		e.Scope = d.text()
	case "path":
		e.Path = d.text()
	case "input_dtypes":
		d.inputDTypes()
	case "side":
		if d.text() == SideHost.String() {
			e.Side = SideHost
		}
	case "error":
		if !l.Null() {
			e.Failed, e.Error = true, d.text()
		}
	case "adjusted_count":
		e.AdjustedCount = d.float()
	case "dropped_attributes":
		e.DroppedAttributes = d.integer("dropped_attributes").V
	case "attrs":
		d.attrs = d.attributes(d.attrs)
		e.Attrs = d.attrs
	case "warn":
		d.warnings()
	case "collective":
		d.collective()
	default:
		return false
	}
	d.has.any = true
	return true
}

// finishEntry fills in what follows from what the entry said.
func (d *decoder) finishEntry() {
	e := &d.entry
	if e.Duration < 0 {
		e.Duration = 0
		e.Warn |= WarnNegativeDuration
	}
	switch {
	case d.has.kind:
		e.KindRule = d.has.rule
	case e.Collective != nil:
		e.Kind, e.KindRule = KindCollective, RuleAttribute
	default:
		e.Kind, e.KindRule = d.inferKind(e.Operation)
	}
	if !d.has.elements {
		n, w := e.OutputShape.Elements()
		e.OutputElements = n
		e.Warn |= w
	}
	if !d.has.memory {
		e.setDerivedMemory()
	}
}

func (d *decoder) inferKind(name string) (Kind, KindRule) {
	if k, ok := d.inferred[name]; ok {
		return k.kind, k.rule
	}
	if d.inferred == nil || len(d.inferred) >= maxInferred {
		d.inferred = make(map[string]inferredKind)
	}
	kind, rule := InferKind(name)
	d.inferred[name] = inferredKind{kind, rule}
	return kind, rule
}

// wrong notes that a field does not hold what its key asks for.
func (d *decoder) wrong(field, want string) {
	if d.msg == "" {
		d.msg = fmt.Sprintf("%s is not %s", field, want)
	}
}

// text reads a string; null is "".
func (d *decoder) text() string {
	if d.lex.Null() {
		return ""
	}
	return d.valid(d.lex.Str())
}

// valid returns b as a string of valid UTF-8.
func (d *decoder) valid(b []byte) string {
	if !utf8.Valid(b) {
		d.entry.Warn |= WarnInvalidUTF8
		b = []byte(string([]rune(string(b))))
	}
	return d.strings.String(b)
}

// integer reads a number or a number in quotes; null is unknown.
func (d *decoder) integer(field string) Int {
	l := &d.lex
	var text []byte
	switch l.Peek() {
	case 'n':
		l.Null()
		return Int{}
	case '"':
		text = l.Str()
	default:
		text = l.Number()
	}
	if l.Err() != nil {
		return Int{}
	}
	n, ok := jsontext.ParseInt(text)
	if !ok {
		d.wrong(field, "an integer of 64 bits")
		return Int{}
	}
	return Known(n)
}

func (d *decoder) micros() int64 {
	l := &d.lex
	if l.Null() {
		return 0
	}
	text := l.Number()
	if l.Err() != nil {
		return 0
	}
	ns, ok := jsontext.ParseMicros(text)
	if !ok {
		d.wrong("duration_us", "a duration that fits 64 bits of nanoseconds")
	}
	return ns
}

func (d *decoder) float() float64 {
	l := &d.lex
	if l.Null() {
		return 0
	}
	text := l.Number()
	if l.Err() != nil {
		return 0
	}
	f, ok := jsontext.ParseFloat(text)
	if !ok {
		d.wrong("a number", "within the range of a float64")
	}
	return f
}

func (d *decoder) traceID() TraceID {
	if d.lex.Null() {
		return TraceID{}
	}
	text := d.lex.Str()
	id, ok := ParseTraceID(text)
	if !ok && len(text) > 0 {
		d.entry.Warn |= WarnBadID
	}
	return id
}

func (d *decoder) spanID() SpanID {
	if d.lex.Null() {
		return SpanID{}
	}
	text := d.lex.Str()
	id, ok := ParseSpanID(text)
	if !ok && len(text) > 0 {
		d.entry.Warn |= WarnBadID
	}
	return id
}

func (d *decoder) dtype() DType {
	s := d.text()
	t, ok := ParseDType(s)
	if !ok && s != "" {
		d.entry.Warn |= WarnUnknownDType
	}
	return t
}

func (d *decoder) inputDTypes() {
	l := &d.lex
	if l.Null() {
		return
	}
	d.dtypes = d.dtypes[:0]
	for l.Array(); l.More(); {
		t, _ := ParseDType(d.text())
		if len(d.dtypes) < MaxInputs {
			d.dtypes = append(d.dtypes, t)
		}
	}
	d.entry.InputDTypes = d.dtypes
	if d.dtypes == nil {
		d.entry.InputDTypes = []DType{}
	}
}

// shape reads a list of dimensions; null is unknown.
func (d *decoder) shape() Shape {
	l := &d.lex
	if l.Null() {
		return nil
	}
	start, good := len(d.dims), true
	for l.Array(); l.More(); {
		v, ok := jsontext.ParseInt(l.Number())
		switch {
		case !ok || v < Dynamic:
			good = false
		case len(d.dims)-start == MaxRank:
			d.entry.Warn |= WarnShapeTruncated
		default:
			d.dims = append(d.dims, v)
		}
	}
	if !good {
		if l.Err() == nil {
			d.entry.Warn |= WarnBadShape
		}
		return nil
	}
	if d.dims == nil {
		d.dims = make([]int64, 0, 16)
	}
	return Shape(d.dims[start:len(d.dims):len(d.dims)])
}

func (d *decoder) shapes() []Shape {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.inputs = d.inputs[:0]
	for l.Array(); l.More(); {
		s := d.shape()
		if len(d.inputs) == MaxInputs {
			d.entry.Warn |= WarnShapeTruncated
			continue
		}
		d.inputs = append(d.inputs, s)
	}
	if d.inputs == nil {
		d.inputs = make([]Shape, 0, 4)
	}
	return d.inputs
}

func (d *decoder) warnings() {
	l := &d.lex
	if l.Null() {
		return
	}
	for l.Array(); l.More(); {
		if w, ok := ParseWarning(string(l.Str())); ok {
			d.entry.Warn |= w
		}
	}
}

// attributes appends the members of an object, values as text.
func (d *decoder) attributes(dst []Attr) []Attr {
	l := &d.lex
	if l.Null() {
		return dst
	}
	for l.Object(); l.More(); {
		key := d.valid(l.Key())
		value := ""
		if l.Peek() == '"' {
			value = d.valid(l.Str())
		} else {
			value = string(l.Raw())
		}
		dst = append(dst, Attr{Key: key, Value: value})
	}
	return dst
}

func (d *decoder) collective() {
	l := &d.lex
	if l.Null() {
		return
	}
	d.coll = Collective{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "name":
			d.coll.Name = d.text()
		case "group":
			d.coll.Group = d.text()
		case "group_size":
			d.coll.GroupSize = d.integer("group_size")
		case "sequence":
			d.coll.Sequence = d.integer("sequence")
		case "peer_rank":
			d.coll.PeerRank = d.integer("peer_rank")
		case "in_elements":
			d.coll.InElements = d.integer("in_elements")
		case "out_elements":
			d.coll.OutElements = d.integer("out_elements")
		default:
			l.Skip()
		}
	}
	d.entry.Collective = &d.coll
}

func (d *decoder) decodeSpan() *Span {
	l := &d.lex
	d.span = Span{}
	s := &d.span
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "name":
			s.Name = d.text()
		case "trace_id":
			s.TraceID = d.traceID()
		case "span_id":
			s.SpanID = d.spanID()
		case "parent_span_id":
			s.ParentSpanID = d.spanID()
		case "parent_remote":
			s.RemoteParent = l.Bool()
		case "start_unix_ns":
			s.Start = d.integer("start_unix_ns")
		case "duration_ns":
			s.Duration = max(0, d.integer("duration_ns").V)
		case "service":
			s.Service = d.text()
		case "failed":
			s.Failed = l.Bool()
		default:
			l.Skip()
		}
	}
	return s
}

func (d *decoder) decodeResource() *Resource {
	l := &d.lex
	d.resource = Resource{}
	r := &d.resource
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "service":
			r.Service = d.text()
		case "rank":
			r.Rank = d.integer("rank")
		case "world_size":
			r.WorldSize = d.integer("world_size")
		case "attrs":
			r.Attrs = d.attributes(nil)
		default:
			l.Skip()
		}
	}
	return r
}

func (d *decoder) decodeGap() *Gap {
	l := &d.lex
	d.gap = Gap{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "dropped":
			d.gap.Dropped = d.integer("dropped").V
		case "reason":
			d.gap.Reason = d.text()
		default:
			l.Skip()
		}
	}
	return &d.gap
}

func (d *decoder) decodeBatch() *Batch {
	l := &d.lex
	d.batch = Batch{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "writer":
			d.batch.Writer = d.text()
		case "seq":
			d.batch.Sequence = d.integer("seq").V
		case "entries":
			d.batch.Entries = d.integer("entries").V
		default:
			l.Skip()
		}
	}
	return &d.batch
}
