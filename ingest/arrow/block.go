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
	list    [windowRows]int32 // for it
	given   bool              // rows of the batch were handed out
	// columnar has the rows that are handed out in columns, a bit for each of a chunk.
	columnar [windowChunks]uint64

	operation, device, service *of[string]
	rank, start                *of[op.Int]
	nanos, micros              *of[op.Int]
	elements, memory, flops    *of[op.Int]
	stream, step, launch       *of[op.Int]
	side                       *of[op.Side]
	kind                       *of[op.Kind]
	rule                       *of[rows.KindRule]
	failed                     *of[bool]
	root                       *of[string]
	trace                      *of[op.TraceID]
	span, parent, rootSpan     *of[op.SpanID]
	inputs                     *of[[]op.Shape]
	output                     *of[rows.ShapeText]
	dtypes                     *of[[]op.DType]
	dtype                      *of[op.DType]
	collective                 *of[*op.Collective]
	outputs                    outputs
	names                      names  // where there is no column of kinds
	sizes                      *sizes // nil where there are columns of them

	unnamed, unkinded, untraced gaps // of operation, kind and trace

	roles []blockRole // of the columns of the table, by their place
	// decoded and exceptional are the columns of these roles that have values in the
	// batch, ofAny those that say something to any record, and ofSpan to spans.
	decoded, exceptional, ofAny, ofSpan []int
	none                                [windowRows]uint32 // the codes of a column without values
}

// newBlock returns the block of a reader that has a table.
func newBlock(r *reader) *block {
	b := &block{
		reader:    r,
		operation: columnOf[string](r, "operation"), device: columnOf[string](r, "device_id"), service: columnOf[string](r, "service"),
		rank: columnOf[op.Int](r, "rank"), start: columnOf[op.Int](r, "start_unix_ns"),
		nanos: columnOf[op.Int](r, "duration_ns"), micros: columnOf[op.Int](r, "duration_us"),
		elements: columnOf[op.Int](r, "output_elements"), memory: columnOf[op.Int](r, "memory_bytes"), flops: columnOf[op.Int](r, "flops"),
		stream: columnOf[op.Int](r, "stream"), step: columnOf[op.Int](r, "step"), launch: columnOf[op.Int](r, "launch_unix_ns"),
		side: columnOf[op.Side](r, "side"), kind: columnOf[op.Kind](r, "kind"), rule: columnOf[rows.KindRule](r, "kind_rule"),
		failed: columnOf[bool](r, "failed"), root: columnOf[string](r, "root"), trace: columnOf[op.TraceID](r, "trace_id"),
		span: columnOf[op.SpanID](r, "span_id"), parent: columnOf[op.SpanID](r, "parent_span_id"),
		rootSpan: columnOf[op.SpanID](r, "root_span_id"),
		inputs:   columnOf[[]op.Shape](r, "input_shapes"), output: columnOf[rows.ShapeText](r, "output_shape"),
		dtypes: columnOf[[]op.DType](r, "input_dtypes"), dtype: columnOf[op.DType](r, "dtype"),
		collective: columnOf[*op.Collective](r, "collective"),
	}
	if seen := r.table.seen; !seen.Elements || !seen.Memory {
		b.sizes = new(sizes)
	}
	b.roles = make([]blockRole, len(r.table.bound))
	for i, k := range r.table.bound {
		if k >= 0 {
			b.roles[i] = b.roleOf(fields[k].name)
		}
	}
	b.run.Columns = &b.columns
	c := &b.columns
	c.KindRule, c.Entry = b.kindRule, b.entry
	c.SpanID = func(row int) op.SpanID { return oneOf(b, b.span, row) }
	c.TraceID = func(row int) op.TraceID { return oneOf(b, b.trace, row) }
	return b
}

// blockRole is what a column is to a block.
type blockRole uint8

const (
	// roleEntry: the column is read for the rows that are handed out as entries.
	roleEntry blockRole = iota
	// roleDecoded: it is read and decoded in every batch.
	roleDecoded
	// rolePrepared: it is read in every batch, and decoded row by row.
	rolePrepared
	// roleExceptional: a row that has a value there is handed out as an entry.
	roleExceptional
)

