package arrow

import (
	"math"
	"math/bits"
	"slices"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// block hands out the operations of a window as they stand in columns.
type block struct {
	*reader
	columns op.Columns
	run     op.Rows
	plain   [windowChunks]uint64 // the rows that columns tell all about

	operation, device, service *of[string]
	rank, start                *of[op.Int]
	nanos, micros              *of[op.Int]
	elements, memory, flops    *of[op.Int]
	side                       *of[op.Side]
	kind                       *of[op.Kind]
	rule                       *of[rows.KindRule]
	failed                     *of[bool]
	span                       *of[op.SpanID]
	trace                      *of[op.TraceID]
	names                      names  // where there is no column of kinds
	sizes                      *sizes // nil where there are columns of them
	// The shapes and types of operations.
	inputs lazy[[]op.Shape]
	output lazy[rows.ShapeText]
	dtypes lazy[[]op.DType]
	dtype  lazy[op.DType]

	// eager are those of the columns above that have values in the batch and are not
	// lazy, and rare others whose values make a row one that is handed out as an entry.
	eager, rare []int
	// These are the places of columns, -1 for none.
	spans, parents, traces, collective, ruleAt int
}

// newBlock returns the block of a reader that has a table.
func newBlock(r *reader) *block {
	b := &block{
		reader:    r,
		operation: columnOf[string](r, "operation"), device: columnOf[string](r, "device_id"), service: columnOf[string](r, "service"),
		rank: columnOf[op.Int](r, "rank"), start: columnOf[op.Int](r, "start_unix_ns"),
		nanos: columnOf[op.Int](r, "duration_ns"), micros: columnOf[op.Int](r, "duration_us"),
		elements: columnOf[op.Int](r, "output_elements"), memory: columnOf[op.Int](r, "memory_bytes"), flops: columnOf[op.Int](r, "flops"),
		side: columnOf[op.Side](r, "side"), kind: columnOf[op.Kind](r, "kind"), rule: columnOf[rows.KindRule](r, "kind_rule"),
		failed: columnOf[bool](r, "failed"), span: columnOf[op.SpanID](r, "span_id"), trace: columnOf[op.TraceID](r, "trace_id"),
	}
	b.inputs.bind(r, "input_shapes")
	b.output.bind(r, "output_shape")
	b.dtypes.bind(r, "input_dtypes")
	b.dtype.bind(r, "dtype")
	b.spans, b.parents, b.traces = r.place("span_id"), r.place("parent_span_id"), r.place("trace_id")
	b.collective, b.ruleAt = r.place("collective"), r.place("kind_rule")
	if seen := r.table.seen; !seen.Elements || !seen.Memory {
		b.sizes = new(sizes)
	}
	b.run.Columns = &b.columns
	c := &b.columns
	c.InputShapes.Value = func(code uint32) []op.Shape { return b.inputs.value(r, code) }
	c.OutputShape.Value = func(code uint32) op.Shape { return b.output.value(r, code).Shape }
	c.InputDTypes.Value = func(code uint32) []op.DType { return b.dtypes.value(r, code) }
	c.DType.Value = func(code uint32) op.DType { return b.dtype.value(r, code) }
	c.SpanID, c.TraceID, c.KindRule, c.Entry = b.spanID, b.traceID, b.kindRule, b.entry
	return b
}

// blockRole is what a column is to a block.
type blockRole uint8

const (
	// roleWhole: only entries that are wanted whole have it.
	roleWhole blockRole = iota
	roleEager
	roleLazy
	// roleRare: what has a value is handed out as an entry.
	roleRare
)

// blockRoles are the roles of columns, by the names of their fields.
var blockRoles = map[string]blockRole{
	"record": roleEager, "operation": roleEager, "device_id": roleEager, "service": roleEager, "rank": roleEager,
	"start_unix_ns": roleEager, "duration_ns": roleEager, "duration_us": roleEager,
	"output_elements": roleEager, "memory_bytes": roleEager, "flops": roleEager,
	"side": roleEager, "kind": roleEager, "failed": roleEager,
	"input_shapes": roleLazy, "output_shape": roleLazy, "input_dtypes": roleLazy, "dtype": roleLazy,
	"error": roleRare, "adjusted_count": roleRare, "warn": roleRare, "collective": roleRare,
}

// roleOf returns the role of a column that means something.
func (b *block) roleOf(i int) blockRole {
	if b.sizes != nil && (i == b.output.place || i == b.dtype.place) {
		return roleEager
	}
	return blockRoles[fields[b.table.bound[i]].name]
}

// takes reports whether a column is read in any case. Of others it is known what is null.
func (b *block) takes(i int) bool { return b.roleOf(i) == roleEager || b.roleOf(i) == roleLazy }

// isLazy reports whether the dictionary of a column is read when it is needed.
func (b *block) isLazy(i int) bool { return b.roleOf(i) == roleLazy }

// begin turns to a batch.
func (b *block) begin() {
	b.columns.Number++
	b.eager, b.rare = b.eager[:0], b.rare[:0]
	for _, i := range b.active {
		switch role := b.roleOf(i); {
		case role == roleEager:
			b.eager = append(b.eager, i)
		case role == roleRare && !(i == b.collective && b.kind.holds()):
			b.rare = append(b.rare, i)
		}
	}
	b.names.clear()
}

// load turns to the next of n rows, and reports whether it could load their columns.
func (b *block) load(first, n int) bool {
	b.turn(first, n, windowRows)
	if !b.operation.coded() {
		b.names.clear()
	}
	for chunk := range b.window.chunks() {
		if !b.loadChunk(chunk) {
			return false
		}
		b.plain[chunk] = b.plainRows(chunk)
	}
	b.setColumns()
	return true
}

// loadChunk loads the columns of a chunk, of the lazy ones the codes.
func (b *block) loadChunk(chunk int) bool {
	if b.loadScopes(chunk) != nil {
		return false
	}
	for _, i := range b.eager {
		if b.reader.load(i, chunk) != nil {
			return false
		}
	}
	w := &b.window
	return b.inputs.load(w, chunk) && b.output.load(w, chunk) && b.dtypes.load(w, chunk) &&
		b.dtype.load(w, chunk)
}

// setColumns shows the columns of the window.
func (b *block) setColumns() {
	c := &b.columns
	if !b.operation.coded() || !b.device.coded() || !b.service.coded() || !b.rank.coded() || !b.side.coded() {
		c.Number++
	}
	c.Operation, c.DeviceID, c.Service = b.operation.column(), b.device.column(), b.service.column()
	c.Rank, c.Start, c.Duration = b.rank.column(), b.start.column(), b.duration().column()
	c.OutputElements, c.MemoryBytes, c.FLOPs = b.elements.column(), b.memory.column(), b.flops.column()
	c.Side, c.Failed = b.side.column(), b.failed.column()
	if s := b.sizes; s != nil {
		c.OutputElements = op.Column[op.Int]{Codes: s.codes[:], Values: s.elements[:]}
		c.MemoryBytes = op.Column[op.Int]{Codes: s.codes[:], Values: s.memory[:]}
	}
	if c.Kind = b.kind.column(); !b.kind.holds() {
		b.names.infer(b.operation.meanings)
		c.Kind = op.Column[op.Kind]{Codes: b.operation.places[:], Values: b.names.kinds}
	}
	c.InputShapes.Codes, c.OutputShape.Codes = b.inputs.codes[:], b.output.codes[:]
	c.InputDTypes.Codes, c.DType.Codes = b.dtypes.codes[:], b.dtype.codes[:]
}

// duration returns the column of the durations, that in nanoseconds where there is one.
func (b *block) duration() *of[op.Int] {
	if b.nanos.holds() {
		return b.nanos
	}
	return b.micros
}

// plainRows returns the operations of a chunk that op.Rows may hold.
func (b *block) plainRows(chunk int) uint64 {
	set := b.window.of[chunk][ofEntries]
	if lost := set &^ b.given(b.traces, chunk); lost != 0 { // what is in no trace has no span
		set &^= lost & (b.given(b.spans, chunk) | b.given(b.parents, chunk))
	}
	for _, i := range b.rare {
		set &^= b.given(i, chunk)
	}
	for _, i := range b.eager {
		set &^= b.reader.columns[i].warned(&b.window, chunk)
	}
	if b.sizes != nil {
		set &^= b.sizes.load(b, chunk)
	}
	return set &^ b.odd(chunk, set)
}

// given returns the rows of a chunk that have a value.
func (b *block) given(i, chunk int) uint64 {
	if i < 0 {
		return 0
	}
	return b.arrays[i].given(b.window.chunk(chunk))
}

// odd returns those of the rows of a chunk that have no name, no duration, times that are
// not possible, or a kind that is not known.
func (b *block) odd(chunk int, among uint64) (set uint64) {
	at := chunk * chunkRows
	name, duration, start, kind := b.operation.column(), b.duration().column(), b.start.column(), b.kind.column()
	kinds := b.kind.holds() // otherwise the name tells
	for ; among != 0; among &= among - 1 {
		i := bits.TrailingZeros64(among)
		d, s := duration.At(at+i), start.At(at+i).V
		if !d.Known || d.V < 0 || s > math.MaxInt64-d.V || name.At(at+i) == "" || kinds && kind.At(at+i) == op.KindUnknown {
			set |= 1 << i
		}
	}
	return set
}

// yield yields the rows of the window, and reports whether more is wanted.
func (b *block) yield() bool {
	w := &b.window
	before := b.row
	spans := int64(0)
	counted := b.mapping.Omitted().Has(op.FieldSpans)
	for i := 0; i < w.n; {
		chunk, at := i/chunkRows, i%chunkRows
		if n := b.runAt(i); n > 0 {
			b.run.From, b.run.To = i, i+n
			b.row = before + int64(i+n)
			if !b.reader.yield(op.Record{Rows: &b.run}, nil) {
				return false
			}
			i += n
			continue
		}
		b.row = before + int64(i) + 1
		if of := &w.of[chunk]; counted && (of[ofSpans]&^of[ofEntries])>>at&1 != 0 {
			spans++
		} else if !b.yieldRow(b.rowAt(i)) {
			return false
		}
		i++
	}
	if spans == 0 {
		return true
	}
	return b.reader.yield(op.Record{Skipped: op.Skipped{Reason: op.SkipNonOp, N: spans}}, nil)
}

// runAt returns how many rows from the i-th on are operations that columns tell all
// about.
func (b *block) runAt(i int) int {
	start := i
	for i < b.window.n {
		rest := chunkRows - i%chunkRows
		n := bits.TrailingZeros64(^(b.plain[i/chunkRows] >> (i % chunkRows)))
		i += min(n, rest)
		if n < rest {
			break
		}
	}
	return i - start
}

// rowAt returns a row of the window with all that the columns have.
func (b *block) rowAt(i int) *rows.Row {
	list := b.batch.Reset(1)
	of := &b.window.of[i/chunkRows]
	for _, k := range b.active {
		if c := b.reader.columns[k]; of[c.says()]&b.given(k, i/chunkRows)>>(i%chunkRows)&1 != 0 {
			if a, at, ok := b.value(k, b.window.first+i); ok {
				c.fillOne(&b.x, list, a, at)
			}
		}
	}
	return &list[0]
}

// entry implements op.Columns.
func (b *block) entry(i int) *op.Entry {
	row := b.rowAt(i)
	// It is one that op.Rows may hold, so that nothing is wrong with it.
	if rec, err := b.finish(row); err == nil && rec.Entry != nil {
		return rec.Entry
	}
	return &row.Entry
}

// spanID implements op.Columns.
func (b *block) spanID(i int) op.SpanID { return oneOf(b, b.span, b.spans, i) }

// traceID implements op.Columns.
func (b *block) traceID(i int) op.TraceID { return oneOf(b, b.trace, b.traces, i) }

// kindRule implements op.Columns.
func (b *block) kindRule(i int) op.KindRule {
	if !b.kind.holds() {
		return b.names.rules[b.operation.places[i]]
	}
	return rows.RuleOf(b.kind.meanings[b.kind.places[i]], oneOf(b, b.rule, b.ruleAt, i))
}

// oneOf returns the value of a row of a column at a place, the zero value for null.
func oneOf[T any](b *block, c *of[T], place, row int) (t T) {
	if !slices.Contains(b.active, place) {
		return t
	}
	if a, at, ok := b.value(place, b.window.first+row); ok {
		t, _, _ = c.one.read(c, &b.x, a, at)
	}
	return t
}
