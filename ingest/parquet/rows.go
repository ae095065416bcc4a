package parquet

import (
	"errors"
	"math"

	"github.com/optrace/optrace/op"
)

// The values of the column record. A file without it holds operations only.
const (
	recordEntry    = "entry"
	recordSpan     = "span"
	recordResource = "resource"
	recordGap      = "gap"
	recordBatch    = "batch"
)

// columnsSeen tells which columns a file has, where their absence matters: what
// is null was not known to the writer, what is missing may follow from others.
type columnsSeen struct {
	elements, memory bool
}

// finish makes a record of a row that has been read. It belongs to the row.
func (r *row) finish(columns columnsSeen) (op.Record, error) {
	switch r.record {
	case recordEntry, "":
		if err := r.finishEntry(columns); err != nil {
			return op.Record{}, err
		}
		return op.Record{Entry: &r.entry}, nil
	case recordSpan:
		r.finishSpan()
		return op.Record{Span: &r.span}, nil
	case recordResource:
		r.resource.Service, r.resource.Rank = r.entry.Service, r.entry.Rank
		r.resource.Attrs = r.finishAttrs()
		return op.Record{Resource: &r.resource}, nil
	case recordGap:
		return op.Record{Gap: &r.gap}, nil
	case recordBatch:
		return op.Record{Batch: &r.batch}, nil
	}
	return op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}, nil
}

// finishEntry checks what an entry must have, and fills in what follows from
// what it says.
func (r *row) finishEntry(columns columnsSeen) error {
	e := &r.entry
	switch {
	case e.Operation == "":
		return errors.New("an entry without an operation")
	case r.has.duration == durationUnknown:
		return errors.New("an entry without a duration")
	}
	e.Failed = e.Failed || r.failed
	if e.Duration < 0 {
		e.Duration = 0
		r.warn(op.WarnNegativeDuration)
	}
	if e.Start.V > math.MaxInt64-e.Duration {
		e.Start = op.Int{}
		r.warn(op.WarnBadTime)
	}
	if e.TraceID.IsZero() && !(e.SpanID.IsZero() && e.ParentSpanID.IsZero()) {
		r.warn(op.WarnBadID)
	}
	e.Attrs = r.finishAttrs()
	if r.has.collective {
		e.Collective = &r.coll
	}
	r.finishKind()
	if !columns.elements && !r.has.outputCut {
		n, w := e.OutputShape.Elements()
		e.OutputElements = n
		r.warn(w)
	}
	if !columns.memory && e.OutputElements.Known {
		size := e.DType.Size()
		if size == 0 {
			size = op.DefaultElementSize
		}
		n, w := op.Shape{e.OutputElements.V, size}.Elements() // a product that is checked
		e.MemoryBytes = n
		r.warn(w)
	}
	return nil
}

func (r *row) finishKind() {
	e := &r.entry
	switch {
	case e.Kind == op.KindUnknown && e.Collective != nil:
		e.Kind, e.KindRule = op.KindCollective, op.RuleAttribute
	case e.Kind == op.KindUnknown:
		k := r.infer(e.Operation)
		e.Kind, e.KindRule = k.kind, k.rule
	case r.has.rule:
	case e.Kind == op.KindCompute:
		e.KindRule = op.RuleDefault
	case e.Kind == op.KindMemory:
		e.KindRule = op.RuleName
	default:
		e.KindRule = op.RuleAttribute
	}
}

// infer returns the kind that an operation's name tells. Names repeat.
func (r *row) infer(name string) inferred {
	k, ok := r.kinds[name]
	if !ok {
		if r.kinds == nil || len(r.kinds) >= maxKinds {
			r.kinds = make(map[string]inferred)
		}
		k.kind, k.rule = op.InferKind(name)
		r.kinds[name] = k
	}
	return k
}

// finishSpan takes what spans and entries have in common from the entry.
func (r *row) finishSpan() {
	e, s := &r.entry, &r.span
	s.TraceID, s.SpanID, s.ParentSpanID = e.TraceID, e.SpanID, e.ParentSpanID
	s.Start, s.Duration = e.Start, max(0, e.Duration)
	s.Service = e.Service
	s.Failed = e.Failed || r.failed
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = op.Int{}
	}
}

// finishAttrs returns the attributes, nil where there are none. Of equal keys
// the last wins.
func (r *row) finishAttrs() []op.Attr {
	unique := r.attrs[:0]
	for _, a := range r.attrs {
		i := 0
		for i < len(unique) && unique[i].Key != a.Key {
			i++
		}
		if i < len(unique) {
			unique[i].Value = a.Value
		} else {
			unique = append(unique, a)
		}
	}
	r.attrs = unique
	if len(unique) == 0 {
		return nil
	}
	return unique
}
