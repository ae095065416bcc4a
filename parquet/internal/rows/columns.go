package rows

import (
	"math"

	"github.com/optrace/optrace/op"
)

// Column is a column of the table.
type Column struct {
	// Name is its name, or for a part of a group the path to it. Lists and maps go by
	// their own name, whatever the groups in them are called.
	Name string
	// Use returns how a column of the form that the file gives it is read.
	Use func(f *Form) Use
}

// Form is what a file says of a column, in the terms of Parquet.
type Form struct {
	// Text tells that the values are texts or bytes, and Unit, if not 0, that they are
	// times, and what they count, in nanoseconds.
	Text bool
	Unit int64
	// MaxDef is the definition level of a value, and MaxRep the repetition level
	// of the innermost list.
	MaxDef, MaxRep int32
	// Lists holds, for each list around the value, the definition level at
	// which it has an element.
	Lists []int32
}

// Use is how a column is read.
type Use struct {
	// Translate tells what a value means. It does not depend on the row.
	Translate func(b *Batch, f *Form, v Value, to *Meaning)
	// Set takes the value of a row that has one, where a row has one at most, and List
	// all cells of a row. One of them is not nil.
	Set  func(r *Row, m *Meaning)
	List func(r *Row, cells []Cell)
}

// Cell is a place of a row in a column, at a repetition and a definition level, which tell
// what list it goes on with and how much of the path to a value is there. Value is nil
// where there is none.
type Cell struct {
	Rep, Def int32
	Value    *Meaning
}

// MaxCells is how many cells of a row have to be handed out.
const MaxCells = op.MaxInputs * op.MaxRank