// blockRoles are the roles of columns, by the names of their fields.
var blockRoles = map[string]blockRole{
	"record": roleDecoded, "operation": roleDecoded, "device_id": roleDecoded, "service": roleDecoded, "rank": roleDecoded,
	"start_unix_ns": roleDecoded, "duration_ns": roleDecoded, "duration_us": roleDecoded,
	"output_elements": roleDecoded, "memory_bytes": roleDecoded, "flops": roleDecoded,
	"side": roleDecoded, "kind": roleDecoded, "failed": roleDecoded,
	"stream": roleDecoded, "step": roleDecoded, "launch_unix_ns": roleDecoded, "trace_id": roleDecoded, "span_id": roleDecoded,
	"parent_span_id": roleDecoded, "root": roleDecoded, "root_span_id": roleDecoded,
	"input_shapes": roleDecoded, "output_shape": roleDecoded, "input_dtypes": roleDecoded, "dtype": roleDecoded,
	"collective": roleDecoded, "kind_rule": rolePrepared,
	"error": roleExceptional, "adjusted_count": roleExceptional, "warn": roleExceptional, "links": roleExceptional,
	"attrs": roleExceptional, // which may say how exact the times are
}

// omittedWith are the fields without which columns need not be decoded.
var omittedWith = map[string]op.Field{
	"stream": op.FieldStream, "step": op.FieldStep, "launch_unix_ns": op.FieldLaunch, "trace_id": op.FieldIDs, "span_id": op.FieldIDs,
	"parent_span_id": op.FieldParent, "collective": op.FieldParent, "root": op.FieldRoot, "root_span_id": op.FieldRoot, "links": op.FieldLinks,
	"attrs": op.FieldParent, // without which nobody looks at the structure
}

// roleOf returns the role of a column, given the name of its field.
func (b *block) roleOf(name string) blockRole {
	if field, ok := omittedWith[name]; ok && b.mapping.Omitted().Has(field) {
		return roleEntry
	}
	return blockRoles[name]
}

// takes reports whether a column is read in any case. Of others it is known what is null.
func (b *block) takes(i int) bool {
	return b.roles[i] == roleDecoded || b.roles[i] == rolePrepared
}

// begin turns to a batch.
func (b *block) begin() {
	b.given = false
	b.decoded, b.exceptional, b.ofAny, b.ofSpan = b.decoded[:0], b.exceptional[:0], b.ofAny[:0], b.ofSpan[:0]
	for _, i := range b.active {
		switch b.roles[i] {
		case roleDecoded:
			b.decoded = append(b.decoded, i)
		case roleExceptional:
			b.exceptional = append(b.exceptional, i)
		}
		if i == b.collective.place && !b.kind.holds() { // it tells the kind
			b.exceptional = append(b.exceptional, i)
		}
		switch b.reader.columns[i].says() {
		case ofAll:
			b.ofAny, b.ofSpan = append(b.ofAny, i), append(b.ofSpan, i)
		case ofSpans, ofSources:
			b.ofSpan = append(b.ofSpan, i)
		}
	}
}

// load turns to the next of n rows, and reports whether it could load their columns.
func (b *block) load(first, n int) bool {
	b.turn(first, n, windowRows)
	w := &b.window
	for chunk := range w.chunks() {
		if b.loadScopes(chunk) != nil {
			return false
		}
	}
	for _, i := range b.decoded {
		b.x.err = nil
		if b.reader.columns[i].loadAll(&b.x, w) != nil {
			return false
		}
	}
	findGaps(&b.unnamed, b, b.operation)
	findGaps(&b.unkinded, b, b.kind)
	findGaps(&b.untraced, b, b.trace)
	for chunk := range w.chunks() {
		b.columnar[chunk] = b.columnarRows(chunk)
	}
	b.setColumns()
	return true
}

