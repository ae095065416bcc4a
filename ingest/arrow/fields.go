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

// fast returns a column that mostly is of a form that direct reads.
func fast[T any](direct func([]rows.Row, *array, int) bool, t translate[T], set func([]rows.Row, []T, []uint32)) func() column {
	return func() column { return &of[T]{translate: t, set: set, direct: direct} }
}

// int64At returns the i-th integer.
func int64At(b []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }

// fields lists the columns that are known, as render/parquet documents them. A
// table may have any of them, in any order and beside others. What a row has that
// is no entry is set where it is not null.
var fields = []field{
	{"record", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Record = v[k[i]]
		}
	})},
	{"step", one(integer(math.MinInt64, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Step = v[k[i]]
		}
	})},
	{"operation", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Operation = v[k[i]]
		}
	})},
	{"device_id", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].DeviceID = v[k[i]]
		}
	})},
	{"input_shapes", one(shapes, func(l []rows.Row, v [][]op.Shape, k []uint32) {
		for i := range l {
			l[i].InputShapes = v[k[i]]
		}
	})},
	{"output_shape", one(shape, func(l []rows.Row, v []rows.ShapeText, k []uint32) {
		for i := range l {
			s := &v[k[i]]
			l[i].OutputShape, l[i].OutputCut = s.Shape, s.Cut
		}
	})},
	{"duration_us", one(micros, setMicros)},
	{"duration_ns", fast(times(func(l []rows.Row, b []byte) {
		for i := range l {
			l[i].Duration, l[i].DurationFrom = int64At(b, i), rows.DurationNanos
		}
	}), nanos(op.WarnBadValue), setDuration)},
	{"output_elements", one(integer(0, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].OutputElements = v[k[i]]
		}
	})},
	{"memory_bytes", one(integer(0, op.WarnBadMemory), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].MemoryBytes = v[k[i]]
		}
	})},
	{"kind", one(named(rows.ParseKind), func(l []rows.Row, v []op.Kind, k []uint32) {
		for i := range l {
			l[i].Kind = v[k[i]]
		}
	})},
	{"kind_rule", one(named(rows.ParseKindRule), func(l []rows.Row, v []rows.KindRule, k []uint32) {
		for i := range l {
			r := v[k[i]]
			l[i].KindRule, l[i].HasRule = r.Rule, r.Known
		}
	})},
	{"dtype", one(named(rows.ParseDType), func(l []rows.Row, v []op.DType, k []uint32) {
		for i := range l {
			l[i].DType = v[k[i]]
		}
	})},
	{"start_unix_ns", fast(times(func(l []rows.Row, b []byte) {
		for i := range l {
			l[i].Start = op.Int{V: int64At(b, i), Known: true}
		}
	}), nanos(op.WarnBadTime), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Start = v[k[i]]
		}
	})},
	{"launch_unix_ns", fast(times(func(l []rows.Row, b []byte) {
		for i := range l {
			l[i].Launch = op.Int{V: int64At(b, i), Known: true}
		}
	}), nanos(op.WarnBadTime), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Launch = v[k[i]]
		}
	})},
	{"stream", one(integer(math.MinInt64, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Stream = v[k[i]]
		}
	})},
	{"rank", one(integer(0, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].Rank = v[k[i]]
		}
	})},
	{"flops", one(integer(0, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i := range l {
			l[i].FLOPs = v[k[i]]
		}
	})},
	{"trace_id", one(traceID, func(l []rows.Row, v []op.TraceID, k []uint32) {
		for i := range l {
			l[i].TraceID = v[k[i]]
		}
	})},
	{"span_id", fast(spanIDs, spanID(false), func(l []rows.Row, v []op.SpanID, k []uint32) {
		for i := range l {
			l[i].SpanID = v[k[i]]
		}
	})},
	{"parent_span_id", one(spanID(true), func(l []rows.Row, v []op.SpanID, k []uint32) {
		for i := range l {
			l[i].ParentSpanID = v[k[i]]
		}
	})},
	{"root", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Root = v[k[i]]
		}
	})},
	{"root_span_id", one(spanID(true), func(l []rows.Row, v []op.SpanID, k []uint32) {
		for i := range l {
			l[i].RootSpanID = v[k[i]]
		}
	})},
	{"service", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Service = v[k[i]]
		}
	})},
	{"scope", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Scope = v[k[i]]
		}
	})},
	{"path", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i := range l {
			l[i].Path = v[k[i]]
		}
	})},
	{"input_dtypes", one(dtypes, func(l []rows.Row, v [][]op.DType, k []uint32) {
		for i := range l {
			l[i].InputDTypes = v[k[i]]
		}
	})},
	{"side", one(named(rows.ParseSide), func(l []rows.Row, v []op.Side, k []uint32) {
		for i := range l {
			l[i].Side = v[k[i]]
		}
	})},
	{"failed", fast(bits(setFailed), flag, func(l []rows.Row, v []bool, k []uint32) {
		for i := range l {
			l[i].StatedFailed = v[k[i]]
		}
	})},
	{"error", one(failureOf, func(l []rows.Row, v []failure, k []uint32) {
		for i := range l {
			f := &v[k[i]]
			l[i].Error, l[i].Failed = f.text, f.failed
		}
	})},
	{"adjusted_count", one(adjustedCount, func(l []rows.Row, v []float64, k []uint32) {
		for i := range l {
			l[i].AdjustedCount = v[k[i]]
		}
	})},
	{"dropped_attributes", one(integer(0, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
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
	{"name", one(text, func(l []rows.Row, v []string, k []uint32) {
		for i, at := range k {
			if at > 0 {
				l[i].More().Span.Name = v[at]
			}
		}
	})},
	{"parent_remote", one(flag, func(l []rows.Row, v []bool, k []uint32) {
		for i, at := range k {
			if at > 0 {
				l[i].More().Span.RemoteParent = v[at]
			}
		}
	})},
	{"world_size", one(integer(0, op.WarnBadValue), func(l []rows.Row, v []op.Int, k []uint32) {
		for i, at := range k {
			if at > 0 {
				l[i].More().Resource.WorldSize = v[at]
			}
		}
	})},
	{"gap", one(gap, func(l []rows.Row, v []op.Gap, k []uint32) {
		for i, at := range k {
			if at > 0 {
				l[i].More().Gap = v[at]
			}
		}
	})},
	{"batch", one(write, func(l []rows.Row, v []op.Batch, k []uint32) {
		for i, at := range k {
			if at > 0 {
				l[i].More().Batch = v[at]
			}
		}
	})},
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

func setFailed(l []rows.Row, bits []byte, first int) {
	for i := range l {
		at := first + i
		l[i].StatedFailed = bits[at/8]>>(at%8)&1 != 0
	}
}
