package read

import (
	"bufio"
	"errors"
	"os"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// readPdata reads the parts of a file with pdata.
func readPdata(split bufio.SplitFunc, unmarshal func([]byte) (ptrace.Traces, error)) reader {
	return func(path string) (*analyze.Report, error) {
		w := &walker{profile: newProfile()}
		err := each(path, split, func(part []byte) error {
			td, err := unmarshal(part)
			if err == nil {
				w.traces(td)
			}
			return err
		})
		return analyze.ReportOn(w.profile), err
	}
}

// each calls f with the parts of a file. A part is valid until f returns.
func each(path string, split bufio.SplitFunc, f func(part []byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	parts := bufio.NewScanner(file)
	parts.Buffer(make([]byte, 1<<20), 1<<28)
	parts.Split(split)
	for parts.Scan() {
		if err := f(parts.Bytes()); err != nil {
			return err
		}
	}
	return parts.Err()
}

// walker adds the operations among pdata's spans to a profile.
type walker struct {
	profile *profile.Profile
	entry   op.Entry
	coll    op.Collective
	kinds   opmodel.KindCache
	dims    op.Shape // backs the entry's shapes
	shapes  []op.Shape
}

func (w *walker) traces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		service, _ := rs.Resource().Attributes().Get(attrkey.ServiceName)
		rank := op.Int{}
		if v, ok := rs.Resource().Attributes().Get(attrkey.Rank); ok {
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
	w.dims = w.dims[:0]
	w.shapes = w.shapes[:0]
	kind := ""
	for key, v := range s.Attributes().All() {
		switch key {
		case attrkey.Name:
			e.Operation = v.Str()
		case attrkey.Kind:
			kind = v.Str()
		case attrkey.Path:
			e.Path = v.Str()
		case attrkey.FLOPs:
			e.FLOPs = op.Known(v.Int())
		case attrkey.Device:
			e.DeviceID = v.Str()
		case attrkey.Stream:
			e.Stream = op.Known(v.Int())
		case attrkey.Step:
			e.Step = op.Known(v.Int())
		case attrkey.DType:
			e.DType = op.DType(v.Str())
		case attrkey.InputShapes:
			for _, shape := range v.Slice().All() {
				w.shapes = append(w.shapes, w.shape(shape.Slice()))
			}
			e.InputShapes = w.shapes
		case attrkey.OutputShape:
			e.OutputShape = w.shape(v.Slice())
		case attrkey.Collective:
			w.collective().Name = v.Str()
		case attrkey.Group:
			w.collective().Group = v.Str()
		case attrkey.GroupSize:
			w.collective().GroupSize = op.Known(v.Int())
		case attrkey.Sequence:
			w.collective().Sequence = op.Known(v.Int())
		}
	}
	if e.Operation == "" {
		return
	}
	switch {
	case kind != "":
		e.Kind, _ = op.ParseKind(kind)
	case e.Collective != nil:
		e.Kind = op.KindCollective
	default:
		e.Kind, e.KindRule = w.kinds.Infer(e.Operation)
	}
	e.Start = op.Known(int64(s.StartTimestamp()))
	e.Duration = int64(s.EndTimestamp() - s.StartTimestamp())
	e.TraceID = op.TraceID(s.TraceID())
	e.SpanID = op.SpanID(s.SpanID())
	e.ParentSpanID = op.SpanID(s.ParentSpanID())
	elements := int64(1)
	for _, d := range e.OutputShape {
		elements *= d
	}
	e.OutputElements = op.Known(elements)
	e.MemoryBytes = op.Known(elements * e.DType.Size())
	w.profile.Add(e)
}

// collective returns the collective of the entry and makes it on the first call.
func (w *walker) collective() *op.Collective {
	if w.entry.Collective == nil {
		w.coll = op.Collective{}
		w.entry.Collective = &w.coll
	}
	return w.entry.Collective
}

// shape returns the dimensions, in memory that the next span reuses.
func (w *walker) shape(dims pcommon.Slice) op.Shape {
	start := len(w.dims)
	for _, d := range dims.All() {
		w.dims = append(w.dims, d.Int())
	}
	return w.dims[start:len(w.dims):len(w.dims)]
}
