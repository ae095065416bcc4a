package optest

import (
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// The times of most cases.
const (
	start    = 1_700_000_000_123_456_000
	duration = 12_000
)

// The ids of most cases.
var (
	TraceID = op.TraceID{0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03, 0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6,
		0x0c}
	SpanID   = op.SpanID{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74}
	ParentID = op.SpanID{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x73}
)

// span returns a span with attrs.
func span(attrs ...Attr) Span {
	return Span{
		Name: "span name", TraceID: TraceID, SpanID: SpanID, ParentSpanID: ParentID,
		Start: start, End: start + duration, Attributes: attrs,
		Resource: []Attr{{attrkey.ServiceName, "trainer"}}, Scope: "example.com/engine",
	}
}

// matmul returns a span that tensor.op.name makes an operation.
func matmul(attrs ...Attr) Span {
	return span(append([]Attr{{attrkey.Name, "matmul"}}, attrs...)...)
}

// entry returns the entry of matmul with changes.
func entry(changes ...func(*op.Entry)) *op.Entry {
	e := &op.Entry{
		Operation: "matmul", Kind: op.KindCompute, KindRule: op.RuleDefault,
		Start: op.Known(start), Duration: duration,
		TraceID: TraceID, SpanID: SpanID, ParentSpanID: ParentID,
		Service: "trainer", Scope: "example.com/engine",
	}
	for _, change := range changes {
		change(e)
	}
	return e
}

// inputs sets the shapes of the inputs.
func inputs(shapes ...op.Shape) func(*op.Entry) {
	if shapes == nil {
		shapes = []op.Shape{}
	}
	return func(e *op.Entry) { e.InputShapes = shapes }
}

// output sets the shape of the output and its derived size, with elements of eight bytes.
func output(elements int64, dims ...int64) func(*op.Entry) {
	if dims == nil {
		dims = []int64{}
	}
	return func(e *op.Entry) {
		e.OutputShape = dims
		e.OutputElements = op.Known(elements)
		e.MemoryBytes = op.Known(8 * elements)
	}
}

func memory(bytes int64) func(*op.Entry) {
	return func(e *op.Entry) { e.MemoryBytes = op.Known(bytes) }
}

func warn(w op.Warning) func(*op.Entry) {
	return func(e *op.Entry) { e.Warn |= w }
}
