package arrow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/op"
)

// Records reads a stream or a file. name stands for src in errors. The columns state
// what they hold, so that m, the table from attribute keys to fields, says no more than
// which of them matter, and whether they may be handed out as they are.
//
// A *[op.SyntaxError] is a row that could not be read, a batch that is damaged, or a
// stream that was cut off or cannot be read to its end; any other error is the last
// thing yielded. What a record points to is valid until the next one.
func Records(src io.Reader, name string, m *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := newReader(name, m)
		defer r.close()
		r.yield = yield
		buffered := bufio.NewReaderSize(src, readSize)
		r.stream.src = buffered
		head, err := buffered.Peek(len(fileMagic))
		if err != nil && err != io.EOF {
			yield(op.Record{}, err)
			return
		}
		if err := r.stream.readMagic(head); err != nil {
			r.end(err)
			return
		}
		r.read()
	}
}

const readSize = 64 << 10

// RecordsAt is [Records] for what can be read anywhere: of files whose schema stands
// at the end only, it reads that first.
func RecordsAt(src io.ReaderAt, size int64, name string, m *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		if parts, err := Parts(src, size, name, m, math.MaxInt); err == nil {
			for _, p := range parts { // a single one
				p(yield)
			}
			return
		}
		Records(io.NewSectionReader(src, 0, size), name, m)(yield)
	}
}

// reader reads the records of a stream, or of a part of one.
type reader struct {
	name   string
	yield  func(op.Record, error) bool
	stream stream
	unpack decompressor
	x      translator
	batch  *rows.Batch
	// block is not nil where operations may be handed out column by column.
	block   *block
	mapping *op.Mapping

	table   *table // nil before the schema
	begun   bool   // there was a schema
	columns []column
	record  *of[string] // what a row is
	kinds   []rows.Is   // of the places of record, in the version kindsOf
	kindsOf int64
	active  []int // the columns that have values in the batch, in the order of their fields
	// later are the places of the columns in the body, at which those are read that were
	// not needed at once.
	later        []bodyReader
	arrays       []array // of the columns, which tell at least what is null
	singles      []int   // how many slices of each column were read
	slices       []slice // the last ones
	window       window
	dictionaries *dictionaries
	metadata     []byte // scratch
	body         body   // of a record batch
	memory       []byte // for it
	arena        arena  // for parts of it
	row          int64  // the number of rows so far
	// pending tells that dictionaries have come since the last batch.
	pending bool
}

func newReader(name string, m *op.Mapping) *reader {
	return &reader{name: name, mapping: m, x: translator{texts: op.NewBuilder(nil)}, batch: rows.NewBatch(chunkRows)}
}

func (r *reader) close() { r.unpack.close() }

// read reads messages to the end.
func (r *reader) read() {
	for {
		var m arrowipc.Message
		var err error
		m, r.metadata, err = r.stream.message(r.metadata)
		more := true
		switch {
		case err == io.EOF && !r.stream.isFile && !r.pending:
			return
		case err == io.EOF && r.pending:
			r.end(errBetween)
			return
		case err == io.EOF:
			r.end(errFooter)
			return
		case err == errEnd && r.stream.isFile:
			return
		case err == errEnd: // another stream may follow
			r.table = nil
			continue
		case err == nil:
			more, err = r.handle(&m)
		}
		if err != nil {
			r.end(err)
		}
		if err != nil || !more {
			return
		}
	}
}

var (
	errNoSchema = errors.New("a batch without a schema in front of it; where a file has it at the end, read the file and not a pipe")
	errBetween  = errors.New("the stream ends between the dictionaries of a batch and the batch")
	errFooter   = errors.New("the file ends without its footer")
)

// end yields the error that keeps the rest from being read.
func (r *reader) end(err error) {
	torn := errors.Is(err, errTorn) || errors.Is(err, errBetween) || errors.Is(err, errFooter)
	if !r.begun && !torn { // nothing of it could be read
		r.yield(op.Record{}, err)
		return
	}
	class, msg := op.ErrorDamaged, fmt.Sprintf("%v; the rest cannot be read", err)
	if torn {
		class, msg = op.ErrorSyntax, err.Error()
	}
	r.yield(op.Record{}, &op.SyntaxError{File: r.name, Offset: r.stream.at, Msg: msg, Class: class, Truncated: torn})
}