// Columns lists the columns that are known, as package parquet documents them. A file may
// have any of them, in any order and beside others; they are read in this order.
var Columns = []Column{
	{"record", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.Record = m.text })},
	{"step", one(op.WarnBadValue, anyInteger, func(r *Row, m *Meaning) { r.Step = m.int() })},
	{"operation", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.Operation = m.text })},
	{"device_id", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.DeviceID = m.text })},
	{"input_shapes", inputShapes},
	{"output_shape", outputShape},
	{"duration_ns", one(op.WarnBadValue, nanos(op.WarnBadValue), func(r *Row, m *Meaning) {
		r.Duration, r.DurationFrom = m.number, DurationNanos
	})},
	{"duration_us", one(op.WarnBadValue, micros, func(r *Row, m *Meaning) {
		if r.DurationFrom < DurationMicros {
			r.Duration, r.DurationFrom = m.number, DurationMicros
		}
	})},
	{"output_elements", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.OutputElements = m.int() })},
	{"memory_bytes", one(op.WarnBadMemory, integer(0, op.WarnBadMemory), func(r *Row, m *Meaning) { r.MemoryBytes = m.int() })},
	{"kind", one(op.WarnBadValue, named(ParseKind), func(r *Row, m *Meaning) { r.Kind = m.named.(op.Kind) })},
	{"kind_rule", one(op.WarnBadValue, named(ParseKindRule), func(r *Row, m *Meaning) {
		k := m.named.(KindRule)
		r.KindRule, r.HasRule = k.Rule, k.Known
	})},
	{"dtype", one(op.WarnBadValue, named(ParseDType), func(r *Row, m *Meaning) { r.DType = m.named.(op.DType) })},
	{"start_unix_ns", one(op.WarnBadTime, nanos(op.WarnBadTime), func(r *Row, m *Meaning) { r.Start = m.int() })},
	{"launch_unix_ns", one(op.WarnBadTime, nanos(op.WarnBadTime), func(r *Row, m *Meaning) { r.Launch = m.int() })},
	{"stream", one(op.WarnBadValue, anyInteger, func(r *Row, m *Meaning) { r.Stream = m.int() })},
	{"rank", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.Rank = m.int() })},
	{"flops", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.FLOPs = m.int() })},
	{"trace_id", one(op.WarnBadID, traceID, func(r *Row, m *Meaning) { r.TraceID = m.id })},
	{"span_id", one(op.WarnBadID, spanID(false), func(r *Row, m *Meaning) { r.SpanID = m.spanID() })},
	{"parent_span_id", one(op.WarnBadID, spanID(true), func(r *Row, m *Meaning) { r.ParentSpanID = m.spanID() })},
	{"root", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.Root = m.text })},
	{"root_span_id", one(op.WarnBadID, spanID(true), func(r *Row, m *Meaning) { r.RootSpanID = m.spanID() })},
	{"service", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.Service = m.text })},
	{"scope", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.Scope = m.text })},
	{"path", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.Path = m.text })},
	{"input_dtypes", many(named(ParseInputDType), func(r *Row) { r.InputDTypes = []op.DType{} }, addInputDType)},
	{"side", one(op.WarnBadValue, named(ParseSide), func(r *Row, m *Meaning) { r.Side = m.named.(op.Side) })},
	{"failed", one(op.WarnBadValue, flag, func(r *Row, m *Meaning) { r.StatedFailed = m.number != 0 })},
	{"error", one(op.WarnBadValue, failure, func(r *Row, m *Meaning) { r.Error, r.Failed = m.text, m.number != 0 })},
	{"adjusted_count", one(op.WarnBadValue, adjustedCount, func(r *Row, m *Meaning) { r.AdjustedCount = m.float })},
	{"dropped_attributes", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.DroppedAttributes = m.number })},
	{"attrs.key", many(text, nothing, addAttr)},
	{"attrs.value", many(text, nothing, setAttr)},
	{"warn", many(named(ParseWarning), nothing, func(*Row, int, *Meaning) {})},
	{"collective.name", ofCollective(text, func(r *Row, m *Meaning) { r.Collective.Name = m.text })},
	{"collective.group", ofCollective(text, func(r *Row, m *Meaning) { r.Collective.Group = m.text })},
	{"collective.group_size", ofCollective(anyInteger, func(r *Row, m *Meaning) { r.Collective.GroupSize = m.int() })},
	{"collective.sequence", ofCollective(anyInteger, func(r *Row, m *Meaning) { r.Collective.Sequence = m.int() })},
	{"collective.peer_rank", ofCollective(anyInteger, func(r *Row, m *Meaning) { r.Collective.PeerRank = m.int() })},
	{"collective.in_elements", ofCollective(anyInteger, func(r *Row, m *Meaning) { r.Collective.InElements = m.int() })},
	{"collective.out_elements", ofCollective(anyInteger, func(r *Row, m *Meaning) { r.Collective.OutElements = m.int() })},
	{"name", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.More().Span.Name = m.text })},
	{"parent_remote", one(op.WarnBadValue, flag, func(r *Row, m *Meaning) { r.More().Span.RemoteParent = m.number != 0 })},
	{"world_size", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.More().Resource.WorldSize = m.int() })},
	{"gap.dropped", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.More().Gap.Dropped = m.number })},
	{"gap.reason", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.More().Gap.Reason = m.text })},
	{"batch.writer", one(op.WarnBadValue, text, func(r *Row, m *Meaning) { r.More().Batch.Writer = m.text })},
	{"batch.seq", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.More().Batch.Sequence = m.number })},
	{"links.trace_id", many(traceID, nothing, addLink)},
	{"links.span_id", many(spanID(false), nothing, setLinkSpan)},
	{"links.weight", many(amount, nothing, setLinkWeight)},
	{"extra", one(0, text, func(r *Row, m *Meaning) { r.Rest = m.text })},
	{"batch.entries", one(op.WarnBadValue, amount, func(r *Row, m *Meaning) { r.More().Batch.Entries = m.number })},
}

var anyInteger, amount = integer(math.MinInt64, op.WarnBadValue), integer(0, op.WarnBadValue)

type translate = func(b *Batch, f *Form, v Value, to *Meaning)