// setColumns shows the columns of the window.
func (b *block) setColumns() {
	c := &b.columns
	c.First = b.window.first
	c.Operation, c.DeviceID, c.Service = shown(b, b.operation), shown(b, b.device), shown(b, b.service)
	c.Rank, c.Start, c.Duration = shown(b, b.rank), shown(b, b.start), shown(b, b.duration())
	c.OutputElements, c.MemoryBytes, c.FLOPs = shown(b, b.elements), shown(b, b.memory), shown(b, b.flops)
	c.Side, c.Failed = shown(b, b.side), shown(b, b.failed)
	c.Stream, c.Step, c.Launch = shown(b, b.stream), shown(b, b.step), shown(b, b.launch)
	c.Root, c.Trace = shown(b, b.root), shown(b, b.trace)
	c.Span, c.ParentSpan, c.RootSpan = shown(b, b.span), shown(b, b.parent), shown(b, b.rootSpan)
	if s := b.sizes; s != nil {
		c.OutputElements = op.Column[op.Int]{Codes: s.codes[:], Values: s.elements[:], Version: s.version}
		c.MemoryBytes = op.Column[op.Int]{Codes: s.codes[:], Values: s.memory[:], Version: s.version}
		s.version++
	}
	if c.Kind = shown(b, b.kind); !b.kind.holds() {
		b.names.infer(b.operation)
		c.Kind = op.Column[op.Kind]{Codes: b.operation.places[:], Values: b.names.kinds, Version: b.operation.version}
	}
	c.InputShapes, c.OutputShape = shown(b, b.inputs), b.outputs.shown(b)
	c.InputDTypes, c.DType, c.Collective = shown(b, b.dtypes), shown(b, b.dtype), shown(b, b.collective)
}

// duration returns the column of the durations, that in nanoseconds where there is one.
func (b *block) duration() *of[op.Int] {
	if b.nanos.holds() {
		return b.nanos
	}
	return b.micros
}

// columnarRows returns the operations of a chunk that op.Rows may hold.
func (b *block) columnarRows(chunk int) uint64 {
	set := b.window.of[chunk][ofEntries]
	if lost := set &^ b.notNull(b.trace.place, chunk); lost != 0 { // what is in no trace has no span
		set &^= lost & (b.notNull(b.span.place, chunk) | b.notNull(b.parent.place, chunk))
	}
	for _, i := range b.exceptional {
		set &^= b.notNull(i, chunk)
	}
	for _, i := range b.decoded {
		set &^= b.reader.columns[i].warned(&b.window, chunk)
	}
	if b.sizes != nil {
		set &^= b.sizes.load(b, chunk)
	}
	if b.isRegular(chunk, set) {
		return set
	}
	return set &^ b.irregular(chunk, set)
}

// isRegular reports whether none of the rows of a chunk is irregular, as far as can be
// told of all of them at once.
func (b *block) isRegular(chunk int, set uint64) bool {
	durations := b.duration()
	present := b.notNull(b.operation.place, chunk) & b.notNull(durations.place, chunk)
	if b.kind.holds() { // otherwise the name tells
		present &= b.notNull(b.kind.place, chunk)
	}
	if set&^present != 0 || b.unnamed.some || b.unkinded.some || b.untraced.some {
		return false
	}
	d, s := durations.dense[chunk], b.start.dense[chunk]
	if d == 0 || s == 0 {
		return false
	}
	_, n := b.window.chunk(chunk)
	lengths, starts := durations.meanings[d:][:n], b.start.meanings[s:][:n]
	signs := int64(0)
	for i := range lengths {
		length, start := lengths[i].V, starts[i].V
		signs |= length | (start+length)&^start // which is negative where a sum of two that are not is
	}
	return signs >= 0
}

// notNull returns the rows of a chunk in which a column has a value, none for the place
// -1.
func (b *block) notNull(place, chunk int) uint64 {
	if place < 0 {
		return 0
	}
	return b.arrays[place].notNull(b.window.chunk(chunk))
}

// irregular returns those of the rows of a chunk that have no name, no duration, times
// that are not possible, a kind that is not known, or an id of a span without a trace.
func (b *block) irregular(chunk int, among uint64) (set uint64) {
	at := chunk * chunkRows
	name, duration, start, kind := shown(b, b.operation), shown(b, b.duration()), shown(b, b.start), shown(b, b.kind)
	kinds := b.kind.holds() // otherwise the name tells
	trace := shown(b, b.trace)
	for ; among != 0; among &= among - 1 {
		i := bits.TrailingZeros64(among)
		d, s := duration.At(at+i), start.At(at+i).V
		if !d.Known || d.V < 0 || s > math.MaxInt64-d.V || name.At(at+i) == "" || kinds && kind.At(at+i) == op.KindUnknown ||
			trace.Codes[at+i] != 0 && trace.At(at+i).IsZero() {
			set |= 1 << i
		}
	}
	return set
}