// handle reads the body of a message. It reports whether more is wanted.
func (r *reader) handle(m *arrowipc.Message) (more bool, err error) {
	switch m.Kind {
	case arrowipc.SchemaMessage:
		return true, r.setSchema(m.Schema)
	case arrowipc.DictionaryBatchMessage, arrowipc.RecordBatchMessage:
		if r.table == nil {
			return false, errNoSchema
		}
	default:
		return true, r.stream.skip(m.BodyLength)
	}
	if r.stream.anywhere != nil && r.block != nil && m.BodyLength >= laterBytes {
		return r.handleLater(m)
	}
	if m.Kind == arrowipc.DictionaryBatchMessage {
		body, err := r.stream.fill(r.dictionaries.memory(m), m.BodyLength)
		if err != nil {
			return false, err
		}
		r.pending = true
		return true, r.dictionaries.add(m, body)
	}
	if r.memory, err = r.stream.fill(r.memory[:0], m.BodyLength); err != nil {
		return false, err
	}
	r.body = body{bytes: r.memory}
	r.pending = false
	return r.records(m.Batch), nil
}

// laterBytes is the size of a message from which on only those parts of it are read that
// are needed.
const laterBytes = 16 << 10

// handleLater is handle for a message of which parts may never be read.
func (r *reader) handleLater(m *arrowipc.Message) (more bool, err error) {
	if m.Kind == arrowipc.DictionaryBatchMessage {
		body, err := r.stream.later(m.BodyLength, &r.arena)
		if err != nil {
			return false, err
		}
		r.pending = true
		return true, r.dictionaries.addBody(m, body)
	}
	r.arena.reset()
	if r.body, err = r.stream.later(m.BodyLength, &r.arena); err != nil {
		return false, err
	}
	r.pending = false
	return r.records(m.Batch), nil
}

func (r *reader) setSchema(s *arrowipc.Schema) error {
	t, err := bind(s)
	if err != nil {
		return err
	}
	r.setTable(t)
	return nil
}

// setTable turns to a table, the dictionaries of which are empty.
func (r *reader) setTable(t *table) {
	r.begun = true
	r.table, r.columns = t, make([]column, len(t.bound))
	r.singles, r.arrays, r.slices = make([]int, len(t.bound)), make([]array, len(t.bound)), make([]slice, len(t.bound))
	for i, k := range t.bound {
		if k >= 0 {
			r.columns[i] = fields[k].column()
		}
	}
	r.record = columnOf[string](r, "record")
	if r.block = nil; r.mapping.HasColumns() {
		r.block = newBlock(r)
	}
	r.dictionaries = newDictionaries(t.schema, &r.unpack)
}

// damage is what makes the rest of a batch unreadable.
type damage struct {
	column string
	err    error
}

func (d *damage) Error() string { return fmt.Sprintf("column %q: %v", d.column, d.err) }
func (d *damage) Unwrap() error { return d.err }

// recordField is the place of the column record in fields.
const recordField = 0

// place returns the place of the column of a field, -1 where the table has none.
func (r *reader) place(name string) int {
	return slices.IndexFunc(r.table.bound, func(k int) bool { return k >= 0 && fields[k].name == name })
}

// columnOf returns the column of a field, an empty one where the table has none.
func columnOf[T any](r *reader, name string) *of[T] {
	c, i := new(of[T]), r.place(name)
	if i >= 0 {
		c = r.columns[i].(*of[T])
	}
	c.place = i
	return c
}

// records yields the rows of a batch, and reports whether more is wanted.
func (r *reader) records(b *arrowipc.Batch) (more bool) {
	end := r.row + b.Rows
	err := r.start(b)
	r.batch.Reset(chunkRows) // what columns have that are not active
	if r.block != nil {
		r.block.begin()
	}
	for first := 0; err == nil && first < int(b.Rows); first += r.window.n {
		if r.block != nil && r.block.load(first, int(b.Rows)-first) {
			more = r.block.yield()
		} else {
			more, err = r.readChunk(first, int(b.Rows)-first)
		}
		if err == nil && !more {
			return false
		}
	}
	if r.block != nil && r.block.given && !r.block.end() {
		return false
	}
	return err == nil || r.leaveOut(r.row+1, end, err)
}

// turn turns to at most most of the rows of a batch.
func (r *reader) turn(first, n, most int) {
	r.window.first, r.window.n = first, min(n, most)
	for _, i := range r.active {
		r.columns[i].turn()
	}
}

// readChunk yields the next of n rows one by one.
func (r *reader) readChunk(first, n int) (more bool, err error) {
	r.turn(first, n, chunkRows)
	list := r.batch.Renew(r.window.n)
	if err := r.loadScopes(0); err != nil {
		return false, err
	}
	for _, i := range r.active {
		if err := r.open(i); err != nil {
			return false, err
		}
		if err := r.load(i, 0); err != nil {
			return false, err
		}
		r.columns[i].fill(list, 0)
	}
	for k := range list {
		r.row++
		if !r.yieldRow(&list[k]) {
			return false, nil
		}
	}
	return true, nil
}

