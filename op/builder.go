package op

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/jsontext"
)

// Builder makes an [Entry] of the attributes of a span. It is the only place
// where attribute keys and encodings are known, so that a span means the same
// whether it comes from the SDK, from a file or from a Collector.
//
// For each span call Reset, then the attribute methods in any order and the
// Set methods, then Entry. After the first spans nothing is allocated. A
// Builder is not safe for concurrent use.
type Builder struct {
	mapping *Mapping

	entry  Entry
	coll   Collective
	seen   predicate
	from   [numFields]family // which family set each field
	shapes shapeList
	// inputs, inputDims and outputDims are the buffers behind the entry's shapes.
	inputs                []Shape
	inputDims, outputDims []int64
	outputTruncated       bool
	dtypes                []DType
	attrs                 []Attr
	spanName              string
	deviceType            string
	deviceIndex           Int
	deviceMemory          Int

	inferred map[string]inferredKind
}

type inferredKind struct {
	kind Kind
	rule KindRule
}

// maxInferred bounds how many names' kinds a Builder remembers.
const maxInferred = 4096

// NewBuilder returns a Builder that reads attributes as mapping says; nil is
// the conventions.
func NewBuilder(mapping *Mapping) *Builder { return &Builder{mapping: mapping} }

// Reset forgets the span before.
func (b *Builder) Reset() {
	b.entry = Entry{}
	b.coll = Collective{}
	b.seen = predicate{}
	b.from = [numFields]family{}
	b.inputs, b.inputDims, b.outputDims = b.inputs[:0], b.inputDims[:0], b.outputDims[:0]
	b.outputTruncated = false
	b.dtypes, b.attrs = b.dtypes[:0], b.attrs[:0]
	b.spanName, b.deviceType = "", ""
	b.deviceIndex, b.deviceMemory = Int{}, Int{}
}

// SetName sets the span's name, the name of the operation where no attribute
// gives one.
func (b *Builder) SetName(name string) { b.spanName = name }

// SetIDs places the span in its trace. A zero trace or span id is a warning, a
// zero parent id means a root.
func (b *Builder) SetIDs(trace TraceID, span, parent SpanID) {
	b.entry.TraceID, b.entry.SpanID, b.entry.ParentSpanID = trace, span, parent
	if trace.IsZero() || span.IsZero() {
		b.entry.Warn |= WarnBadID
	}
}

// SetTime sets start, in Unix nanoseconds, and duration in nanoseconds. A
// start that is not known is a warning, and so is a negative duration, which
// becomes 0.
func (b *Builder) SetTime(start Int, duration int64) {
	if !start.Known {
		b.entry.Warn |= WarnBadTime
	}
	if duration < 0 {
		duration = 0
		b.entry.Warn |= WarnNegativeDuration
	}
	b.entry.Start, b.entry.Duration = start, duration
}

// SetError marks the operation as failed.
func (b *Builder) SetError(description string) {
	b.entry.Failed, b.entry.Error = true, b.text(description)
}

// SetResource sets what the resource says. A rank on the span itself wins.
func (b *Builder) SetResource(r *Resource) {
	b.entry.Service = r.Service
	if b.from[FieldRank] == familyNone {
		b.entry.Rank = r.Rank
	}
}

// SetScope sets the instrumentation scope.
func (b *Builder) SetScope(name string) { b.entry.Scope = name }

// SetRoot sets the local root span above the operation.
func (b *Builder) SetRoot(name string, id SpanID) { b.entry.Root, b.entry.RootSpanID = name, id }

// SetTraceState reads the sampling threshold that a W3C tracestate carries.
func (b *Builder) SetTraceState(state string) { b.entry.AdjustedCount = adjustedCount(state) }

// SetDropped sets how many attributes the SDK's limits dropped.
func (b *Builder) SetDropped(n int64) {
	b.entry.DroppedAttributes = n
	if n > 0 {
		b.entry.Warn |= WarnDroppedAttributes
	}
}

// Warn adds warnings of the caller's own.
func (b *Builder) Warn(w Warning) { b.entry.Warn |= w }

// Str adds an attribute with a string value.
func (b *Builder) Str(key, v string) {
	t := b.target(key)
	if t.keep {
		b.attrs = append(b.attrs, Attr{Key: key, Value: b.text(v)})
	}
	switch t.field {
	case FieldNone:
	case FieldName, FieldKind, FieldPath, FieldSide, FieldDType, FieldDevice, FieldDeviceType, FieldCollective, FieldGroup:
		b.setText(t, v)
	case FieldInputShapes, FieldOutputShape, fieldInputShapeAt:
		b.shapes.begin(t)
		b.shapes.text(v)
		b.shapes.end(b)
	case FieldInputDTypes:
		b.setDTypeList(t, v)
	default:
		if n, ok := jsontext.ParseInt([]byte(strings.TrimSpace(v))); ok {
			b.setInt(t, n)
		} else {
			b.bad(t)
		}
	}
}

// Int adds an attribute with an integer value.
func (b *Builder) Int(key string, v int64) {
	t := b.target(key)
	if t.keep {
		b.attrs = append(b.attrs, Attr{Key: key, Value: strconv.FormatInt(v, 10)})
	}
	b.number(t, v)
}

