package parquet

import (
	"math"

	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// field is what a column of the table means.
type field struct {
	// column is its name, or for a part of a group the path to it. Lists and maps
	// go by their own name, whatever the groups in them are called.
	column string
	// use returns how a column of the form that the file gives it is read.
	use func(l *leaf) use
}

// fields lists the columns that are known, as render/parquet documents them. A
// file may have any of them, in any order and beside others.
var fields = []field{
	{"record", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.Record = v.text })},
	{"step", one(op.WarnBadValue, anyInteger, func(r *rows.Row, v *value) { r.Step = v.int() })},
	{"operation", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.Operation = v.text })},
	{"device_id", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.DeviceID = v.text })},
	{"input_shapes", inputShapes},
	{"output_shape", outputShape},
	{"duration_ns", one(op.WarnBadValue, nanos(op.WarnBadValue), func(r *rows.Row, v *value) {
		r.Duration, r.DurationFrom = v.number, rows.DurationNanos
	})},
	{"duration_us", one(op.WarnBadValue, micros, func(r *rows.Row, v *value) {
		if r.DurationFrom < rows.DurationMicros {
			r.Duration, r.DurationFrom = v.number, rows.DurationMicros
		}
	})},
	{"output_elements", one(op.WarnBadValue, amount, func(r *rows.Row, v *value) { r.OutputElements = v.int() })},
	{"memory_bytes", one(op.WarnBadMemory, integer(0, op.WarnBadMemory), func(r *rows.Row, v *value) { r.MemoryBytes = v.int() })},
	{"kind", one(op.WarnBadValue, named(rows.ParseKind), func(r *rows.Row, v *value) { r.Kind = v.named.(op.Kind) })},
	{"kind_rule", one(op.WarnBadValue, named(rows.ParseKindRule), func(r *rows.Row, v *value) {
		k := v.named.(rows.KindRule)
		r.KindRule, r.HasRule = k.Rule, k.Known
	})},
	{"dtype", one(op.WarnBadValue, named(rows.ParseDType), func(r *rows.Row, v *value) { r.DType = v.named.(op.DType) })},
	{"start_unix_ns", one(op.WarnBadTime, nanos(op.WarnBadTime), func(r *rows.Row, v *value) { r.Start = v.int() })},
	{"launch_unix_ns", one(op.WarnBadTime, nanos(op.WarnBadTime), func(r *rows.Row, v *value) { r.Launch = v.int() })},
	{"stream", one(op.WarnBadValue, anyInteger, func(r *rows.Row, v *value) { r.Stream = v.int() })},
	{"rank", one(op.WarnBadValue, amount, func(r *rows.Row, v *value) { r.Rank = v.int() })},
	{"flops", one(op.WarnBadValue, amount, func(r *rows.Row, v *value) { r.FLOPs = v.int() })},
	{"trace_id", one(op.WarnBadID, traceID, func(r *rows.Row, v *value) { r.TraceID = v.id })},
	{"span_id", one(op.WarnBadID, spanID(false), func(r *rows.Row, v *value) { r.SpanID = v.spanID() })},
	{"parent_span_id", one(op.WarnBadID, spanID(true), func(r *rows.Row, v *value) { r.ParentSpanID = v.spanID() })},
	{"root", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.Root = v.text })},
	{"root_span_id", one(op.WarnBadID, spanID(true), func(r *rows.Row, v *value) { r.RootSpanID = v.spanID() })},
	{"service", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.Service = v.text })},
	{"scope", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.Scope = v.text })},
	{"path", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.Path = v.text })},
	{"input_dtypes", many(named(rows.ParseInputDType), func(r *rows.Row) { r.InputDTypes = []op.DType{} }, addInputDType)},
	{"side", one(op.WarnBadValue, named(rows.ParseSide), func(r *rows.Row, v *value) { r.Side = v.named.(op.Side) })},
	{"failed", one(op.WarnBadValue, flag, func(r *rows.Row, v *value) { r.StatedFailed = v.number != 0 })},
	{"error", one(op.WarnBadValue, failure, func(r *rows.Row, v *value) { r.Error, r.Failed = v.text, v.number != 0 })},
	{"adjusted_count", one(op.WarnBadValue, adjustedCount, func(r *rows.Row, v *value) { r.AdjustedCount = v.float })},
	{"dropped_attributes", one(op.WarnBadValue, amount, func(r *rows.Row, v *value) { r.DroppedAttributes = v.number })},
	{"attrs.key", many(text, nothing, addAttr)},
	{"attrs.value", many(text, nothing, setAttr)},
	{"warn", many(named(rows.ParseWarning), nothing, func(*rows.Row, int, *value) {})},
	{"collective.name", ofCollective(text, func(r *rows.Row, v *value) { r.Collective.Name = v.text })},
	{"collective.group", ofCollective(text, func(r *rows.Row, v *value) { r.Collective.Group = v.text })},
	{"collective.group_size", ofCollective(anyInteger, func(r *rows.Row, v *value) { r.Collective.GroupSize = v.int() })},
	{"collective.sequence", ofCollective(anyInteger, func(r *rows.Row, v *value) { r.Collective.Sequence = v.int() })},
	{"collective.peer_rank", ofCollective(anyInteger, func(r *rows.Row, v *value) { r.Collective.PeerRank = v.int() })},
	{"collective.in_elements", ofCollective(anyInteger, func(r *rows.Row, v *value) { r.Collective.InElements = v.int() })},
	{"collective.out_elements", ofCollective(anyInteger, func(r *rows.Row, v *value) { r.Collective.OutElements = v.int() })},
	{"name", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.More().Span.Name = v.text })},
	{"parent_remote", one(op.WarnBadValue, flag, func(r *rows.Row, v *value) { r.More().Span.RemoteParent = v.number != 0 })},
	{"world_size", one(op.WarnBadValue, amount, func(r *rows.Row, v *value) { r.More().Resource.WorldSize = v.int() })},
	{"gap.dropped", one(op.WarnBadValue, amount, func(r *rows.Row, v *value) { r.More().Gap.Dropped = v.number })},
	{"gap.reason", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.More().Gap.Reason = v.text })},
	{"batch.writer", one(op.WarnBadValue, text, func(r *rows.Row, v *value) { r.More().Batch.Writer = v.text })},
	{"batch.seq", one(op.WarnBadValue, amount, func(r *rows.Row, v *value) { r.More().Batch.Sequence = v.number })},
	{"links.trace_id", many(traceID, nothing, addLink)},
	{"links.span_id", many(spanID(false), nothing, setLinkSpan)},
	{"links.weight", many(amount, nothing, setLinkWeight)},
	{"extra", one(0, text, func(r *rows.Row, v *value) { r.Rest = v.text })},
	{"batch.entries", one(op.WarnBadValue, amount, func(r *rows.Row, v *value) { r.More().Batch.Entries = v.number })},
}

