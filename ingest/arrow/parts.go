package arrow

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/op"
)

// Parts returns the records of a stream or file in parts of at least partBytes,
// which are batches that follow one another. Several goroutines may read a part
// each. What is said at [Records] holds for a part.
func Parts(src io.ReaderAt, size int64, name string, m *op.Mapping, partBytes int) ([]iter.Seq2[op.Record, error], error) {
	ix := &index{src: src, size: size, name: name, mapping: m, partBytes: int64(partBytes)}
	if err := ix.read(); err != nil {
		return nil, err
	}
	if ix.table == nil {
		return nil, errUnshared
	}
	return ix.parts, nil
}

// index finds the messages of a stream and cuts it into parts.
type index struct {
	src       io.ReaderAt
	size      int64
	name      string
	mapping   *op.Mapping
	partBytes int64

	stream   stream
	buffered bufio.Reader
	table    *table
	// current holds, by id, the messages of the dictionaries in effect.
	current  map[int64][]place
	messages int
	rows     int64
	parts    []iter.Seq2[op.Record, error]
	next     part

	mu sync.Mutex
	// free holds readers with the memory that they have grown to, for other parts.
	free []*reader
}

// place is where a message lies.
type place struct{ start, end int64 }

// part is a part of a stream: messages that follow one another, and what they need
// of those before.
type part struct {
	place
	table        *table
	dictionaries map[int64][]place // in effect in front of it
	row          int64             // the number of rows in front of it
	isFile       bool
}

// errUnshared is the error for a stream that cannot be shared, and is read as a
// whole.
var errUnshared = errors.New("not to be shared")

func (ix *index) section(start, end int64) io.Reader {
	return io.NewSectionReader(ix.src, start, end-start)
}

// read reads the metadata of all messages. A stream that is damaged is not cut: who
// reads it as a whole finds out what is wrong with it.
func (ix *index) read() error {
	var head [len(fileMagic)]byte
	n, err := ix.src.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	ix.at(0)
	if err := ix.stream.readMagic(head[:n]); err != nil {
		return err
	}
	if ix.stream.isFile {
		if s := schemaOf(ix.src, ix.size); s != nil {
			if err := ix.setSchema(s); err != nil {
				return err
			}
		}
	}
	var metadata []byte
	for range MaxMessages {
		var m arrowipc.Message
		m, metadata, err = ix.stream.message(metadata)
		if err == io.EOF || err == errEnd || errors.Is(err, errTorn) {
			ix.cut(ix.size) // what is wrong with the end shows in the last part
			return nil
		}
		if err != nil {
			return err
		}
		if err := ix.add(&m); err != nil {
			return err
		}
	}
	return errUnshared
}

// at turns to a place.
func (ix *index) at(offset int64) {
	if n := offset - ix.stream.offset; n >= 0 && n < int64(ix.buffered.Buffered()) {
		_, _ = ix.buffered.Discard(int(n)) // which are there
		ix.stream.offset = offset
		return
	}
	ix.buffered.Reset(ix.section(offset, ix.size))
	ix.stream.src, ix.stream.offset = &ix.buffered, offset
}

// add adds a message and passes over its body.
func (ix *index) add(m *arrowipc.Message) (err error) {
	start, end := ix.stream.at, ix.stream.offset+m.BodyLength
	if end > ix.size {
		end = ix.size // it is torn, as the next one shows
	}
	switch m.Kind {
	case arrowipc.SchemaMessage:
		if ix.messages > 0 {
			return errUnshared // several streams
		}
		if err := ix.setSchema(m.Schema); err != nil {
			return err
		}
		ix.begin(end)
	case arrowipc.DictionaryBatchMessage:
		if ix.table == nil {
			return errUnshared
		}
		if !m.Delta {
			ix.current[m.Dictionary] = nil
		}
		ix.current[m.Dictionary] = append(slices.Clip(ix.current[m.Dictionary]), place{start, end}) // parts share them
	case arrowipc.RecordBatchMessage:
		if ix.table == nil {
			return errUnshared
		}
		ix.rows += m.Batch.Rows
		if end-ix.next.start >= ix.partBytes {
			ix.cut(end)
		}
	}
	ix.messages++
	ix.at(end)
	return nil
}

// setSchema turns to a table, whose parts begin here.
func (ix *index) setSchema(s *arrowipc.Schema) (err error) {
	ix.table, err = bind(s)
	ix.current = make(map[int64][]place)
	ix.begin(ix.stream.offset)
	return err
}

// begin begins a part.
func (ix *index) begin(start int64) {
	ix.next = part{place: place{start, start}, table: ix.table, row: ix.rows, isFile: ix.stream.isFile, dictionaries: maps.Clone(ix.current)}
}

// cut ends a part.
func (ix *index) cut(end int64) {
	p := ix.next
	p.end = end
	if ix.table != nil && (p.end > p.start || len(ix.parts) == 0) {
		ix.parts = append(ix.parts, func(yield func(op.Record, error) bool) { ix.readPart(p, yield) })
	}
	ix.begin(end)
}

// partReadSize is how much of a part is read at once, besides what is larger: little,
// because much may be passed over.
const partReadSize = 8 << 10

// readPart yields the records of a part.
func (ix *index) readPart(p part, yield func(op.Record, error) bool) {
	r := ix.reader(p.table)
	defer ix.release(r)
	r.yield, r.row, r.pending = yield, p.row, false
	r.dictionaries.forget()
	for id, places := range p.dictionaries {
		for i, at := range places {
			open := func(memory []byte) (*arrowipc.Batch, []byte, error) { return ix.readDictionary(at, memory) }
			if err := r.dictionaries.addLater(id, i > 0, open); err != nil {
				r.end(err)
				return
			}
		}
	}
	r.stream = stream{
		src: bufio.NewReaderSize(ix.section(p.start, p.end), partReadSize), offset: p.start, isFile: p.isFile && p.end == ix.size,
		anywhere: ix.src, end: p.end,
	}
	r.read()
}

// reader returns a reader of the table.
func (ix *index) reader(t *table) *reader {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if last := len(ix.free) - 1; last >= 0 {
		r := ix.free[last]
		ix.free = ix.free[:last]
		if r.table == t {
			return r
		}
	}
	r := newReader(ix.name, ix.mapping)
	r.setTable(t)
	return r
}

func (ix *index) release(r *reader) {
	r.close()
	r.yield = nil
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.free = append(ix.free, r)
}

// readDictionary reads a message.
func (ix *index) readDictionary(at place, memory []byte) (*arrowipc.Batch, []byte, error) {
	s := stream{src: ix.section(at.start, at.end), offset: at.start}
	m, _, err := s.message(nil)
	if err != nil {
		return nil, nil, err
	}
	body, err := s.fill(memory, m.BodyLength)
	return m.Batch, body, err
}