// one reads a column that holds one value per row. A list in its place is a wrong value.
func one(wrong op.Warning, t translate, set func(*Row, *Meaning)) func(*Form) Use {
	return func(f *Form) Use {
		if f.MaxRep > 0 {
			return passing(wrong)
		}
		return Use{Translate: t, Set: set}
	}
}

// many reads a column that holds a list per row. empty is called for a list without
// elements.
func many(t translate, empty func(*Row), add func(r *Row, i int, m *Meaning)) func(*Form) Use {
	return func(f *Form) Use {
		if f.MaxRep != 1 {
			return passing(op.WarnBadValue)
		}
		return Use{Translate: t, List: func(r *Row, cells []Cell) {
			if cells[0].Def == f.Lists[0]-1 {
				empty(r)
			}
			if cells[0].Def < f.Lists[0] {
				return
			}
			for i, p := range cells {
				if p.Value == nil {
					p.Value = &null
				}
				r.Warn |= p.Value.warning
				add(r, i, p.Value)
			}
		}}
	}
}

var null Meaning

func nothing(*Row) {}

// passing reads nothing of a column of a form that cannot be used: values that are not
// null bring a warning.
func passing(wrong op.Warning) Use {
	return Use{
		Translate: func(*Batch, *Form, Value, *Meaning) {},
		List: func(r *Row, cells []Cell) {
			if cells[0].Def > 0 {
				r.Warn |= wrong
			}
		},
	}
}

// ofCollective reads a column of the group of a collective, where a value that is null
// still tells that there is one.
func ofCollective(t translate, set func(*Row, *Meaning)) func(*Form) Use {
	return func(f *Form) Use {
		return Use{Translate: t, List: func(r *Row, cells []Cell) {
			p := cells[0]
			if p.Def > 0 || f.MaxDef == 0 {
				r.Collective = &r.More().Collective
			}
			switch {
			case f.MaxRep > 0 && p.Def > 0:
				r.Warn |= op.WarnBadValue
			case f.MaxRep == 0 && p.Value != nil:
				if p.Value.ok {
					set(r, p.Value)
				}
				r.Warn |= p.Value.warning
			}
		}}
	}
}

// maxAttrs bounds the attributes of a row. The SDK's limit is a fraction of it.
const maxAttrs = 1024

// appendPart appends the i-th part of a list of a row to what the batch holds of them, and
// returns the list, unless there are most parts already, which is a warning.
func appendPart[T any](r *Row, all *[]T, list []T, i, most int, part T, warning op.Warning) []T {
	if i >= most {
		r.Warn |= warning
		return list
	}
	*all = append(*all, part)
	return (*all)[len(*all)-i-1 : len(*all) : len(*all)]
}

func addInputDType(r *Row, i int, m *Meaning) {
	t, _ := m.named.(op.DType)
	r.InputDTypes = appendPart(r, &r.Batch.DTypes, r.InputDTypes, i, op.MaxInputs, t, op.WarnShapeTruncated)
}

func addAttr(r *Row, i int, m *Meaning) {
	r.Attrs = appendPart(r, &r.Batch.Attrs, r.Attrs, i, maxAttrs, op.Attr{Key: m.text}, op.WarnBadValue)
}

func setAttr(r *Row, i int, m *Meaning) {
	if i < len(r.Attrs) {
		r.Attrs[i].Value = m.text
	}
}

func addLink(r *Row, i int, m *Meaning) {
	r.Links = appendPart(r, &r.Batch.Links, r.Links, i, op.MaxLinks, op.Link{TraceID: m.id}, op.WarnDroppedLinks)
}

func setLinkSpan(r *Row, i int, m *Meaning) {
	if i < len(r.Links) {
		r.Links[i].SpanID = m.spanID()
	}
}

func setLinkWeight(r *Row, i int, m *Meaning) {
	if i < len(r.Links) {
		r.Links[i].Weight = m.int()
	}
}
