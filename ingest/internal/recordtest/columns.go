package recordtest

import (
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

// Expanded yields records one by one, and checks what columns say of them. n counts those
// that came in columns.
func Expanded(t testing.TB, records iter.Seq2[op.Record, error], n *int) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for rec, err := range records {
			if rec.Rows == nil {
				if !yield(rec, err) {
					return
				}
				continue
			}
			for _, row := range rec.Rows.List {
				i := int(row)
				*n++
				e := rec.Rows.Entry(i).Clone()
				if diff := cmp.Diff(summary(e), RowOf(rec.Rows, i)); diff != "" {
					t.Errorf("row %d (-entry +columns):\n%s", i, diff)
				}
				if !yield(op.Record{Entry: e}, nil) {
					return
				}
			}
		}
	}
}

// summary returns what columns say of an entry, as an entry.
func summary(e *op.Entry) *op.Entry {
	return &op.Entry{
		Operation: e.Operation, DeviceID: e.DeviceID, Service: e.Service, Rank: e.Rank, Side: e.Side,
		Kind: e.Kind, KindRule: e.KindRule, Start: e.Start, Duration: e.Duration, OutputElements: e.OutputElements,
		MemoryBytes: e.MemoryBytes, FLOPs: e.FLOPs, Failed: e.Failed, TraceID: e.TraceID, SpanID: e.SpanID,
		InputShapes: e.InputShapes, OutputShape: e.OutputShape, InputDTypes: e.InputDTypes, DType: e.DType,
		Stream: e.Stream, Step: e.Step, Launch: e.Launch, Root: e.Root, ParentSpanID: e.ParentSpanID, RootSpanID: e.RootSpanID,
		Collective: e.Collective,
	}
}

// RowOf returns what columns say of a row, as an entry.
func RowOf(c *op.Rows, i int) *op.Entry {
	e := &op.Entry{
		Operation: c.Operation.At(i), DeviceID: c.DeviceID.At(i), Service: c.Service.At(i), Rank: c.Rank.At(i), Side: c.Side.At(i),
		Kind: c.Kind.At(i), KindRule: c.KindRule(i), Start: c.Start.At(i), Duration: c.Duration.At(i).V,
		OutputElements: c.OutputElements.At(i), MemoryBytes: c.MemoryBytes.At(i), FLOPs: c.FLOPs.At(i), Failed: c.Failed.At(i),
		TraceID: c.Trace.At(i), SpanID: c.Span.At(i), ParentSpanID: c.ParentSpan.At(i), RootSpanID: c.RootSpan.At(i),
		Stream: c.Stream.At(i), Step: c.Step.At(i), Launch: c.Launch.At(i), Root: c.Root.At(i), Collective: c.Collective.At(i),
		InputShapes: c.InputShapes.At(i), OutputShape: c.OutputShape.At(i), InputDTypes: c.InputDTypes.At(i), DType: c.DType.At(i),
	}
	if trace, span := c.TraceID(i), c.SpanID(i); trace != e.TraceID || span != e.SpanID {
		e.Error = fmt.Sprintf("one by one: %v %v", trace, span)
	}
	return e.Clone()
}
