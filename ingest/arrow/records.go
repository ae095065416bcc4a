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
// what they hold, so that the table from attribute keys to fields has no say.
//
// A *[op.SyntaxError] is a row that could not be read, a batch that is damaged, or a
// stream that was cut off or cannot be read to its end; any other error is the last
// thing yielded. What a record points to is valid until the next one.
func Records(src io.Reader, name string, _ *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := newReader(name)
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
func RecordsAt(src io.ReaderAt, size int64, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		if parts, err := Parts(src, size, name, math.MaxInt); err == nil {
			for _, p := range parts { // a single one
				p(yield)
			}
			return
		}
		Records(io.NewSectionReader(src, 0, size), name, nil)(yield)
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

	table        *table // nil before the schema
	begun        bool   // there was a schema
	columns      []column
	dictionaries *dictionaries
	metadata     []byte // scratch
	body         []byte // of a record batch, scratch
	row          int64  // the number of rows so far
	// pending tells that dictionaries have come since the last batch.
	pending bool
}

func newReader(name string) *reader {
	return &reader{name: name, x: translator{texts: op.NewBuilder(nil)}, batch: rows.NewBatch()}
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
	if m.Kind == arrowipc.DictionaryBatchMessage {
		body, err := r.stream.fill(r.dictionaries.memory(m), m.BodyLength)
		if err != nil {
			return false, err
		}
		r.pending = true
		return true, r.dictionaries.add(m, body)
	}
	if r.body, err = r.stream.fill(r.body[:0], m.BodyLength); err != nil {
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
	for i, k := range t.bound {
		if k >= 0 {
			r.columns[i] = fields[k].column()
		}
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

// blockRows is how many rows are read together: few enough to stay in the
// processor's nearest cache.
const blockRows = 64

// recordField is the place of the column record in fields.
const recordField = 0

// records yields the rows of a batch, and reports whether more is wanted.
func (r *reader) records(b *arrowipc.Batch) (more bool) {
	end := r.row + b.Rows
	active, err := r.start(b)
	r.batch.Reset(blockRows) // what columns have that are not active
	for n := 0; err == nil && n < int(b.Rows); n += blockRows {
		list := r.batch.Renew(min(blockRows, int(b.Rows)-n))
		if err = r.readBlock(&block{rows: list, first: n}, active); err != nil {
			break
		}
		for k := range list {
			r.row++
			if !r.yieldRow(&list[k]) {
				return false
			}
		}
	}
	return err == nil || r.leaveOut(r.row+1, end, err)
}

// readBlock reads columns into rows. The column record comes first.
func (r *reader) readBlock(b *block, active []int) error {
	b.setScopes()
	for _, i := range active {
		r.x.err = nil
		if err := r.columns[i].read(&r.x, b); err != nil {
			return &damage{r.table.schema.Fields[i].Name, err}
		}
		if r.table.bound[i] == recordField {
			b.setScopes()
		}
	}
	return nil
}

// start turns the columns to a batch, and returns those that have values in it.
func (r *reader) start(b *arrowipc.Batch) (active []int, err error) {
	body := bodyReader{batch: b, body: r.body, dictionaries: r.dictionaries, unpack: &r.unpack}
	fields := r.table.schema.Fields
	for i := range fields {
		a, err := body.read(&fields[i], r.columns[i] != nil)
		if err != nil {
			return nil, &damage{fields[i].Name, err}
		}
		if int64(a.n) < b.Rows {
			return nil, &damage{fields[i].Name, fmt.Errorf("%d values in a batch of %d rows", a.n, b.Rows)}
		}
		if r.columns[i] == nil || a.allNull() {
			continue
		}
		if err := r.dictionaries.load(&fields[i], 0); err != nil {
			return nil, &damage{fields[i].Name, err}
		}
		r.x.err = nil
		if err := r.columns[i].start(&r.x, &a); err != nil {
			return nil, &damage{fields[i].Name, err}
		}
		active = append(active, i)
	}
	// Columns in the order of the fields: a duration in nanoseconds replaces others.
	slices.SortFunc(active, func(a, b int) int { return r.table.bound[a] - r.table.bound[b] })
	return active, nil
}

func (r *reader) yieldRow(row *rows.Row) bool {
	if row.Rest != "" { // which changes them, while other rows may share them
		row.Attrs, row.Links = slices.Clone(row.Attrs), slices.Clone(row.Links)
	}
	rec, err := row.Finish(r.table.seen)
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