// Float adds an attribute with a floating-point value, which stands for an
// integer where it is integral and within ±2^53.
func (b *Builder) Float(key string, v float64) {
	t := b.target(key)
	if t.keep {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b.entry.Warn |= WarnNonFinite
		} else {
			b.attrs = append(b.attrs, Attr{Key: key, Value: strconv.FormatFloat(v, 'g', -1, 64)})
		}
	}
	if t.field == FieldNone {
		return
	}
	if n, ok := jsontext.IntegralFloat(v); ok {
		b.number(t, n)
	} else {
		b.bad(t)
	}
}

// Bool adds an attribute with a boolean value.
func (b *Builder) Bool(key string, v bool) {
	t := b.target(key)
	if t.keep {
		b.attrs = append(b.attrs, Attr{Key: key, Value: strconv.FormatBool(v)})
	}
	b.bad(t)
}

// Other adds an attribute whose value is none of the types that an operation
// has, such as a map: it tells that the key was there.
func (b *Builder) Other(key string) { b.bad(b.target(key)) }

// Wants reports whether key's value matters, so that an adapter need not take a
// value apart only to have it ignored; it calls Other for such a key.
func (b *Builder) Wants(key string) bool {
	t := b.mapping.lookup(key)
	return t.field != FieldNone || t.keep
}

// Ints adds an attribute with a slice of integers. The slice is copied.
func (b *Builder) Ints(key string, v []int64) {
	t := b.BeginList(key)
	for _, n := range v {
		t.Int(n)
	}
	t.End()
}

// Floats adds an attribute with a slice of floating-point numbers.
func (b *Builder) Floats(key string, v []float64) {
	t := b.BeginList(key)
	for _, f := range v {
		t.Float(f)
	}
	t.End()
}

// Strs adds an attribute with a slice of strings.
func (b *Builder) Strs(key string, v []string) {
	t := b.BeginList(key)
	for _, s := range v {
		t.Str(s)
	}
	t.End()
}

// Entry completes the entry. It reports false where the attributes do not make
// the span an operation. The entry belongs to the Builder and is valid until
// the next Reset.
func (b *Builder) Entry() (*Entry, bool) {
	if !b.seen.isOperation() {
		return nil, false
	}
	e := &b.entry
	if e.Operation == "" {
		e.Operation = b.text(b.spanName)
	}
	if e.Operation == "" {
		e.Operation = "unknown"
	}
	b.finishDevice()
	b.finishKind()
	b.finishSizes()
	if len(b.dtypes) > 0 {
		e.InputDTypes = b.dtypes
	}
	if len(b.attrs) > 0 {
		e.Attrs = b.attrs
	}
	if b.from[FieldInputShapes] != familyNone {
		e.InputShapes = b.inputs
	}
	return e, true
}

// finishDevice joins the device's type and index, which torch gives apart.
func (b *Builder) finishDevice() {
	if b.entry.DeviceID != "" || b.deviceType == "" {
		return
	}
	b.entry.DeviceID = b.deviceType
	if b.deviceIndex.Known && b.deviceIndex.V >= 0 && b.deviceType != "cpu" {
		b.entry.DeviceID += ":" + strconv.FormatInt(b.deviceIndex.V, 10)
	}
}

func (b *Builder) finishKind() {
	e := &b.entry
	if b.coll != (Collective{}) {
		e.Collective = &b.coll
	}
	switch {
	case b.from[FieldKind] != familyNone:
		e.KindRule = RuleAttribute
	case e.Collective != nil:
		e.Kind, e.KindRule = KindCollective, RuleAttribute
	default:
		e.Kind, e.KindRule = b.inferKind(e.Operation)
	}
}

// inferKind is InferKind with a memory: names repeat.
func (b *Builder) inferKind(name string) (Kind, KindRule) {
	if k, ok := b.inferred[name]; ok {
		return k.kind, k.rule
	}
	if b.inferred == nil || len(b.inferred) >= maxInferred {
		b.inferred = make(map[string]inferredKind)
	}
	kind, rule := InferKind(name)
	b.inferred[name] = inferredKind{kind, rule}
	return kind, rule
}

// finishSizes derives elements and bytes from the output's shape where they
// are not stated.
func (b *Builder) finishSizes() {
	e := &b.entry
	if b.from[FieldOutputElements] == familyNone && !b.outputTruncated {
		n, w := e.OutputShape.Elements()
		e.OutputElements = n
		e.Warn |= w
	}
	// torch states both the host's and the device's memory, and 0 for the one
	// that an operation did not touch.
	if b.from[FieldMemory] <= familyTorch && b.deviceMemory.Known && (b.deviceMemory.V != 0 || !e.MemoryBytes.Known) {
		e.MemoryBytes = b.deviceMemory
		b.from[FieldMemory] = familyTorch
	}
	if b.from[FieldMemory] == familyNone && e.Warn&WarnBadMemory == 0 {
		e.setDerivedMemory()
	}
}

