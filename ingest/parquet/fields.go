package parquet

import (
	"math"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// field is what a column of the table means.
type field struct {
	// column is its name, or for a part of a group the path to it. Lists and maps
	// go by their own name, whatever the groups in them are called.
	column string
	// reader returns what reads a column of the form that the file gives it.
	reader func(c *column) reader
}

// fields lists the columns that are known, as render/parquet documents them. A
// file may have any of them, in any order and beside others.
var fields = []field{
	{"record", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.Record = s })},
	{"step", one(op.WarnBadValue, integer(math.MinInt64, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.Step = n })},
	{"operation", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.Operation = s })},
	{"device_id", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.DeviceID = s })},
	{"input_shapes", inputShapes},
	{"output_shape", outputShape},
	{"duration_ns", one(op.WarnBadValue, nanos(op.WarnBadValue), func(r *rows.Row, n op.Int) {
		r.Duration, r.DurationFrom = n.V, rows.DurationNanos
	})},
	{"duration_us", one(op.WarnBadValue, micros, func(r *rows.Row, ns int64) {
		if r.DurationFrom < rows.DurationMicros {
			r.Duration, r.DurationFrom = ns, rows.DurationMicros
		}
	})},
	{"output_elements", one(op.WarnBadValue, integer(0, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.OutputElements = n })},
	{"memory_bytes", one(op.WarnBadMemory, integer(0, op.WarnBadMemory), func(r *rows.Row, n op.Int) { r.MemoryBytes = n })},
	{"kind", one(op.WarnBadValue, named(rows.ParseKind), func(r *rows.Row, k op.Kind) { r.Kind = k })},
	{"kind_rule", one(op.WarnBadValue, named(rows.ParseKindRule), func(r *rows.Row, k rows.KindRule) {
		r.KindRule, r.HasRule = k.Rule, k.Known
	})},
	{"dtype", one(op.WarnBadValue, named(rows.ParseDType), func(r *rows.Row, t op.DType) { r.DType = t })},
	{"start_unix_ns", one(op.WarnBadTime, nanos(op.WarnBadTime), func(r *rows.Row, n op.Int) { r.Start = n })},
	{"launch_unix_ns", one(op.WarnBadTime, nanos(op.WarnBadTime), func(r *rows.Row, n op.Int) { r.Launch = n })},
	{"stream", one(op.WarnBadValue, integer(math.MinInt64, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.Stream = n })},
	{"rank", one(op.WarnBadValue, integer(0, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.Rank = n })},
	{"flops", one(op.WarnBadValue, integer(0, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.FLOPs = n })},
	{"trace_id", one(op.WarnBadID, traceID, func(r *rows.Row, id op.TraceID) { r.TraceID = id })},
	{"span_id", one(op.WarnBadID, spanID(false), func(r *rows.Row, id op.SpanID) { r.SpanID = id })},
	{"parent_span_id", one(op.WarnBadID, spanID(true), func(r *rows.Row, id op.SpanID) { r.ParentSpanID = id })},
	{"root", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.Root = s })},
	{"root_span_id", one(op.WarnBadID, spanID(true), func(r *rows.Row, id op.SpanID) { r.RootSpanID = id })},
	{"service", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.Service = s })},
	{"scope", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.Scope = s })},
	{"path", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.Path = s })},
	{"input_dtypes", many(named(rows.ParseInputDType), func(r *rows.Row) { r.InputDTypes = []op.DType{} }, addInputDType)},
	{"side", one(op.WarnBadValue, named(rows.ParseSide), func(r *rows.Row, s op.Side) { r.Side = s })},
	{"failed", one(op.WarnBadValue, flag, func(r *rows.Row, failed bool) { r.StatedFailed = failed })},
	{"error", one(op.WarnBadValue, failureOf, func(r *rows.Row, f failure) { r.Error, r.Failed = f.text, f.failed })},
	{"adjusted_count", one(op.WarnBadValue, adjustedCount, func(r *rows.Row, f float64) { r.AdjustedCount = f })},
	{"dropped_attributes", one(op.WarnBadValue, integer(0, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.DroppedAttributes = n.V })},
	{"attrs.key", many(text, nothing, addAttr)},
	{"attrs.value", many(text, nothing, setAttr)},
	{"warn", many(named(rows.ParseWarning), nothing, func(*rows.Row, int, op.Warning) {})},
	{"collective.name", ofCollective(text, func(c *op.Collective, s string) { c.Name = s })},
	{"collective.group", ofCollective(text, func(c *op.Collective, s string) { c.Group = s })},
	{"collective.group_size", ofCollective(integer(math.MinInt64, op.WarnBadValue), func(c *op.Collective, n op.Int) { c.GroupSize = n })},
	{"collective.sequence", ofCollective(integer(math.MinInt64, op.WarnBadValue), func(c *op.Collective, n op.Int) { c.Sequence = n })},
	{"collective.peer_rank", ofCollective(integer(math.MinInt64, op.WarnBadValue), func(c *op.Collective, n op.Int) { c.PeerRank = n })},
	{"collective.in_elements", ofCollective(integer(math.MinInt64, op.WarnBadValue), func(c *op.Collective, n op.Int) { c.InElements = n })},
	{"collective.out_elements", ofCollective(integer(math.MinInt64, op.WarnBadValue), func(c *op.Collective, n op.Int) { c.OutElements = n })},
	{"name", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.More().Span.Name = s })},
	{"parent_remote", one(op.WarnBadValue, flag, func(r *rows.Row, remote bool) { r.More().Span.RemoteParent = remote })},
	{"world_size", one(op.WarnBadValue, integer(0, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.More().Resource.WorldSize = n })},
	{"gap.dropped", one(op.WarnBadValue, integer(0, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.More().Gap.Dropped = n.V })},
	{"gap.reason", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.More().Gap.Reason = s })},
	{"batch.writer", one(op.WarnBadValue, text, func(r *rows.Row, s string) { r.More().Batch.Writer = s })},
	{"batch.seq", one(op.WarnBadValue, integer(0, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.More().Batch.Sequence = n.V })},
	{"links.trace_id", many(traceID, nothing, addLink)},
	{"links.span_id", many(spanID(false), nothing, setLinkSpan)},
	{"links.weight", many(integer(0, op.WarnBadValue), nothing, setLinkWeight)},
	{"extra", one(0, text, func(r *rows.Row, s string) { r.Rest = s })},
	{"batch.entries", one(op.WarnBadValue, integer(0, op.WarnBadValue), func(r *rows.Row, n op.Int) { r.More().Batch.Entries = n.V })},
}

