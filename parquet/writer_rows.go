package parquet

import (
	"github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/op"
)

// record sets the column that tells what the row is: "entry", "span",
// "resource", "gap" or "batch".
func (b *rowBuffer) record(name string) { b.add(colRecord, b.bytes(name), 0, 0) }

func (b *rowBuffer) entry(e *op.Entry) {
	b.record("entry")
	b.int(colStep, e.Step)
	b.str(colOperation, e.Operation)
	b.str(colDeviceID, e.DeviceID)
	b.shapes(colInputShapes, e.InputShapes)
	b.shape(colOutputShape, e.OutputShape)
	b.int(colDuration, op.Known(e.Duration))
	b.int(colOutputElements, e.OutputElements)
	b.int(colMemoryBytes, e.MemoryBytes)
	b.str(colKind, e.Kind.String())
	b.str(colKindRule, e.KindRule.String())
	b.str(colDType, string(e.DType))
	b.int(colStart, e.Start)
	b.int(colLaunch, e.Launch)
	b.int(colStream, e.Stream)
	b.int(colRank, e.Rank)
	b.int(colFLOPs, e.FLOPs)
	b.ids(e.TraceID, e.SpanID, e.ParentSpanID)
	b.str(colRoot, e.Root)
	b.id(colRootSpanID, e.RootSpanID[:])
	b.str(colService, e.Service)
	b.str(colScope, e.Scope)
	b.str(colPath, e.Path)
	b.dtypes(colInputDTypes, e.InputDTypes)
	b.str(colSide, e.Side.String())
	b.bool(colFailed, e.Failed)
	b.str(colError, e.Error)
	if e.AdjustedCount != 0 {
		b.add(colAdjustedCount, parquet.DoubleValue(e.AdjustedCount), 0, given)
	}
	b.int(colDroppedAttributes, op.Known(e.DroppedAttributes))
	b.attrs(e.Attrs)
	b.links(e.Links)
	b.extra(e.Attrs, e.Links, e.Extra)
	b.warnings(e.Warn)
	if e.Collective != nil {
		b.collective(e.Collective)
	}
	b.end()
}

func (b *rowBuffer) ids(trace op.TraceID, span, parent op.SpanID) {
	b.id(colTraceID, trace[:])
	b.id(colSpanID, span[:])
	b.id(colParentSpanID, parent[:])
}

// collective sets the columns of the group. Those that are null still tell
// that there is one.
func (b *rowBuffer) collective(c *op.Collective) {
	b.strAt(colCollectiveName, c.Name, givenInGroup)
	b.strAt(colCollectiveGroup, c.Group, givenInGroup)
	b.intAt(colCollectiveGroupSize, c.GroupSize, givenInGroup)
	b.intAt(colCollectiveSequence, c.Sequence, givenInGroup)
	b.intAt(colCollectivePeerRank, c.PeerRank, givenInGroup)
	b.intAt(colCollectiveInElements, c.InElements, givenInGroup)
	b.intAt(colCollectiveOutElements, c.OutElements, givenInGroup)
	for col := colCollectiveName; col <= colCollectiveOutElements; col++ {
		b.nullInGroup(col)
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
	b.str(colName, s.Name)
	b.ids(s.TraceID, s.SpanID, s.ParentSpanID)
	b.bool(colParentRemote, s.RemoteParent)
	b.int(colStart, s.Start)
	b.int(colDuration, op.Known(s.Duration))
	b.str(colService, s.Service)
	b.bool(colFailed, s.Failed)
	b.attrs(s.Attrs)
	b.links(s.Links)
	b.extra(s.Attrs, s.Links, s.Extra)
	b.end()
}

func (b *rowBuffer) resource(r *op.Resource) {
	b.record("resource")
	b.str(colService, r.Service)
	b.int(colRank, r.Rank)
	b.int(colWorldSize, r.WorldSize)
	b.attrs(r.Attrs)
	b.extra(r.Attrs, nil, nil)
	b.end()
}

func (b *rowBuffer) gap(g *op.Gap) {
	b.record("gap")
	b.add(colGapDropped, parquet.Int64Value(g.Dropped), 0, given)
	b.strAt(colGapReason, g.Reason, givenInGroup)
	b.nullInGroup(colGapReason)
	b.end()
}

func (b *rowBuffer) batch(batch *op.Batch) {
	b.record("batch")
	b.add(colBatchWriter, b.bytes(batch.Writer), 0, given)
	b.add(colBatchSequence, parquet.Int64Value(batch.Sequence), 0, given)
	b.add(colBatchEntries, parquet.Int64Value(batch.Entries), 0, given)
	b.end()
}