// yield yields the rows of the window, and reports whether more is wanted.
func (b *block) yield() bool {
	w := &b.window
	before := b.row
	spans := 0
	counted := b.mapping.Omitted().Has(op.FieldSpans)
	list := b.list[:0]
	for chunk := range w.chunks() {
		columnar, rest := b.columnar[chunk], w.of[chunk][ofAll]&^b.columnar[chunk]
		if counted {
			skipped := rest & w.of[chunk][ofSpans] &^ w.of[chunk][ofEntries]
			spans += bits.OnesCount64(skipped)
			rest &^= skipped
		}
		for ; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			list = appendRows(list, chunk, columnar&(1<<i-1))
			columnar &^= 1<<i - 1
			at := chunk*chunkRows + i
			if !b.yieldRows(before, list) {
				return false
			}
			list = list[:0]
			b.row = before + int64(at) + 1
			if !b.yieldRow(b.rowAt(at)) {
				return false
			}
		}
		list = appendRows(list, chunk, columnar)
	}
	if !b.yieldRows(before, list) {
		return false
	}
	b.row = before + int64(w.n)
	if spans == 0 {
		return true
	}
	return b.reader.yield(op.Record{Skipped: op.Skipped{Reason: op.SkipNonOp, N: int64(spans)}}, nil)
}

// appendRows appends the places of rows of a chunk.
func appendRows(list []int32, chunk int, set uint64) []int32 {
	for at := chunk * chunkRows; set != 0; {
		skip := bits.TrailingZeros64(set)
		n := bits.TrailingZeros64(^(set >> skip))
		for i := range n {
			list = append(list, int32(at+skip+i))
		}
		at += skip + n
		set = set >> skip >> n
	}
	return list
}

// end yields the end of the batch, and reports whether more is wanted.
func (b *block) end() bool {
	return b.reader.yield(op.Record{Rows: &op.Rows{Columns: &b.columns, Last: true}}, nil)
}

// yieldRows yields rows of the window by columns, given the number of rows in front of it.
func (b *block) yieldRows(before int64, list []int32) bool {
	if len(list) == 0 {
		return true
	}
	b.run.List, b.given = list, true
	b.row = before + int64(list[len(list)-1]) + 1
	return b.reader.yield(op.Record{Rows: &b.run}, nil)
}

// rowAt returns a row of the window with all that the columns have.
func (b *block) rowAt(i int) *rows.Row {
	list := b.batch.Reset(1)
	of := &b.window.of[i/chunkRows]
	columns := b.active
	switch bit := uint64(1) << (i % chunkRows); {
	case of[ofSources]&bit == 0:
		columns = b.ofAny
	case of[ofSpans]&^of[ofEntries]&bit != 0:
		columns = b.ofSpan
	}
	for _, k := range columns {
		if c := b.reader.columns[k]; of[c.says()]&b.notNull(k, i/chunkRows)>>(i%chunkRows)&1 != 0 {
			b.fillOne(k, list, b.window.first+i)
		}
	}
	return &list[0]
}

// fillOne sets a list of one row to what a column says of a row of the batch.
func (b *block) fillOne(k int, list []rows.Row, at int) {
	if a, i, ok := b.value(k, at); ok {
		b.reader.columns[k].fillOne(&b.x, list, a, i)
	}
}

// entry implements op.Columns.
func (b *block) entry(i int) *op.Entry {
	at := b.columns.First + i
	list := b.batch.Reset(1)
	for _, k := range b.active {
		if !b.arrays[k].isNull(at) {
			b.fillOne(k, list, at)
		}
	}
	// It is one that op.Rows may hold, so that nothing is wrong with it.
	if rec, err := b.finish(&list[0]); err == nil && rec.Entry != nil {
		return rec.Entry
	}
	return &list[0].Entry
}

// kindRule implements op.Columns.
func (b *block) kindRule(i int) op.KindRule {
	if !b.kind.holds() {
		return b.names.rules[b.operation.places[i]]
	}
	return rows.RuleOf(b.kind.meanings[b.kind.places[i]], b.rule.at(&b.x, b.window.first+i))
}

// oneOf returns the value of a row of a column, the zero value for null.
func oneOf[T any](b *block, c *of[T], row int) (t T) {
	if !slices.Contains(b.active, c.place) {
		return t
	}
	if a, at, ok := b.value(c.place, b.columns.First+row); ok {
		t, _, _ = c.one.read(c, &b.x, a, at)
	}
	return t
}