var anyInteger, amount = integer(math.MinInt64, op.WarnBadValue), integer(0, op.WarnBadValue)

type translate = func(c *column, v lib.Value, to *value)

// one reads a column that holds one value per row. A list in its place is a wrong value.
func one(wrong op.Warning, t translate, set func(*rows.Row, *value)) func(*leaf) use {
	return func(l *leaf) use {
		if l.maxRep > 0 {
			return passing(wrong)
		}
		return use{translate: t, set: set}
	}
}

// many reads a column that holds a list per row. empty is called for a list without
// elements.
func many(t translate, empty func(*rows.Row), add func(r *rows.Row, i int, v *value)) func(*leaf) use {
	return func(l *leaf) use {
		if l.maxRep != 1 {
			return passing(op.WarnBadValue)
		}
		return use{translate: t, list: func(_ *column, r *rows.Row, cells []cell) {
			if cells[0].def == l.lists[0]-1 {
				empty(r)
			}
			if cells[0].def < l.lists[0] {
				return
			}
			for i, p := range cells {
				if p.v == nil {
					p.v = &null
				}
				r.Warn |= p.v.warning
				add(r, i, p.v)
			}
		}}
	}
}

var null value

func nothing(*rows.Row) {}

// passing reads nothing of a column of a form that cannot be used: values that are not
// null bring a warning.
func passing(wrong op.Warning) use {
	return use{
		translate: func(*column, lib.Value, *value) {},
		list: func(_ *column, r *rows.Row, cells []cell) {
			if cells[0].def > 0 {
				r.Warn |= wrong
			}
		},
	}
}

// ofCollective reads a column of the group of a collective, where a value that is null
// still tells that there is one.
func ofCollective(t translate, set func(*rows.Row, *value)) func(*leaf) use {
	return func(l *leaf) use {
		return use{translate: t, list: func(_ *column, r *rows.Row, cells []cell) {
			p := cells[0]
			if p.def > 0 || l.maxDef == 0 {
				r.Collective = &r.More().Collective
			}
			switch {
			case l.maxRep > 0 && p.def > 0:
				r.Warn |= op.WarnBadValue
			case l.maxRep == 0 && p.v != nil:
				if p.v.ok {
					set(r, p.v)
				}
				r.Warn |= p.v.warning
			}
		}}
	}
}

// maxAttrs bounds the attributes of a row. The SDK's limit is a fraction of it.
const maxAttrs = 1024

// appendPart appends the i-th part of a list of a row to what the batch holds of them, and
// returns the list, unless there are most parts already, which is a warning.
func appendPart[T any](r *rows.Row, all *[]T, list []T, i, most int, part T, warning op.Warning) []T {
	if i >= most {
		r.Warn |= warning
		return list
	}
	*all = append(*all, part)
	return (*all)[len(*all)-i-1 : len(*all) : len(*all)]
}

func addInputDType(r *rows.Row, i int, v *value) {
	t, _ := v.named.(op.DType)
	r.InputDTypes = appendPart(r, &r.Batch.DTypes, r.InputDTypes, i, op.MaxInputs, t, op.WarnShapeTruncated)
}

func addAttr(r *rows.Row, i int, v *value) {
	r.Attrs = appendPart(r, &r.Batch.Attrs, r.Attrs, i, maxAttrs, op.Attr{Key: v.text}, op.WarnBadValue)
}

func setAttr(r *rows.Row, i int, v *value) {
	if i < len(r.Attrs) {
		r.Attrs[i].Value = v.text
	}
}

func addLink(r *rows.Row, i int, v *value) {
	r.Links = appendPart(r, &r.Batch.Links, r.Links, i, op.MaxLinks, op.Link{TraceID: v.id}, op.WarnDroppedLinks)
}

func setLinkSpan(r *rows.Row, i int, v *value) {
	if i < len(r.Links) {
		r.Links[i].SpanID = v.spanID()
	}
}

func setLinkWeight(r *rows.Row, i int, v *value) {
	if i < len(r.Links) {
		r.Links[i].Weight = v.int()
	}
}
