package arrow

import (
	"encoding/binary"
	"math"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// field is a column of the table that means something.
type field struct {
	name   string
	column func() column
}

// one returns a column.
func one[T any](t translate[T], set func([]rows.Row, []T, []uint32)) func() column {
	return func() column { return &of[T]{translate: t, set: set} }
}

// kept returns a column of records of a scope that nothing else changes.
func kept[T any](s scope, t translate[T], set func([]rows.Row, []T, []uint32)) func() column {
	return func() column { return &of[T]{translate: t, set: set, traits: traits{s, true}} }
}

// ofEntry returns a column of entries that nothing else changes.
func ofEntry[T any](t translate[T], set func([]rows.Row, []T, []uint32)) func() column {
	return func() column { return &of[T]{translate: t, set: set, traits: traits{ofEntries, true}} }
}

// ints returns a column of integers of entries, which are least or more.
func ints(least int64, warning op.Warning, stays bool, set func([]rows.Row, []op.Int, []uint32)) func() column {
	return func() column {
		return &of[op.Int]{translate: integer(least, warning), bulk: amounts(least), set: set, traits: traits{ofEntries, stays}}
	}
}

// inEntry returns a column of entries that [rows.Row.Finish] changes.
func inEntry[T any](t translate[T], set func([]rows.Row, []T, []uint32)) func() column {
	return func() column { return &of[T]{translate: t, set: set, traits: traits{scope: ofEntries}} }
}

// rare returns a column that few rows have.
func rare[T any](t translate[T], some func(*rows.Row, T)) func() column {
	return func() column { return &of[T]{translate: t, some: some} }
}

// fast returns a column that mostly is of a form that bulk reads.
func fast[T any](bulk func([]T, *array, int, int) ([]T, bool), t translate[T], set func([]rows.Row, []T, []uint32)) func() column {
	return func() column { return &of[T]{translate: t, set: set, bulk: bulk, traits: traits{scope: ofSpans}} }
}

// int64At returns the i-th integer.
func int64At(b []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }

// fields lists the columns that are known, as render/parquet documents them. A
// table may have any of them, in any order and beside others. What a row has that
// is no entry is set where it is not null.
var fields = []field{
	{"record", kept(ofAll, text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Record = v[k[i]]
		}
	})},
	{"step", ints(math.MinInt64, op.WarnBadValue, true, func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Step = v[k[i]]
		}
	})},
	{"operation", ofEntry(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Operation = v[k[i]]
		}
	})},
	{"device_id", ofEntry(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].DeviceID = v[k[i]]
		}
	})},
	{"input_shapes", ofEntry(shapes, func(l []rows.Row, v [][]op.Shape, k []uint32) {
		for i := range l {
			l[i].InputShapes = v[k[i]]
		}
	})},
	{"output_shape", ofEntry(shape, func(l []rows.Row, v []rows.ShapeText, k []uint32) {
		for i := range l {
			s := &v[k[i]]
			l[i].OutputShape, l[i].OutputCut = s.Shape, s.Cut
		}
	})},
	{"duration_us", one(micros, setMicros)},
	{"duration_ns", fast(nanoInts, nanos(op.WarnBadValue), setDuration)},
	{"output_elements", ints(0, op.WarnBadValue, false, func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].OutputElements = v[k[i]]
		}
	})},
	{"memory_bytes", ints(0, op.WarnBadMemory, false, func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].MemoryBytes = v[k[i]]
		}
	})},
	{"kind", inEntry(named(rows.ParseKind), func(l []rows.Row, v []op.Kind, k []uint32) {
		for i := range l {
			l[i].Kind = v[k[i]]
		}
	})},
	{"kind_rule", inEntry(named(rows.ParseKindRule), func(l []rows.Row, v []rows.KindRule, k []uint32) {
		for i := range l {
			r := v[k[i]]
			l[i].KindRule, l[i].HasRule = r.Rule, r.Known
		}
	})},
	{"dtype", ofEntry(named(rows.ParseDType), func(l []rows.Row, v []op.DType, k []uint32) {
		for i := range l {
			l[i].DType = v[k[i]]
		}
	})},
	{"start_unix_ns", fast(nanoInts, nanos(op.WarnBadTime), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Start = v[k[i]]
		}
	})},
	{"launch_unix_ns", fast(nanoInts, nanos(op.WarnBadTime), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Launch = v[k[i]]
		}
	})},
	{"stream", ofEntry(integer(math.MinInt64, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Stream = v[k[i]]
		}
	})},
	{"rank", kept(ofResources, integer(0, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Rank = v[k[i]]
		}
	})},
	{"flops", ints(0, op.WarnBadValue, true, func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].FLOPs = v[k[i]]
		}
	})},
	{"trace_id", kept(ofSpans, traceID, func(l []rows.Row, v []op.TraceID, k []uint32) {
		for i := range l {
			l[i].TraceID = v[k[i]]
		}
	})},
	{"span_id", fast(spanIDs, spanID(false), func(l []rows.Row, v []op.SpanID, k []uint32) {
		for i := range l {
			l[i].SpanID = v[k[i]]
		}
	})},
	{"parent_span_id", kept(ofSpans, spanID(true), func(l []rows.Row, v []op.SpanID, k []uint32) {
		for i := range l {
			l[i].ParentSpanID = v[k[i]]
		}
	})},
	{"root", ofEntry(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Root = v[k[i]]
		}
	})},
	{"root_span_id", ofEntry(spanID(true), func(l []rows.Row, v []op.SpanID, k []uint32) {
		for i := range l {
			l[i].RootSpanID = v[k[i]]
		}
	})},
	{"service", kept(ofSources, text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Service = v[k[i]]
		}
	})},
	{"scope", ofEntry(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Scope = v[k[i]]
		}
	})},
	{"path", ofEntry(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Path = v[k[i]]
		}
	})},
	{"input_dtypes", ofEntry(dtypes, func(l []rows.Row, v [][]op.DType, k []uint32) {
		for i := range l {
			l[i].InputDTypes = v[k[i]]
		}
	})},
	{"side", ofEntry(named(rows.ParseSide), func(l []rows.Row, v []op.Side, k []uint32) {
		for i := range l {
			l[i].Side = v[k[i]]
		}
	})},
	{"failed", func() column {
		return &of[bool]{translate: flag, set: setFailed, bulk: booleans, sameAsNull: allFalse, traits: traits{scope: ofSpans}}
	}},
	{"error", one(failureOf, func(l []rows.Row, v []failure, k []uint32) {
		for i := range l {
			f := &v[k[i]]
			l[i].Error, l[i].Failed = f.text, f.failed
		}
	})},
	{"adjusted_count", ofEntry(adjustedCount, func(l []rows.Row, v []float64, k []uint32) {
		for i := range l {
			l[i].AdjustedCount = v[k[i]]
		}
	})},
	{"dropped_attributes", ofEntry(integer(0, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].DroppedAttributes = v[k[i]].V
		}
	})},
	{"attrs", one(attrs, func(l []rows.Row, v [][]op.Attr, k []uint32) {
		for i := range l {
			l[i].Attrs = v[k[i]]
		}
	})},
	{"warn", one(warnings, func([]rows.Row, []struct{}, []uint32) {})},
	{"collective", one(collective, func(l []rows.Row, v []*op.Collective, k []uint32) {
		for i := range l {
			l[i].Collective = v[k[i]]
		}
	})},
	{"name", rare(text, func(r *rows.Row, v string) { r.More().Span.Name = v })},
	{"parent_remote", rare(flag, func(r *rows.Row, v bool) { r.More().Span.RemoteParent = v })},
	{"world_size", rare(integer(0, op.WarnBadValue), func(r *rows.Row, v op.Int) { r.More().Resource.WorldSize = v })},
	{"gap", rare(gap, func(r *rows.Row, v op.Gap) { r.More().Gap = v })},
	{"batch", rare(write, func(r *rows.Row, v op.Batch) { r.More().Batch = v })},
	{"links", one(links, func(l []rows.Row, v [][]op.Link, k []uint32) {
		for i := range l {
			l[i].Links = v[k[i]]
		}
	})},
	{"extra", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Rest = v[k[i]]
		}
	})},
}

func setFailed(l []rows.Row, v []bool, k []uint32) {
	for i := range l {
		l[i].StatedFailed = v[k[i]]
	}
}

// setMicros and setDuration set the duration. Where both columns are there, that in
// nanoseconds comes later and counts.
func setMicros(l []rows.Row, v []op.Int, k []uint32) {
	for i := range l {
		n := v[k[i]]
		l[i].Duration, l[i].DurationFrom = n.V, rows.DurationUnknown
		if n.Known {
			l[i].DurationFrom = rows.DurationMicros
		}
	}
}

func setDuration(l []rows.Row, v []op.Int, k []uint32) {
	for i := range l {
		if n := v[k[i]]; n.Known {
			l[i].Duration, l[i].DurationFrom = n.V, rows.DurationNanos
		}
	}
}
