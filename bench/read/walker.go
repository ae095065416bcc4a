package read

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// walker adds the operations among pdata's spans to a profile.
type walker struct {
	profile *analyze.Profile
	entry   op.Entry
	kinds   kinds
	dims    op.Shape // backs the entry's shapes
	shapes  []op.Shape
}

func newWalker() *walker { return &walker{profile: newProfile(), kinds: kinds{}} }

func (w *walker) traces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		service, _ := rs.Resource().Attributes().Get(op.KeyServiceName)
		rank := op.Int{}
		if v, ok := rs.Resource().Attributes().Get(op.KeyRank); ok {
			rank = op.Known(v.Int())
		}
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				w.entry = op.Entry{Service: service.Str(), Rank: rank, Scope: ss.Scope().Name()}
				w.span(s)
			}
		}
	}
}

func (w *walker) span(s ptrace.Span) {
	e := &w.entry
	w.dims, w.shapes = w.dims[:0], w.shapes[:0]
	for key, v := range s.Attributes().All() {
		switch key {
		case op.KeyName:
			e.Operation = v.Str()
		case op.KeyDevice:
			e.DeviceID = v.Str()
		case op.KeyDType:
			e.DType = op.DType(v.Str())
		case op.KeyInputShapes:
			for _, shape := range v.Slice().All() {
				w.shapes = append(w.shapes, w.shape(shape.Slice()))
			}
			e.InputShapes = w.shapes
		case op.KeyOutputShape:
			e.OutputShape = w.shape(v.Slice())
		}
	}
	if e.Operation == "" {
		return
	}
	e.Kind, e.KindRule = w.kinds.of(e.Operation)
	e.Start = op.Known(int64(s.StartTimestamp()))
	e.Duration = int64(s.EndTimestamp() - s.StartTimestamp())
	e.TraceID, e.SpanID, e.ParentSpanID = op.TraceID(s.TraceID()), op.SpanID(s.SpanID()), op.SpanID(s.ParentSpanID())
	elements := int64(1)
	for _, d := range e.OutputShape {
		elements *= d
	}
	e.OutputElements = op.Known(elements)
	e.MemoryBytes = op.Known(elements * e.DType.Size())
	w.profile.Add(e)
}

// shape returns the dimensions, in memory that is used again for the next span.
func (w *walker) shape(dims pcommon.Slice) op.Shape {
	start := len(w.dims)
	for _, d := range dims.All() {
		w.dims = append(w.dims, d.Int())
	}
	return w.dims[start:len(w.dims):len(w.dims)]
}

// kinds remembers the kinds of operations by name.
type kinds map[string]kind

type kind struct {
	kind op.Kind
	rule op.KindRule
}

func (k kinds) of(name string) (op.Kind, op.KindRule) {
	found, ok := k[name]
	if !ok {
		found.kind, found.rule = op.InferKind(name)
		k[name] = found
	}
	return found.kind, found.rule
}
