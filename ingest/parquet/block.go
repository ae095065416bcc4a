package parquet

import (
	"math"
	"slices"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// block hands out operations as they stand in columns. It reads a window of rows of each
// column that nearly all reports look at. What few rows need it has the reader of rows
// read, for all rows of the window at once.
type block struct {
	*tableReader
	columns op.Columns
	run     op.Rows
	usual   [windowRows]int32 // for its list

	first, n int64               // the rows of the window, in the row group
	unusual  [windowWords]uint64 // those that are not handed out in columns
	windowed []boundColumn
	err      error // why rows of a window could not be read

	record                     *valueColumn[rows.Is]
	operation, device, service *valueColumn[string]
	rank, start, duration      *valueColumn[op.Int]
	elements, memory, flops    *valueColumn[op.Int]
	stream, step, launch       *valueColumn[op.Int]
	side                       *valueColumn[op.Side]
	kind                       *valueColumn[op.Kind]
	rule                       *valueColumn[rows.KindRule]
	failed                     *valueColumn[bool]
	root                       *valueColumn[string]
	trace                      *valueColumn[op.TraceID]
	span, parent, rootSpan     *valueColumn[op.SpanID]
	dtype                      *valueColumn[op.DType]
	inputs                     *listColumn[[]op.Shape, op.Shape]
	output                     *listColumn[op.Shape, int64]
	dtypes                     *listColumn[[]op.DType, op.DType]
	collective                 *collectiveColumns

	group    *rowGroup
	list     []rows.Row          // of the window
	started  [windowWords]uint64 // those of them that are not those of an earlier window
	hasLost  bool                // whether all of them have the values of lost
	byReader []windowReader

	// These are places of readers.
	whole        map[rows.Is][]int // of what says something to a kind of record
	lost, spanID []int
}

// boundColumn is a column of a window and the place of its chunk among those of a row
// group.
type boundColumn struct {
	windowColumn
	chunk int
}

// newBlock returns the block of a reader, nil where its table has not all columns that a
// block relies on, or has lists in their place.
func newBlock(t *tableReader, m *op.Mapping) *block {
	b := &block{tableReader: t}
	for _, c := range t.readers {
		b.byReader = append(b.byReader, windowReader{columnReader: c})
	}
	if !m.HasColumns() || !b.isComplete() {
		return nil
	}
	omitted := m.Omitted()
	b.record = newValueColumn(b, "record", named(func(name string) (rows.Is, op.Warning) { return rows.IsOf(name), 0 }))
	b.operation, b.device = newValueColumn(b, "operation", text), newValueColumn(b, "device_id", text)
	b.service = newValueColumn(b, "service", text)
	number := func(name string, least int64, warning op.Warning) *valueColumn[op.Int] {
		return newIntegerColumn(b, name, least, integer(least, warning))
	}
	time := func(name string, warning op.Warning) *valueColumn[op.Int] {
		return newIntegerColumn(b, name, math.MinInt64, nanos(warning))
	}
	b.rank, b.flops = number("rank", 0, op.WarnBadValue), number("flops", 0, op.WarnBadValue)
	b.elements, b.memory = number("output_elements", 0, op.WarnBadValue), number("memory_bytes", 0, op.WarnBadMemory)
	b.start, b.duration = time("start_unix_ns", op.WarnBadTime), time("duration_ns", op.WarnBadValue)
	b.side, b.kind = newValueColumn(b, "side", named(rows.ParseSide)), newValueColumn(b, "kind", named(rows.ParseKind))
	b.rule = newValueColumn(b, "kind_rule", named(rows.ParseKindRule))
	b.failed, b.dtype = newFlagColumn(b, "failed"), newValueColumn(b, "dtype", named(rows.ParseDType))
	b.stream = number(unless(omitted, op.FieldStream, "stream"), math.MinInt64, op.WarnBadValue)
	b.step = number(unless(omitted, op.FieldStep, "step"), math.MinInt64, op.WarnBadValue)
	b.launch = time(unless(omitted, op.FieldLaunch, "launch_unix_ns"), op.WarnBadTime)
	b.root = newValueColumn(b, unless(omitted, op.FieldRoot, "root"), text)
	b.rootSpan = newValueColumn(b, unless(omitted, op.FieldRoot, "root_span_id"), spanID(true))
	b.trace = newValueColumn(b, "trace_id", traceID)
	b.span = newValueColumn(b, unless(omitted, op.FieldIDs, "span_id"), spanID(false))
	b.parent = newValueColumn(b, unless(omitted, op.FieldParent, "parent_span_id"), spanID(true))
	b.addExceptional("error", "adjusted_count", "warn")
	if !omitted.Has(op.FieldLinks) {
		b.addExceptional("links.trace_id")
	}
	b.lost, b.spanID = b.places("span_id", "parent_span_id"), b.places("span_id")
	b.inputs = newListColumn(b, "input_shapes", func(r *rows.Row) *[]op.Shape { return &r.InputShapes }, cloneShapes)
	b.output = newListColumn(b, "output_shape", func(r *rows.Row) *op.Shape { return &r.OutputShape }, slices.Clone)
	b.dtypes = newListColumn(b, "input_dtypes", func(r *rows.Row) *[]op.DType { return &r.InputDTypes }, slices.Clone)
	b.collective = newCollectiveColumns(b, !omitted.Has(op.FieldParent))
	b.whole = make(map[rows.Is][]int)
	for is, names := range saying {
		b.whole[is] = b.places(names...)
	}
	for i := range b.readers {
		b.whole[rows.IsEntry] = append(b.whole[rows.IsEntry], i)
	}
	b.setColumns()
	return b
}

// unless returns the name of a column, none where its field is left out.
func unless(omitted op.Fields, field op.Field, name string) string {
	if omitted.Has(field) {
		return ""
	}
	return name
}

// isComplete reports whether the table has the columns from which otherwise others follow,
// and no lists where a block expects values.
func (b *block) isComplete() bool {
	for _, name := range []string{"record", "operation", "duration_ns", "kind", "output_elements", "memory_bytes"} {
		if b.place(name) < 0 {
			return false
		}
	}
	return !slices.ContainsFunc(b.bound, func(f boundField) bool {
		return b.leaves[f.leaf].maxRep > 0 && !slices.Contains(listed, f.column)
	})
}

// listed are the columns that hold lists.
var listed = []string{
	"input_shapes", "output_shape", "input_dtypes", "attrs.key", "attrs.value", "warn", "links.trace_id", "links.span_id", "links.weight",
}

// place returns the place of the reader of a column, -1 for none.
func (b *block) place(name string) int {
	return slices.IndexFunc(b.bound, func(f boundField) bool { return f.column == name })
}

func (b *block) addExceptional(names ...string) {
	for _, i := range b.places(names...) {
		chunk := b.bound[i].leaf
		b.windowed = append(b.windowed, boundColumn{exceptional{b.newColumn(&b.leaves[chunk])}, chunk})
	}
}

// setColumns sets what looks at the rows of the window.
func (b *block) setColumns() {
	b.run.Columns = &b.columns
	c := &b.columns
	c.Entry = b.entry
	c.KindRule = func(i int) op.KindRule {
		return rows.RuleOf(b.kind.values[b.kind.codes[i]], b.rule.values[b.rule.codes[i]])
	}
	c.TraceID = func(i int) op.TraceID { return b.trace.values[b.trace.codes[i]] }
	c.SpanID = func(i int) op.SpanID { return b.row(i, b.spanID).SpanID }
}

// places returns the places of the readers of columns, as far as the table has them.
func (b *block) places(names ...string) (list []int) {
	for _, name := range names {
		if i := b.place(name); i >= 0 {
			list = append(list, i)
		}
	}
	return list
}

// saying are the columns that say something to rows that are no entries, by their kind.
var saying = map[rows.Is][]string{
	rows.IsSpan: {
		"record", "duration_ns", "start_unix_ns", "trace_id", "span_id", "parent_span_id", "service", "failed", "error", "attrs.key",
		"attrs.value", "name", "parent_remote", "links.trace_id", "links.span_id", "links.weight", "extra",
	},
	rows.IsResource: {"record", "service", "rank", "world_size", "attrs.key", "attrs.value", "extra"},
	rows.IsOther:    {"record", "gap.dropped", "gap.reason", "batch.writer", "batch.seq", "batch.entries"},
}

// startGroup turns to a row group.
func (b *block) startGroup(g *rowGroup) {
	for _, c := range b.windowed {
		c.start(&g.Columns[c.chunk], g.Rows)
	}
	for k := range b.byReader {
		b.byReader[k].next, b.byReader[k].first = 0, -1
	}
	b.group, b.first, b.n, b.err = g, 0, 0, nil
}

// load turns to the next rows, at most most. It reports whether they could be read.
func (b *block) load(most int64) bool {
	b.first += b.n
	b.n = 0
	if b.err != nil || b.record.safely(b.record.column.load) != nil {
		return false
	}
	n := int(min(most, windowRows, int64(b.record.n-b.record.pos))) // errors tell the end of the page
	b.unusual = [windowWords]uint64{}
	for _, c := range b.windowed {
		if b.record.safely(func() error { return c.load(n, &b.unusual) }) != nil {
			return false
		}
	}
	b.n = int64(n)
	b.list = b.batch.Reset(0)[:n]
	b.started, b.hasLost = [windowWords]uint64{}, false
	b.collective.load(n)
	b.show()
	b.markUnusual()
	return true
}

// show shows the columns of the window.
func (b *block) show() {
	c := &b.columns
	c.Operation, c.DeviceID, c.Service = b.operation.shown(), b.device.shown(), b.service.shown()
	c.Rank, c.Start, c.Duration = b.rank.shown(), b.start.shown(), b.duration.shown()
	c.OutputElements, c.MemoryBytes, c.FLOPs = b.elements.shown(), b.memory.shown(), b.flops.shown()
	c.Side, c.Kind, c.Failed = b.side.shown(), b.kind.shown(), b.failed.shown()
	c.Stream, c.Step, c.Launch = b.stream.shown(), b.step.shown(), b.launch.shown()
	c.Root, c.Trace = b.root.shown(), b.trace.shown()
	c.Span, c.ParentSpan, c.RootSpan = b.span.shown(), b.parent.shown(), b.rootSpan.shown()
	c.InputShapes, c.OutputShape, c.InputDTypes = b.inputs.shown(), b.output.shown(), b.dtypes.shown()
	c.DType, c.Collective = b.dtype.shown(), b.collective.shown()
}

// markUnusual marks the rows that are no operations, or that op.Rows may not hold.
func (b *block) markUnusual() {
	c := &b.columns
	for i := range int(b.n) {
		d, s := c.Duration.At(i), c.Start.At(i).V
		if b.record.values[b.record.codes[i]] != rows.IsEntry || !d.Known || d.V < 0 || s > math.MaxInt64-d.V ||
			c.Operation.At(i) == "" || c.Kind.At(i) == op.KindUnknown ||
			c.Trace.At(i).IsZero() && b.isLost(i) {
			b.unusual[i/64] |= 1 << (i % 64)
		}
	}
}

// isLost reports whether a row that is in no trace has the id of a span.
func (b *block) isLost(i int) bool {
	if !b.hasLost {
		b.hasLost = true
		b.read(0, int(b.n), b.lost)
	}
	r := &b.list[i]
	return !r.SpanID.IsZero() || !r.ParentSpanID.IsZero()
}

// yieldWindow yields the rows of the window, the first of which has a number in the table.
// It reports whether more is wanted.
func (b *block) yieldWindow(number int64, counted bool) bool {
	spans := int64(0)
	b.run.List = b.usual[:0]
	for i := range int(b.n) {
		if b.unusual[i/64]>>(i%64)&1 == 0 {
			b.run.List = append(b.run.List, int32(i))
			continue
		}
		is := b.record.values[b.record.codes[i]]
		if is == rows.IsSpan && counted {
			spans++
			continue
		}
		if !b.yieldRows() || !b.yieldRow(b.row(i, b.whole[is]), number+int64(i)) {
			return false
		}
		b.run.List = b.usual[:0]
	}
	return b.yieldRows() && (spans == 0 || b.yield(op.Record{Skipped: op.Skipped{Reason: op.SkipNonOp, N: spans}}, nil))
}

// yieldRows yields the rows in the list, if there are any.
func (b *block) yieldRows() bool {
	return len(b.run.List) == 0 || b.yield(op.Record{Rows: &b.run}, nil)
}

// entry implements op.Columns.
func (b *block) entry(i int) *op.Entry {
	row := *b.row(i, b.whole[rows.IsEntry]) // which may be asked for once more
	row.Attrs, row.Links = slices.Clone(row.Attrs), slices.Clone(row.Links)
	// It is one that op.Rows may hold, so that nothing is wrong with it.
	if rec, err := row.Finish(b.tableReader.columns); err == nil && rec.Entry != nil {
		return rec.Entry
	}
	return &row.Entry
}

// leave has the readers go on behind the last window, as what follows cannot be read by
// columns. It returns why it cannot be read at all.
func (b *block) leave() error {
	for k := range b.byReader {
		if b.err != nil {
			return b.err
		}
		b.err = b.byReader[k].turnTo(b.group, b.first, 0)
	}
	return b.err
}
