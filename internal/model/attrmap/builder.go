package attrmap

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Builder makes an [op.Entry] from the attributes of a span: for each one call Reset, then the attribute methods in any order
// and the Set methods, then Entry. After the first spans nothing is allocated. A Builder is not safe for concurrent use.
type Builder struct {
	mapping *Mapping

	entry op.Entry
	coll  op.Collective
	seen  signs
	from  [numFields]family // which family set each field
	// inputs, inputDims and outputDims are the buffers behind the entry's shapes.
	inputs                []op.Shape
	inputDims, outputDims []int64
	outputTruncated       bool
	spare                 shapeList // buffers for what may become inputs
	dims                  []int64   // of the shape under way
	dtypes                []op.DType
	attrs                 []op.Attr
	index, further        opmodel.AttrIndex // of the span's attributes, and of those of its links and events
	links                 []op.Link
	extra                 op.Extra
	exception             string // the text of an event
	scopeOf               *op.Scope
	resource              *op.Resource
	listTexts             intern.Table
	listText              []byte
	lex                   lexer.Lexer
	written               attrWriter // of what a writer would write
	spanName              string
	deviceType            string
	deviceIndex           op.Int
	deviceMemory          op.Int
	kindRule              op.KindRule

	service, scope checked

	// Outer sets the attributes of resources and scopes. Readers reset its account in front of a new resource.
	Outer opmodel.AttrIndex

	kinds opmodel.KindCache
}

// NewBuilder returns a Builder that reads attributes as mapping says; nil is
// the conventions.
func NewBuilder(mapping *Mapping) *Builder {
	b := &Builder{mapping: mapping}
	for _, index := range []*opmodel.AttrIndex{&b.index, &b.further, &b.Outer} {
		index.Held = Account(mapping)
	}
	return b
}

// LimitTexts bounds the texts of lists that the Builder remembers, in bytes: 4 MiB without it, and 0 for none.
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

// SetName sets the span's name, that of the operation where no attribute gives one.
func (b *Builder) SetName(name string) { b.spanName = name }

// NeedsName reports whether the span's name matters, after the attributes.
func (b *Builder) NeedsName() bool {
	return b.entry.Operation == "" || !b.seen.isOperation() || b.KeepsAll()
}

// SetIDs places the span in its trace. A zero trace or span id is a warning, a
// zero parent id means a root.
func (b *Builder) SetIDs(trace op.TraceID, span, parent op.SpanID) {
	b.entry.TraceID = trace
	b.entry.SpanID = span
	b.entry.ParentSpanID = parent
	if trace.IsZero() || span.IsZero() {
		b.entry.Warn |= op.WarnBadID
	}
}

// SetTime sets start, in Unix nanoseconds, and duration in nanoseconds. A
// start that is not known is a warning; so is an end beyond int64, which makes
// the start unknown, and a negative duration, which becomes 0.
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

// SetDuration sets the duration in nanoseconds of an operation that is known
// to have no start.
func (b *Builder) SetDuration(duration int64) {
	b.entry.Duration = max(0, duration)
	b.entry.Warn |= op.WarnNoStart
}

// SetError marks the operation as failed. Without a description the text is that of the span's exception.
func (b *Builder) SetError(description string) {
	b.entry.Failed, b.entry.Error = true, b.ErrorText(description)
}

// ErrorText returns the text that SetError sets.
func (b *Builder) ErrorText(description string) string {
	return b.text(cmp.Or(description, b.exception))
}

// WantsEvent reports whether AddEvent takes anything of an event of the name.
func (b *Builder) WantsEvent(name string) bool {
	return b.KeepsAll() || slices.Contains(exceptions[:], name)
}

// AddEvent adds an event of the span, whose attributes are kept where everything is. Otherwise the first
// exception is the text of the span's error, if its status has none.
func (b *Builder) AddEvent(e op.Event) {
	if b.KeepsAll() {
		const size = 3 * int(unsafe.Sizeof(e)) // in a list that grows
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

// exceptions are the names of events that tell of errors, by OpenTelemetry and OpenTracing, and exceptionTexts the attributes
// that say which, the best first.
var (
	exceptions     = [...]string{"exception", "error"}
	exceptionTexts = [...]string{"exception.message", "exception.type", "message", "error.object", "error.kind"}
)

// SetResource sets the fields that the resource, which may be nil, gives. A rank of the span wins.
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

// checked is Builder.text for a text that many spans have: comparing pointers is cheaper than looking at every byte.
type checked struct {
	in, out string
	warn    op.Warning
}

func (c *checked) text(b *Builder, v string) string {
	if v != c.in {
		warn := b.entry.Warn
		b.entry.Warn = 0
		c.in, c.out = v, b.text(v)
		c.warn = b.entry.Warn
		b.entry.Warn = warn
	}
	b.entry.Warn |= c.warn
	return c.out
}

// SetRoot sets the local root span above the operation, if there is one, in place of that of the attributes.
func (b *Builder) SetRoot(name string, id op.SpanID) {
	if name != "" || !id.IsZero() {
		b.entry.Root = b.text(name)
		b.entry.RootSpanID = id
	}
}

// SetTraceState reads the sampling threshold that a W3C tracestate carries.
func (b *Builder) SetTraceState(state string) {
	b.entry.AdjustedCount = adjustedCount(state)
	b.extra.TraceState = state
}

// SetDropped sets how many attributes the SDK's limits dropped.
func (b *Builder) SetDropped(n int64) {
	b.entry.DroppedAttributes = n
	if n > 0 {
		b.entry.Warn |= op.WarnDroppedAttributes
	}
}

// Warn adds warnings of the caller.
func (b *Builder) Warn(w op.Warning) { b.entry.Warn |= w }

// Entry completes the entry, which is valid until the next Reset. It reports false where the span is no operation.
func (b *Builder) Entry() (*op.Entry, bool) {
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
	e.Links = b.Links()
	if b.from[FieldInputShapes] != familyNone {
		e.InputShapes = b.inputs
	}
	b.finishAttrs()
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

// finishSizes derives elements and bytes from the output's shape where they are not stated.
func (b *Builder) finishSizes() {
	e := &b.entry
	// What a truncated output held is not known, also when it was truncated
	// before it was written as a span.
	truncated := b.outputTruncated || e.Warn&op.WarnShapeTruncated != 0 && len(e.OutputShape) == op.MaxRank
	if b.from[FieldOutputElements] == familyNone && !truncated {
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
	if b.from[FieldMemory] == familyNone && e.Warn&op.WarnBadMemory == 0 {
		opmodel.SetDerivedMemory(e)
	}
}

// adjustedCount returns how many spans a span sampled with the threshold in a
// W3C tracestate stands for: 2^56 / (2^56 - T) for "ot=th:T", T being up to 14
// hexadecimal digits filled up with zeros on the right. It returns 0, which
// means unknown, where there is no valid threshold: none is not the same as 1.
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
