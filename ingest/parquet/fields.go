package parquet

import (
	"math"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// field is what a column of the table means.
type field struct {
	// column is its name, or for a part of a group the path to it. Lists and maps
	// go by their own name, whatever the groups in them are called.
	column string
	// read reads the value that c is at into the row, and passes over the rest
	// of the row's values.
	read func(r *row, c *cursor) error
}

// fields lists the columns that are known, as render/parquet documents them. A
// file may have any of them, in any order and beside others.
func fields() []field {
	return []field{
		{"record", func(r *row, c *cursor) (err error) { r.record, err = r.str(c); return err }},
		{"step", func(r *row, c *cursor) (err error) { r.entry.Step, err = r.integer(c, op.WarnBadValue); return err }},
		{"operation", func(r *row, c *cursor) (err error) { r.entry.Operation, err = r.str(c); return err }},
		{"device_id", func(r *row, c *cursor) (err error) { r.entry.DeviceID, err = r.str(c); return err }},
		{"input_shapes", func(r *row, c *cursor) (err error) { r.entry.InputShapes, err = r.shapes(c); return err }},
		{"output_shape", func(r *row, c *cursor) (err error) {
			r.entry.OutputShape, r.has.outputCut, err = r.shape(c)
			return err
		}},
		{"duration_ns", (*row).readDurationNanos},
		{"duration_us", (*row).readDurationMicros},
		{"output_elements", func(r *row, c *cursor) (err error) {
			r.entry.OutputElements, err = r.amount(c, op.WarnBadValue)
			return err
		}},
		{"memory_bytes", func(r *row, c *cursor) (err error) {
			r.entry.MemoryBytes, err = r.amount(c, op.WarnBadMemory)
			return err
		}},
		{"kind", (*row).readKind},
		{"kind_rule", (*row).readKindRule},
		{"dtype", (*row).readDType},
		{"start_unix_ns", func(r *row, c *cursor) (err error) { r.entry.Start, err = r.nanos(c, op.WarnBadTime); return err }},
		{"launch_unix_ns", func(r *row, c *cursor) (err error) { r.entry.Launch, err = r.nanos(c, op.WarnBadTime); return err }},
		{"stream", func(r *row, c *cursor) (err error) { r.entry.Stream, err = r.integer(c, op.WarnBadValue); return err }},
		{"rank", func(r *row, c *cursor) (err error) { r.entry.Rank, err = r.amount(c, op.WarnBadValue); return err }},
		{"flops", func(r *row, c *cursor) (err error) { r.entry.FLOPs, err = r.amount(c, op.WarnBadValue); return err }},
		{"trace_id", func(r *row, c *cursor) (err error) { r.entry.TraceID, err = r.traceID(c); return err }},
		{"span_id", func(r *row, c *cursor) (err error) { r.entry.SpanID, err = r.spanID(c, false); return err }},
		{"parent_span_id", func(r *row, c *cursor) (err error) { r.entry.ParentSpanID, err = r.spanID(c, true); return err }},
		{"root", func(r *row, c *cursor) (err error) { r.entry.Root, err = r.str(c); return err }},
		{"root_span_id", func(r *row, c *cursor) (err error) { r.entry.RootSpanID, err = r.spanID(c, true); return err }},
		{"service", func(r *row, c *cursor) (err error) { r.entry.Service, err = r.str(c); return err }},
		{"scope", func(r *row, c *cursor) (err error) { r.entry.Scope, err = r.str(c); return err }},
		{"path", func(r *row, c *cursor) (err error) { r.entry.Path, err = r.str(c); return err }},
		{"input_dtypes", func(r *row, c *cursor) (err error) { r.entry.InputDTypes, err = r.inputDTypes(c); return err }},
		{"side", (*row).readSide},
		{"failed", func(r *row, c *cursor) (err error) { r.failed, err = r.flag(c); return err }},
		{"error", (*row).readError},
		{"adjusted_count", (*row).readAdjustedCount},
		{"dropped_attributes", func(r *row, c *cursor) error {
			n, err := r.amount(c, op.WarnBadValue)
			r.entry.DroppedAttributes = n.V
			return err
		}},
		{"attrs.key", (*row).attrKeys},
		{"attrs.value", (*row).attrValues},
		{"warn", (*row).warnings},
		{"collective.name", inCollective(func(r *row, c *cursor) (err error) { r.coll.Name, err = r.str(c); return err })},
		{"collective.group", inCollective(func(r *row, c *cursor) (err error) { r.coll.Group, err = r.str(c); return err })},
		{"collective.group_size", collectiveInt(func(r *row) *op.Int { return &r.coll.GroupSize })},
		{"collective.sequence", collectiveInt(func(r *row) *op.Int { return &r.coll.Sequence })},
		{"collective.peer_rank", collectiveInt(func(r *row) *op.Int { return &r.coll.PeerRank })},
		{"collective.in_elements", collectiveInt(func(r *row) *op.Int { return &r.coll.InElements })},
		{"collective.out_elements", collectiveInt(func(r *row) *op.Int { return &r.coll.OutElements })},
		{"name", func(r *row, c *cursor) (err error) { r.span.Name, err = r.str(c); return err }},
		{"parent_remote", func(r *row, c *cursor) (err error) { r.span.RemoteParent, err = r.flag(c); return err }},
		{"world_size", func(r *row, c *cursor) (err error) {
			r.resource.WorldSize, err = r.amount(c, op.WarnBadValue)
			return err
		}},
		{"gap.dropped", count(func(r *row) *int64 { return &r.gap.Dropped })},
		{"gap.reason", func(r *row, c *cursor) (err error) { r.gap.Reason, err = r.str(c); return err }},
		{"batch.writer", func(r *row, c *cursor) (err error) { r.batch.Writer, err = r.str(c); return err }},
		{"batch.seq", count(func(r *row) *int64 { return &r.batch.Sequence })},
		{"batch.entries", count(func(r *row) *int64 { return &r.batch.Entries })},
	}
}

// inCollective marks the row as one of a collective where the group around the
// column is not null.
func inCollective(read func(r *row, c *cursor) error) func(r *row, c *cursor) error {
	return func(r *row, c *cursor) error {
		if c.nextDef > 0 || c.leaf.maxDef == 0 {
			r.has.collective = true
		}
		return read(r, c)
	}
}

func collectiveInt(to func(r *row) *op.Int) func(r *row, c *cursor) error {
	return inCollective(func(r *row, c *cursor) (err error) {
		*to(r), err = r.integer(c, op.WarnBadValue)
		return err
	})
}

func count(to func(r *row) *int64) func(r *row, c *cursor) error {
	return func(r *row, c *cursor) error {
		n, err := r.amount(c, op.WarnBadValue)
		*to(r) = n.V
		return err
	}
}

func (r *row) readDurationNanos(c *cursor) error {
	n, err := r.nanos(c, op.WarnBadValue)
	if n.Known {
		r.entry.Duration, r.has.duration = n.V, durationNanos
	}
	return err
}

// readDurationMicros reads the duration of the seed's recorder. It yields to
// duration_ns.
func (r *row) readDurationMicros(c *cursor) error {
	v, err := r.one(c, op.WarnBadValue)
	if v == nil || err != nil {
		return err
	}
	ns, ok := int64(0), false
	switch c.leaf.typ {
	case physBytes:
		ns, ok = jsontext.ParseMicros(v.b)
	case physFloat, physDouble:
		const maxMicros = math.MaxInt64 / 1000
		if ok = math.Abs(v.f) < maxMicros; ok {
			ns = int64(math.Round(v.f * 1000))
		}
	default:
		if ns, ok = c.leaf.integer(v); ok {
			ok = math.MinInt64/1000 <= ns && ns <= math.MaxInt64/1000
			ns *= 1000
		}
	}
	switch {
	case !ok:
		r.warn(op.WarnBadValue)
	case r.has.duration < durationMicros:
		r.entry.Duration, r.has.duration = ns, durationMicros
	}
	return nil
}

func (r *row) readKind(c *cursor) error {
	name, err := r.str(c)
	k, ok := op.ParseKind(name)
	if !ok && name != "" {
		r.warn(op.WarnBadValue)
	}
	r.entry.Kind = k
	return err
}

func (r *row) readKindRule(c *cursor) error {
	name, err := r.str(c)
	for rule := op.RuleAttribute; rule <= op.RuleDefault; rule++ {
		if rule.String() == name {
			r.entry.KindRule, r.has.rule = rule, true
		}
	}
	return err
}

func (r *row) readDType(c *cursor) error {
	s, err := r.str(c)
	t, ok := op.ParseDType(s)
	if !ok && s != "" {
		r.warn(op.WarnUnknownDType)
	}
	r.entry.DType = t
	return err
}

func (r *row) readSide(c *cursor) error {
	s, err := r.str(c)
	switch s {
	case "":
	case op.SideHost.String():
		r.entry.Side = op.SideHost
	default:
		r.warn(op.WarnBadValue)
	}
	return err
}

// readError reads the description of an error. Where it is not null, though
// empty, the operation failed.
func (r *row) readError(c *cursor) error {
	given := c.nextDef == c.leaf.maxDef && c.leaf.maxDef > 0
	s, err := r.str(c)
	r.entry.Error = s
	r.entry.Failed = given || s != ""
	return err
}

func (r *row) readAdjustedCount(c *cursor) error {
	f, ok, err := r.number(c)
	switch {
	case !ok:
	case !(f >= 1) || math.IsInf(f, 1):
		r.warn(op.WarnBadValue)
	default:
		r.entry.AdjustedCount = f
	}
	return err
}
