package arrowtable

import (
	"math"

	"github.com/optrace/optrace/op"
)

// Builder collects records as rows of a batch. The zero value is not usable.
type Builder struct {
	rows    int
	columns [numColumns]*array      // those with values of their own
	dicts   [numColumns]*dictionary // the others
	body    body
}

// NewBuilder returns a builder of batches whose buffers c compresses, nil for
// none.
func NewBuilder(c Compressor) *Builder {
	b := &Builder{body: body{compressor: c}}
	fields := schema().Fields
	for i := range fields {
		if fields[i].Dictionary == nil {
			b.columns[i] = newArray(&fields[i])
		} else {
			b.dicts[i] = &dictionary{values: newArray(&fields[i])}
		}
	}
	return b
}

// Rows returns the number of rows.
func (b *Builder) Rows() int { return b.rows }

// maxBytes ends a batch of rows that are unusually long.
const maxBytes = 64 << 20

// Full reports whether the batch has to be written.
func (b *Builder) Full() bool {
	if b.rows >= MaxRows {
		return true
	}
	const checkRows = 64
	return b.rows%checkRows == 0 && b.size() >= maxBytes
}

// size returns how many bytes the values take, roughly.
func (b *Builder) size() int {
	n := 0
	for i, c := range b.columns {
		if c == nil {
			c = b.dicts[i].values
		}
		n += c.size()
	}
	return n
}

// Reset makes the batch empty.
func (b *Builder) Reset() {
	b.rows = 0
	for i, c := range b.columns {
		if c != nil {
			c.reset()
		} else {
			b.dicts[i].reset()
		}
	}
}

func (b *Builder) text(col int, s string) { b.dicts[col].setText(b.rows, s) }

func (b *Builder) id(col int, id []byte) { b.dicts[col].setID(b.rows, id) }

func (b *Builder) int(col int, n op.Int) {
	if n.Known {
		b.dicts[col].setInt(b.rows, n.V)
	}
}

// own returns a column with values of its own, to add that of the row.
func (b *Builder) own(col int) *array {
	c := b.columns[col]
	c.fill(b.rows)
	return c
}

func (b *Builder) time(col int, n op.Int) {
	if n.Known {
		b.own(col).addNumber(n.V)
	}
}

func (b *Builder) ids(trace *op.TraceID, span, parent *op.SpanID) {
	b.id(colTraceID, trace[:])
	if !span.IsZero() {
		b.own(colSpanID).addHex(span[:])
	}
	b.id(colParentSpanID, parent[:])
}

// Entry adds e.
func (b *Builder) Entry(e *op.Entry) {
	b.text(colRecord, "entry")
	b.int(colStep, e.Step)
	b.text(colOperation, e.Operation)
	b.text(colDeviceID, e.DeviceID)
	b.shapes(e.InputShapes)
	b.shape(e.OutputShape)
	b.own(colDuration).addNumber(e.Duration)
	b.int(colOutputElements, e.OutputElements)
	b.int(colMemoryBytes, e.MemoryBytes)
	b.text(colKind, e.Kind.String())
	b.text(colKindRule, e.KindRule.String())
	b.text(colDType, string(e.DType))
	b.time(colStart, e.Start)
	b.time(colLaunch, e.Launch)
	b.int(colStream, e.Stream)
	b.int(colRank, e.Rank)
	b.int(colFLOPs, e.FLOPs)
	b.ids(&e.TraceID, &e.SpanID, &e.ParentSpanID)
	b.text(colRoot, e.Root)
	b.id(colRootSpanID, e.RootSpanID[:])
	b.text(colService, e.Service)
	b.text(colScope, e.Scope)
	b.text(colPath, e.Path)
	b.dtypes(e.InputDTypes)
	b.text(colSide, e.Side.String())
	b.own(colFailed).addBool(e.Failed)
	b.text(colError, e.Error)
	if e.AdjustedCount != 0 {
		b.dicts[colAdjustedCount].setInt(b.rows, int64(math.Float64bits(e.AdjustedCount)))
	}
	b.int(colDroppedAttributes, op.Known(e.DroppedAttributes))
	b.attrs(e.Attrs)
	b.warnings(e.Warn)
	b.collective(e.Collective)
	b.links(e.Links)
	b.extra(e.Attrs, e.Links, e.Extra)
	b.rows++
}

// Span adds s.
func (b *Builder) Span(s *op.Span) {
	b.text(colRecord, "span")
	b.text(colName, s.Name)
	b.ids(&s.TraceID, &s.SpanID, &s.ParentSpanID)
	b.own(colParentRemote).addBool(s.RemoteParent)
	b.time(colStart, s.Start)
	b.own(colDuration).addNumber(s.Duration)
	b.text(colService, s.Service)
	b.own(colFailed).addBool(s.Failed)
	b.attrs(s.Attrs)
	b.links(s.Links)
	b.extra(s.Attrs, s.Links, s.Extra)
	b.rows++
}

// Resource adds r: what follows comes from there.
func (b *Builder) Resource(r *op.Resource) {
	b.text(colRecord, "resource")
	b.text(colService, r.Service)
	b.int(colRank, r.Rank)
	b.int(colWorldSize, r.WorldSize)
	b.attrs(r.Attrs)
	b.extra(r.Attrs, nil, nil)
	b.rows++
}

// Gap adds g.
func (b *Builder) Gap(g *op.Gap) {
	b.text(colRecord, "gap")
	d := b.dicts[colGap]
	d.begin()
	d.number(g.Dropped)
	d.text(g.Reason)
	if d.isNew(b.rows) {
		d.values.children[0].addNumber(g.Dropped)
		addTextUnlessEmpty(d.values.children[1], g.Reason)
		d.values.endGroup()
	}
	b.rows++
}

// Batch adds the head of a write.
func (b *Builder) Batch(batch *op.Batch) {
	b.text(colRecord, "batch")
	d := b.dicts[colBatch]
	d.begin()
	d.number(batch.Sequence)
	d.number(batch.Entries)
	d.text(batch.Writer)
	if d.isNew(b.rows) {
		d.values.children[0].addText(batch.Writer)
		d.values.children[1].addNumber(batch.Sequence)
		d.values.children[2].addNumber(batch.Entries)
		d.values.endGroup()
	}
	b.rows++
}
