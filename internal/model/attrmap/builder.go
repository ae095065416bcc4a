// Package attrmap maps the attributes of spans to operations: a [Builder] makes entries by a [Mapping], and [Write]
// makes attributes again. It alone knows attribute keys and encodings. The OTel exporter, the file readers and the
// Collector components feed it.
package attrmap

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
)

// Builder makes an [op.Entry] of a span's attributes. For each span call Reset, then the attribute methods in any
// order and the Set methods, then Entry. It reuses its memory and is not safe for concurrent use.
type Builder struct {
	mapping *Mapping

	entry op.Entry
	coll  op.Collective
	seen  signs
	from  [numFields]family // the family that set each field
	// inputs, inputDims and outputDims back the entry's shapes.
	inputs                    []op.Shape
	inputDims, outputDims     []int64
	outputTruncated           bool
	spare                     shapeList // spare buffers for inputs
	dims                      []int64   // of the current shape
	dtypes                    []op.DType
	attrs                     []op.Attr
	index, further            opmodel.AttrIndex // of the span's attributes, and of its links' and events'
	links                     []op.Link
	extra                     op.Extra
	exception                 string // the text of an exception event
	scopeOf                   *op.Scope
	resource                  *op.Resource
	listTexts                 intern.Table
	listText                  []byte
	written                   attrWriter // the attributes that a writer restores
	spanName, deviceType      string
	deviceIndex, deviceMemory op.Int
	kindRule                  op.KindRule
	unknown                   string // the field that does not follow from the shape

	service, scope checked

	// Outer sets the attributes of resources and scopes. Readers reset its account before a new resource.
	Outer opmodel.AttrIndex

	kinds opmodel.KindCache
}

// NewBuilder returns a Builder for mapping; nil has the conventions only.
func NewBuilder(mapping *Mapping) *Builder {
	b := &Builder{mapping: mapping}
	for _, index := range []*opmodel.AttrIndex{&b.index, &b.further, &b.Outer} {
		index.Held = Account(mapping)
	}
	return b
}

// LimitTexts bounds the cached texts of lists in bytes. The default is 4 MiB; 0 turns the cache off.
func (b *Builder) LimitTexts(bytes int) { b.listTexts.Limit(bytes) }

// Reset starts a new span.
func (b *Builder) Reset() {
	if b.entry.Collective != nil {
		b.coll = op.Collective{}
	}
	b.entry = op.Entry{}
	b.index.Held.Reset()
	b.further.Held.Reset()
	b.seen = 0
	b.from = [numFields]family{}
	b.inputs = b.inputs[:0]
	b.inputDims = b.inputDims[:0]
	b.outputDims = b.outputDims[:0]
	b.outputTruncated = false
	b.dtypes = b.dtypes[:0]
	b.attrs = b.attrs[:0]
	b.links = b.links[:0]
	b.spanName = ""
	b.unknown = ""
	b.deviceType = ""
	b.exception = ""
	b.scopeOf = nil
	b.resource = nil
	if b.KeepsAll() || b.extra.DroppedLinks != 0 {
		b.extra = op.Extra{}
	}
	b.deviceIndex = op.Int{}
	b.deviceMemory = op.Int{}
}

// SetName sets the span's name. It is the operation's name unless an attribute gives one.
func (b *Builder) SetName(name string) { b.spanName = name }

// NeedsName reports whether the span's name matters, after the attributes.
func (b *Builder) NeedsName() bool {
	return b.entry.Operation == "" || !b.seen.isOperation() || b.KeepsAll()
}

// SetIDs places the span in its trace. A zero trace or span id gives a warning; a zero parent id is a root's.
func (b *Builder) SetIDs(trace op.TraceID, span, parent op.SpanID) {
	b.entry.TraceID = trace
	b.entry.SpanID = span
	b.entry.ParentSpanID = parent
	if trace.IsZero() || span.IsZero() {
		b.entry.Warn |= op.WarnBadID
	}
}