// loadScopes tells the rows of a chunk of the window apart.
func (r *reader) loadScopes(chunk int) error {
	r.window.setScopes(chunk, nil, nil)
	c := r.record
	if !c.holds() {
		return nil
	}
	r.x.err = nil
	if err := c.load(&r.x, &r.window, chunk); err != nil {
		return &damage{fields[recordField].name, err}
	}
	if r.kindsOf != c.version || len(r.kinds) != len(c.meanings) {
		r.kindsOf, r.kinds = c.version, r.kinds[:0]
		for _, name := range c.meanings {
			r.kinds = append(r.kinds, rows.IsOf(name))
		}
	}
	if same := c.same[chunk]; same == mixed || r.kinds[same] != rows.IsEntry {
		r.window.setScopes(chunk, c.places[:], r.kinds)
	}
	return nil
}

// load loads a chunk of a column.
func (r *reader) load(i, chunk int) error {
	r.x.err = nil
	if err := r.columns[i].load(&r.x, &r.window, chunk); err != nil {
		return &damage{r.table.schema.Fields[i].Name, err}
	}
	return nil
}

// start turns the columns to a batch.
func (r *reader) start(b *arrowipc.Batch) error {
	body := bodyReader{batch: b, body: &r.body, dictionaries: r.dictionaries, unpack: &r.unpack}
	fields := r.table.schema.Fields
	r.active, r.later = r.active[:0], r.later[:0]
	clear(r.singles)
	clear(r.slices)
	for i := range fields {
		c, at := r.columns[i], body
		wanted := nothing
		if c != nil && (r.block == nil || r.block.takes(i)) {
			wanted = everything
		} else if c != nil {
			wanted = nulls
		}
		a, err := body.read(&fields[i], wanted)
		if err != nil {
			return &damage{fields[i].Name, err}
		}
		if int64(a.n) < b.Rows {
			return &damage{fields[i].Name, fmt.Errorf("%d values in a batch of %d rows", a.n, b.Rows)}
		}
		r.later, r.arrays[i] = append(r.later, at), a
		switch {
		case c == nil:
		case a.allNull():
			c.start(nil)
		case wanted == nulls:
			c.start(nil)
			r.active = append(r.active, i)
		default:
			if err := r.begin(i, &a); err != nil {
				return err
			}
			r.active = append(r.active, i)
		}
	}
	// Columns in the order of the fields: a duration in nanoseconds replaces others.
	slices.SortFunc(r.active, func(a, b int) int { return r.table.bound[a] - r.table.bound[b] })
	return nil
}

// begin turns a column to an array that has values.
func (r *reader) begin(i int, a *array) error {
	f := &r.table.schema.Fields[i]
	if err := r.dictionaries.load(f, 0); err != nil {
		return &damage{f.Name, err}
	}
	r.columns[i].start(a)
	return nil
}

// open makes sure that an active column and its dictionary have been read.
func (r *reader) open(i int) error {
	f := &r.table.schema.Fields[i]
	if r.columns[i].values() == nil {
		a, err := r.later[i].read(f, everything)
		if err != nil {
			return &damage{f.Name, err}
		}
		r.columns[i].start(&a)
	}
	if err := r.dictionaries.load(f, 0); err != nil {
		return &damage{f.Name, err}
	}
	return nil
}

// finish makes a record of a row.
func (r *reader) finish(row *rows.Row) (op.Record, error) {
	if row.Rest != "" { // which changes them, while other rows may share them
		row.Attrs, row.Links = slices.Clone(row.Attrs), slices.Clone(row.Links)
	}
	return row.Finish(r.table.seen)
}

func (r *reader) yieldRow(row *rows.Row) bool {
	rec, err := r.finish(row)
	if err != nil {
		return r.fail(op.ErrorRecord, fmt.Sprintf("row %d: %v", r.row, err))
	}
	return r.yield(rec, nil)
}

// leaveOut tells of rows that cannot be read.
func (r *reader) leaveOut(first, last int64, err error) bool {
	r.row = last
	return r.fail(op.ErrorDamaged, fmt.Sprintf("rows %d to %d are left out: %v", first, last, err))
}

// fail tells of something in the message.
func (r *reader) fail(class op.ErrorClass, msg string) bool {
	return r.yield(op.Record{}, &op.SyntaxError{File: r.name, Offset: r.stream.at, Msg: msg, Class: class})
}
