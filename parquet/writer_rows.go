package parquet

import (
	"github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/op"
)

// record sets the column that tells what the row is: "entry", "span",
// "resource", "gap" or "batch".
func (b *rowBuffer) record(name string) { b.add(b.leaves.record, b.bytes(name), 0, 0) }

func (b *rowBuffer) entry(e *op.Entry) {
	b.record("entry")
	for _, c := range b.leaves.entry {
		switch at := c.At.(type) {
		case func(*op.Entry) *op.Shape:
			b.shape(c.leaf, *at(e))
		case func(*op.Entry) *[]op.Shape:
			b.shapes(c.leaf, *at(e))
		case func(*op.Entry) *[]op.DType:
			b.dtypes(c.leaf, *at(e))
		case func(*op.Entry) *op.Warning:
			b.warnings(c.leaf, *at(e))
		case func(*op.Entry) **op.Collective:
			b.collective(c.leaf, *at(e))
		default:
			set(b, c.leaf, c.Column, e, given)
		}
	}
	b.bool(b.leaves.failed, e.Failed)
	b.attrs(e.Attrs)
	b.links(e.Links)
	b.extra(e.Attrs, e.Links, e.Extra)
	b.end()
}

// set sets the column of a field that is an integer, a text, a name, an id or a number, at a definition
// level, unless it is not known.
func set[T any](b *rowBuffer, col int, c *op.Column[T], v *T, def int) {
	switch at := c.At.(type) {
	case func(*T) *op.Int:
		b.intAt(col, *at(v), def)
	case func(*T) *string:
		b.strAt(col, *at(v), def)
	case func(*T) op.Name:
		b.strAt(col, at(v).String(), def)
	case func(*T) []byte:
		b.id(col, at(v))
	case func(*T) *int64:
		b.intAt(col, op.Known(*at(v)), def)
	case func(*T) *float64:
		if f := *at(v); f != 0 {
			b.add(col, parquet.DoubleValue(f), 0, def)
		}
	}
}

// collective sets the columns of the group, from first on, unless c is nil. Those that are null still tell
// that there is one.
func (b *rowBuffer) collective(first int, c *op.Collective) {
	if c == nil {
		return
	}
	for i := range op.CollectiveColumns {
		set(b, first+i, &op.CollectiveColumns[i], c, givenInGroup)
		b.nullInGroup(first + i)
	}
}

// nullInGroup makes a column null in a group that is not, unless the row has
// set it.
func (b *rowBuffer) nullInGroup(col int) {
	if b.columns[col].rows == b.rows {
		b.add(col, parquet.NullValue(), 0, given)
	}
}

func (b *rowBuffer) span(s *op.Span) {
	b.record("span")
	e := op.Entry{
		TraceID: s.TraceID, SpanID: s.SpanID, ParentSpanID: s.ParentSpanID, Start: s.Start, Duration: s.Duration, Service: s.Service,
	}
	for _, c := range b.leaves.span {
		set(b, c.leaf, c.Column, &e, given)
	}
	b.strAt(b.leaves.name, s.Name, given)
	b.bool(b.leaves.parentRemote, s.RemoteParent)
	b.bool(b.leaves.failed, s.Failed)
	b.attrs(s.Attrs)
	b.links(s.Links)
	b.extra(s.Attrs, s.Links, s.Extra)
	b.end()
}

func (b *rowBuffer) resource(r *op.Resource) {
	b.record("resource")
	e := op.Entry{Service: r.Service, Rank: r.Rank}
	for _, c := range b.leaves.resource {
		set(b, c.leaf, c.Column, &e, given)
	}
	b.intAt(b.leaves.worldSize, r.WorldSize, given)
	b.attrs(r.Attrs)
	b.extra(r.Attrs, nil, nil)
	b.end()
}

func (b *rowBuffer) gap(g *op.Gap) {
	dropped, reason := b.leaves.gap, b.leaves.gap+1
	b.record("gap")
	b.add(dropped, parquet.Int64Value(g.Dropped), 0, given)
	b.strAt(reason, g.Reason, givenInGroup)
	b.nullInGroup(reason)
	b.end()
}

func (b *rowBuffer) batch(batch *op.Batch) {
	first := b.leaves.batch
	b.record("batch")
	b.add(first, b.bytes(batch.Writer), 0, given)
	b.add(first+1, parquet.Int64Value(batch.Sequence), 0, given)
	b.add(first+2, parquet.Int64Value(batch.Entries), 0, given)
	b.end()
}