// SetTime sets start, in Unix nanoseconds, and duration in nanoseconds. It warns of an unknown start, of an end beyond
// int64, which makes the start unknown, and of a negative duration, which becomes 0.
func (b *Builder) SetTime(start op.Int, duration int64) {
	if !start.Known {
		b.entry.Warn |= op.WarnBadTime
	}
	if duration < 0 {
		duration = 0
		b.entry.Warn |= op.WarnNegativeDuration
	}
	if start.V > math.MaxInt64-duration {
		start = op.Int{}
		b.entry.Warn |= op.WarnBadTime
	}
	b.entry.Start = start
	b.entry.Duration = duration
}

// SetDuration sets the duration in nanoseconds of an operation without a start.
func (b *Builder) SetDuration(duration int64) {
	b.entry.Duration = max(0, duration)
	b.entry.Warn |= op.WarnNoStart
}

// SetError marks the operation as failed. Without a description the error is the text of the span's exception.
func (b *Builder) SetError(description string) {
	b.entry.Failed = true
	b.entry.Error = b.ErrorText(description)
}

// ErrorText returns the text of SetError.
func (b *Builder) ErrorText(description string) string {
	return b.text(cmp.Or(description, b.exception))
}

// WantsEvent reports whether AddEvent uses an event of this name.
func (b *Builder) WantsEvent(name string) bool {
	return b.KeepsAll() || slices.Contains(exceptions[:], name)
}

// AddEvent adds an event of the span. Under KeepAll it keeps the attributes. Otherwise it takes the first exception
// for the text of the span's error, if its status has no description.
func (b *Builder) AddEvent(e op.Event) {
	if b.KeepsAll() {
		const size = 3 * int(unsafe.Sizeof(e)) // as the list grows
		if b.further.Held.Take(size + len(e.Name)) {
			b.extra.Events = append(b.extra.Events, e)
		}
		return
	}
	if b.exception != "" || !b.WantsEvent(e.Name) {
		return
	}
	for _, key := range exceptionTexts {
		if a := opmodel.FindAttr(e.Attrs, key); a != nil && a.Value != "" {
			b.exception = a.Value
			return
		}
	}
}

// exceptions are the names of error events, and exceptionTexts the attributes describing the error, the best first.
var (
	exceptions     = [...]string{"exception", "error"}
	exceptionTexts = [...]string{"exception.message", "exception.type", "message", "error.object", "error.kind"}
)

// SetResource sets the resource's fields; r may be nil. A rank of the span takes precedence.
func (b *Builder) SetResource(r *op.Resource) {
	if r == nil {
		return
	}
	b.resource = r
	b.entry.Service = b.service.text(b, r.Service)
	b.entry.Host = r.Host
	if b.from[FieldRank] == familyNone {
		b.entry.Rank = r.Rank
	}
}

// SetScope sets the instrumentation scope.
func (b *Builder) SetScope(name string) { b.entry.Scope = b.scope.text(b, name) }

// checked is Builder.text for a text common to many spans: comparing pointers is cheaper than reading every byte.
type checked struct {
	in, out string
	warn    op.Warning
}

func (c *checked) text(b *Builder, v string) string {
	if v != c.in {
		warn := b.entry.Warn
		b.entry.Warn = 0
		c.in = v
		c.out = b.text(v)
		c.warn = b.entry.Warn
		b.entry.Warn = warn
	}
	b.entry.Warn |= c.warn
	return c.out
}

// SetRoot sets the local root span above the operation, if any. It takes precedence over attributes.
func (b *Builder) SetRoot(name string, id op.SpanID) {
	if name != "" || !id.IsZero() {
		b.entry.Root = b.text(name)
		b.entry.RootSpanID = id
	}
}

// SetTraceState reads the sampling threshold in a W3C tracestate.
func (b *Builder) SetTraceState(state string) {
	b.entry.AdjustedCount = adjustedCount(state)
	b.extra.TraceState = state
}