// setDerivedMemory sets MemoryBytes to elements × element size.
func (e *Entry) setDerivedMemory() {
	size := int64(DefaultElementSize)
	if e.DType != "" {
		if s := e.DType.Size(); s > 0 {
			size = s
		}
	}
	n, w := mulBytes(e.OutputElements, size)
	e.MemoryBytes = n
	e.Warn |= w
}

// target looks up a key and notes it for the predicate.
func (b *Builder) target(key string) target {
	t := b.mapping.lookup(key)
	if t.family != familyNone {
		b.seen.see(t)
	}
	return t
}

// claim reports whether a key of t's family may set t's field, and takes it.
// Of several keys that set one field the family that tells most wins, and of
// one family the last.
func (b *Builder) claim(t target) bool {
	if t.family < b.from[t.field] {
		return false
	}
	b.from[t.field] = t.family
	return true
}

// bad notes a value that t's field cannot take.
func (b *Builder) bad(t target) {
	switch t.field {
	case FieldNone:
	case FieldInputShapes, FieldOutputShape, fieldInputShapeAt:
		b.entry.Warn |= WarnBadShape
	case FieldMemory, FieldDeviceMemory:
		b.entry.Warn |= WarnBadMemory
	default:
		b.entry.Warn |= WarnBadValue
	}
}

// text returns v as valid UTF-8.
func (b *Builder) text(v string) string {
	if utf8.ValidString(v) {
		return v
	}
	b.entry.Warn |= WarnInvalidUTF8
	return strings.ToValidUTF8(v, "\ufffd")
}

func (b *Builder) setText(t target, v string) {
	if v == "" { // as if it were not there
		return
	}
	v = b.text(v)
	e := &b.entry
	switch t.field {
	case FieldKind:
		k, ok := ParseKind(strings.ToLower(v))
		if !ok {
			b.bad(t)
		} else if b.claim(t) {
			e.Kind = k
		}
		return
	case FieldSide:
		if v != SideHost.String() {
			b.bad(t)
		} else if b.claim(t) {
			e.Side = SideHost
		}
		return
	case FieldDType:
		d, ok := ParseDType(v)
		if !ok {
			e.Warn |= WarnUnknownDType
		}
		if b.claim(t) {
			e.DType = d
		}
		return
	}
	if !b.claim(t) {
		return
	}
	switch t.field {
	case FieldName:
		e.Operation = v
	case FieldPath:
		e.Path = v
	case FieldDevice:
		e.DeviceID = v
	case FieldDeviceType:
		b.deviceType = strings.ToLower(strings.TrimPrefix(v, "DeviceType."))
	case FieldCollective:
		b.coll.Name = v
	case FieldGroup:
		b.coll.Group = v
	}
}

// number sets a field from an integer.
func (b *Builder) number(t target, v int64) {
	switch t.field {
	case FieldNone:
	case FieldDevice, FieldGroup:
		b.setText(t, strconv.FormatInt(v, 10))
	case FieldName, FieldKind, FieldPath, FieldSide, FieldDType, FieldDeviceType, FieldCollective,
		FieldInputShapes, FieldOutputShape, fieldInputShapeAt, FieldInputDTypes:
		b.bad(t)
	default:
		b.setInt(t, v)
	}
}

func (b *Builder) setInt(t target, v int64) {
	if v < 0 && !mayBeNegative(t.field) {
		b.bad(t)
		return
	}
	if !b.claim(t) {
		return
	}
	e, n := &b.entry, Known(v)
	switch t.field {
	case FieldFLOPs:
		e.FLOPs = n
	case FieldOutputElements:
		e.OutputElements = n
	case FieldDeviceIndex:
		b.deviceIndex = n
	case FieldStream:
		e.Stream = n
	case FieldStep:
		e.Step = n
	case FieldMemory:
		e.MemoryBytes = n
	case FieldDeviceMemory:
		b.deviceMemory = n
	case FieldGroupSize:
		b.coll.GroupSize = n
	case FieldSequence:
		b.coll.Sequence = n
	case FieldPeerRank:
		b.coll.PeerRank = n
	case FieldInElements:
		b.coll.InElements = n
	case FieldOutElements:
		b.coll.OutElements = n
	case FieldRank:
		e.Rank = n
	}
}

// mayBeNegative tells the fields in which a negative number has a meaning:
// torch numbers the host's device -1.
func mayBeNegative(f Field) bool {
	return f == FieldDeviceIndex || f == FieldStream || f == FieldStep
}

// setDTypeList reads the element types of the inputs from one text, such as
// "['float', 'long int']" or "f32,i64".
func (b *Builder) setDTypeList(t target, v string) {
	if !b.claim(t) {
		return
	}
	b.dtypes = b.dtypes[:0]
	for part := range strings.SplitSeq(strings.Trim(v, "[]() "), ",") {
		if part = strings.Trim(part, ` '"`); part != "" {
			b.addDType(part)
		}
	}
}

func (b *Builder) addDType(v string) {
	if len(b.dtypes) == MaxInputs {
		b.entry.Warn |= WarnShapeTruncated
		return
	}
	d, _ := ParseDType(b.text(v))
	b.dtypes = append(b.dtypes, d)
}