// one reads a column that holds one value per row. A list in its place is a
// wrong value.
func one[T any](wrong op.Warning, t translate[T], set func(*rows.Row, T)) func(*column) reader {
	return func(c *column) reader {
		if c.leaf.maxRep > 0 {
			return passing(wrong)
		}
		return &single[T]{translator[T]{translate: t}, set}
	}
}

// many reads a column that holds a list per row.
func many[T any](t translate[T], empty func(*rows.Row), element func(r *rows.Row, i int, v T)) func(*column) reader {
	return func(c *column) reader {
		if c.leaf.maxRep != 1 {
			return passing(op.WarnBadValue)
		}
		return newList(t, &eachSink[T]{listDef: c.leaf.lists[0], empty: empty, element: element})
	}
}

func newList[T any](t translate[T], to sink[T]) reader {
	return &list[T]{translator[T]{translate: t}, to}
}

func nothing(*rows.Row) {}

func addInputDType(r *rows.Row, i int, t op.DType) {
	if i >= op.MaxInputs {
		r.Warn |= op.WarnShapeTruncated
		return
	}
	b := r.Batch
	b.DTypes = append(b.DTypes, t)
	r.InputDTypes = b.DTypes[len(b.DTypes)-i-1 : len(b.DTypes) : len(b.DTypes)]
}

// maxAttrs bounds the attributes of a row. The SDK's limit is a fraction of it.
const maxAttrs = 1024

func addAttr(r *rows.Row, i int, key string) {
	if i >= maxAttrs {
		r.Warn |= op.WarnBadValue
		return
	}
	b := r.Batch
	b.Attrs = append(b.Attrs, op.Attr{Key: key})
	r.Attrs = b.Attrs[len(b.Attrs)-i-1 : len(b.Attrs) : len(b.Attrs)]
}

func setAttr(r *rows.Row, i int, value string) {
	if i < len(r.Attrs) {
		r.Attrs[i].Value = value
	}
}

func addLink(r *rows.Row, i int, id op.TraceID) {
	if i >= op.MaxLinks {
		r.Warn |= op.WarnDroppedLinks
		return
	}
	b := r.Batch
	b.Links = append(b.Links, op.Link{TraceID: id})
	r.Links = b.Links[len(b.Links)-i-1 : len(b.Links) : len(b.Links)]
}

func setLinkSpan(r *rows.Row, i int, id op.SpanID) {
	if i < len(r.Links) {
		r.Links[i].SpanID = id
	}
}

func setLinkWeight(r *rows.Row, i int, n op.Int) {
	if i < len(r.Links) {
		r.Links[i].Weight = n
	}
}

// ofCollective reads a column of the group of a collective, where a value that
// is null still tells that there is one.
func ofCollective[T any](t translate[T], set func(*op.Collective, T)) func(*column) reader {
	return func(c *column) reader {
		to := &collectiveSink[T]{maxDef: c.leaf.maxDef, set: set}
		if c.leaf.maxRep > 0 {
			to.wrong = op.WarnBadValue
		}
		return newList(t, to)
	}
}

// inputShapes reads a list of lists of dimensions, a list of shapes as text, or
// one text for all.
func inputShapes(c *column) reader {
	switch {
	case c.leaf.maxRep == 2:
		return newList(integer(op.Dynamic, 0), &shapesSink{shapeSink: shapeSink{Batch: c.batch, lists: c.leaf.lists}})
	case c.leaf.maxRep > 2 || !c.leaf.isText():
		return passing(op.WarnBadShape)
	case c.leaf.maxRep == 1:
		return newList(text, &shapeTextsSink{texts: c.texts, listDef: c.leaf.lists[0]})
	}
	return one(op.WarnBadShape, parseShapes, func(r *rows.Row, s []op.Shape) { r.InputShapes = s })(c)
}

// outputShape reads a list of dimensions, or a shape as text.
func outputShape(c *column) reader {
	if c.leaf.maxRep == 1 {
		return newList(integer(op.Dynamic, 0), &shapeSink{Batch: c.batch, lists: c.leaf.lists})
	}
	return one(op.WarnBadShape, named(rows.ParseShape), func(r *rows.Row, s rows.ShapeText) { r.OutputShape, r.OutputCut = s.Shape, s.Cut })(c)
}

// passing reads nothing of a column of a form that cannot be used: values that
// are not null bring a warning.
func passing(wrong op.Warning) reader {
	return newList(func(*column, value) (struct{}, op.Warning, bool) { return struct{}{}, 0, false }, passingSink(wrong))
}