// SetDropped sets the number of attributes dropped by the SDK's limits.
func (b *Builder) SetDropped(n int64) {
	b.entry.DroppedAttributes = n
	if n > 0 {
		b.entry.Warn |= op.WarnDroppedAttributes
	}
}

// Warn adds warnings of the caller.
func (b *Builder) Warn(w op.Warning) { b.entry.Warn |= w }

// Entry completes the entry, which is valid until the next Reset. It reports false for a span other than an operation.
func (b *Builder) Entry() (*op.Entry, bool) {
	if !b.seen.isOperation() && !b.isTraining() {
		return nil, false
	}
	e := &b.entry
	if e.Operation == "" {
		e.Operation = b.text(b.spanName)
	}
	if e.Operation == "" {
		e.Operation = attrkey.Unnamed
	}
	b.finishDevice()
	b.finishKind()
	b.finishSizes()
	if len(b.dtypes) > 0 {
		e.InputDTypes = b.dtypes
	}
	e.Links = b.Links()
	if b.from[FieldInputShapes] != familyNone {
		e.InputShapes = b.inputs
	}
	b.finishAttrs()
	return e, true
}

// finishDevice joins the device's type and index, separate attributes of torch.
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
	switch {
	case b.from[FieldKind] != familyNone:
		e.KindRule = op.RuleAttribute
		if b.from[fieldKindRule] != familyNone {
			e.KindRule = b.kindRule
		}
	case e.Collective != nil:
		e.Kind = op.KindCollective
		e.KindRule = op.RuleAttribute
	default:
		e.Kind, e.KindRule = b.kinds.Infer(e.Operation)
	}
}

func (b *Builder) finishSizes() {
	e := &b.entry
	// The elements of a truncated output are unknown, even if it was truncated before it became a span.
	truncated := b.outputTruncated || e.Warn&op.WarnShapeTruncated != 0 && len(e.OutputShape) == op.MaxRank
	if b.from[FieldOutputElements] == familyNone && !truncated && b.unknown != unknownElements {
		n, w := e.OutputShape.Elements()
		e.OutputElements = n
		e.Warn |= w
	}
	// torch states the host's and the device's memory, and 0 for the untouched one.
	if b.from[FieldMemory] <= familyTorch && b.deviceMemory.Known && (b.deviceMemory.V != 0 || !e.MemoryBytes.Known) {
		e.MemoryBytes = b.deviceMemory
		b.from[FieldMemory] = familyTorch
	}
	if b.from[FieldMemory] == familyNone && e.Warn&op.WarnBadMemory == 0 && b.unknown != unknownMemory {
		opmodel.SetDerivedMemory(e)
	}
}

// adjustedCount returns the number of spans that a span stands for, by the threshold in a W3C tracestate:
// 2^56 / (2^56 - T) for "ot=th:T", with T of up to 14 hexadecimal digits, filled up with zeros on the right. Without a valid
// threshold it returns 0, unknown.
//
//	ot=th:8          2
//	ot=rv:1a;th:c    4
//	ot=th:0          1
//	ot=th:           0
//	x=1              0
func adjustedCount(state string) float64 {
	if state == "" {
		return 0
	}
	for member := range strings.SplitSeq(state, ",") {
		value, ok := strings.CutPrefix(strings.TrimSpace(member), "ot=")
		if !ok {
			continue
		}
		for part := range strings.SplitSeq(value, ";") {
			if th, ok := strings.CutPrefix(part, "th:"); ok {
				return thresholdCount(th)
			}
		}
	}
	return 0
}

func thresholdCount(th string) float64 {
	const digits, denominator = 14, uint64(1) << 56
	if len(th) > digits {
		return 0
	}
	t, err := strconv.ParseUint(th, 16, 64)
	if err != nil {
		return 0
	}
	t <<= 4 * (digits - len(th))
	return float64(denominator) / float64(denominator-t)
}
