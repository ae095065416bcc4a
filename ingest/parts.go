package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Read calls read for every part of the input, in workers goroutines. Entries, OTLP JSON Lines and OTLP protobuf have
// parts of some hundred kilobytes, a Parquet file with random access larger ones. Any other file is one part.
//
// Files and parts are numbered from 0 in the order of the input, parts across files; worker is the number of the
// goroutine. A part's records are as in [Input.Records]; range over them once. Read ends early if a call returns an
// error, and returns the error of the first such part.
func (in *Input) Read(
	workers int, read func(worker int, file, part int64, records iter.Seq2[op.Record, error]) error,
) error {
	if err := in.begin(); err != nil {
		return err
	}
	var mu sync.Mutex // guards the variables of this function
	var number, failed int64
	var first error // the error of the part failed
	var buf []byte
	var next func() (part, bool)
	var stop func()
	take := func(own []byte) (p part, n int64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if first != nil {
			return part{}, 0, false
		}
		if next == nil { // in a worker: the caller may be locked to its thread
			next, stop = iter.Pull(in.parts(cmp.Or(in.partSize, partBytes), &buf))
		}
		n = number
		buf = own
		number++
		p, ok = next()
		return p, n, ok
	}
	var running sync.WaitGroup
	workers = max(1, min(workers, int(min(in.memory.limit/perWorker, math.MaxInt32))))
	for worker := range workers {
		running.Go(func() {
			var rs readers
			var own []byte
			for {
				p, n, ok := take(own)
				if !ok {
					return
				}
				err := read(worker, p.file, n, func(yield func(op.Record, error) bool) { p.read(in, &rs, yield) })
				p.src.release()
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					if first == nil || n < failed {
						first = err
						failed = n
					}
					stop()
					return
				}
				own = p.text[:0]
			}
		})
	}
	running.Wait()
	return first
}

type part struct {
	file int64
	src  *file // nil for an error
	err  error

	at   place
	last bool // of the file
	// text is a part cut from a file, rest a stream, and records a part with its own reader. Two of them are nil.
	text    []byte
	rest    io.Reader
	records iter.Seq2[op.Record, error]
}

// parts yields the parts of the input in order, each of about size bytes; 0 leaves files whole. A part's text is in
// *buf, which the consumer takes over. The consumer releases the part's file.
func (in *Input) parts(size int, buf *[]byte) iter.Seq[part] {
	return func(yield func(part) bool) {
		sources, err := in.opts.expand(in.paths)
		if err != nil {
			yield(part{err: err})
			return
		}
		var unknown *op.SyntaxError
		for i := 0; i < len(sources); i++ {
			s := sources[i]
			f, err := in.open(s)
			if err == nil && f.members != nil {
				sources = slices.Replace(sources, i, i+1, f.members...)
				i--
				continue
			}
			if err == nil {
				if !f.parts(size, buf, yield) {
					return
				}
				continue
			}
			report := s.passedOver(err)
			if report == nil {
				yield(part{file: int64(i), err: err})
				return
			}
			unknown = report
			if !yield(part{file: int64(i), err: report}) {
				return
			}
		}
		if unknown != nil && len(in.stats.Formats) == 0 {
			yield(part{file: int64(len(sources)), err: errNothingRead(unknown)})
		}
	}
}

// parts yields the parts of the file and reports whether the consumer wants more.
func (f *file) parts(size int, buf *[]byte, yield func(part) bool) (more bool) {
	defer f.release()
	give := func(p part) bool {
		f.users.Add(1)
		p.file, p.src, p.at.name = f.number, f, f.path
		if yield(p) {
			return true
		}
		if !p.last {
			f.broken.Store(true)
		}
		return false
	}
	if shared := f.shared(size); shared != nil {
		for i, records := range shared {
			if !give(part{records: records, last: i == len(shared)-1}) {
				return false
			}
		}
		return true
	}
	if size == 0 || f.format == nil || f.format.cut == nil {
		return give(part{rest: f.src, last: true})
	}
	c := cutter{src: f.src, cut: f.format.cut, size: size, spare: f.in.memory.spare}
	var sources *entries.Sources // the resources in effect behind the parts so far
	if f.inherits() || f.format.inherits && f.hosts {
		sources = new(entries.Sources)
	}
	for !c.done {
		p := part{}
		p.text, p.rest, p.at.Position = c.next(*buf)
		p.last, p.at.lines = c.done, c.lines
		if sources != nil {
			p.at.sources = sources.Clone()
			sources.Follow(p.text)
		}
		if !give(p) {
			return false
		}
	}
	return true
}

// shared returns the records of a file with random access in parts, nil for any other file. If partsAt fails, the file
// is read whole.
func (f *file) shared(size int) []iter.Seq2[op.Record, error] {
	// The resource at the start of a part is unknown.
	if size == 0 || f.format == nil || f.format.partsAt == nil || f.anywhere == nil || f.inherits() {
		return nil
	}
	counted := f.counted.n
	parts, err := f.format.partsAt(f.anywhere, f.anywhere.size, f.path, size)
	if err != nil || len(parts) < 2 {
		f.counted.count(int(counted - f.counted.n)) // it is read from its start
		return nil
	}
	return parts
}

func (p *part) read(in *Input, rs *readers, yield func(op.Record, error) bool) {
	f := p.src
	if f == nil {
		yield(op.Record{}, p.err)
		return
	}
	records := p.records
	switch {
	case records != nil, f.format == nil:
	case p.text != nil:
		src, free := in.memory.source(bytes.NewBuffer(p.text))
		defer free()
		records = rs.of(f.format, in.readerOptions())(src, p.at)
	case f.anywhere != nil && f.format.recordsAt != nil:
		records = f.format.recordsAt(in.readerOptions(), f.anywhere, f.anywhere.size, f.path)
	default:
		src, free := in.memory.source(p.rest)
		defer free()
		records = rs.of(f.format, in.readerOptions())(src, p.at)
	}
	if records != nil && f.inherits() {
		var resource *op.Resource // the last one before the part, if known
		if p.at.sources != nil {
			resource = p.at.sources.Announced()
		}
		records = inheriting(f.mapping, records, resource)
	}
	if !f.part(records, p.last, yield) {
		f.broken.Store(true)
	}
}

// part yields records of the file, and the damage of its compressed data behind the last ones. It reports whether it
// reached the end.
func (f *file) part(records iter.Seq2[op.Record, error], last bool, yield func(op.Record, error) bool) bool {
	cut := false
	if records != nil {
		for rec, err := range records {
			syntax, ok := errors.AsType[*op.SyntaxError](err)
			if err != nil && !ok {
				yield(op.Record{}, f.wrap(err))
				return false
			}
			cut = cut || ok && syntax.Truncated
			if f.in.memory.refused.Load() != nil {
				break
			}
			if !yield(rec, err) {
				return false
			}
		}
	}
	if refused := f.in.memory.refused.Load(); refused != nil {
		yield(op.Record{}, refused)
		return false
	}
	// The reader of the format may have reported the early end.
	c := f.content
	if !last || c.damage == nil || cut && c.truncated() {
		return true
	}
	return yield(op.Record{}, &op.SyntaxError{
		File: f.path, Offset: c.total, Truncated: c.truncated(), Class: op.ErrorDamaged,
		Msg: "compressed data ends early or is damaged: " + c.damage.Error(),
	})
}

// The sizes of a part. A part grows until a record ends in it. Above maxPart the rest of the file is read as a stream.
// A part should fit into a core's cache.
const (
	partBytes = 256 << 10
	maxPart   = 16 << 20
)

// cutFunc returns the end of the last whole record in text, 0 if there is none. text starts with a record. lines
// reports whether the records are lines; a caller that has found this out passes known. first is the beginning of the
// file.
type cutFunc func(text, first []byte, known bool) (end int, lines bool)

type cutter struct {
	src   io.Reader
	cut   cutFunc // of the file's format
	first []byte  // the beginning of the file
	lines bool
	size  int // how much of the file makes a part
	// rest is the input behind the last part. It shares that part's buffer: the buffer must not change before the next
	// call of next.
	rest []byte
	at   op.Position // of rest
	done bool        // the last part has been returned
	// spare reserves bytes for parts and reports whether they are available.
	spare func(bytes int64) bool
}

const maxFirst = 64 // how much of the beginning of a file the cut functions need

// next returns the next part. The caller owns its buffer. If the file cannot be cut or reading fails, the rest comes as
// a stream, which yields the error.
func (c *cutter) next(buf []byte) (part []byte, stream io.Reader, at op.Position) {
	at = c.at
	if !c.grow(&buf, len(c.rest)) {
		c.done = true
		return nil, io.MultiReader(bytes.NewReader(c.rest), c.src), at
	}
	buf = append(buf[:0], c.rest...)
	for n := max(c.size-len(buf), c.size/4, 1); ; n = len(buf) {
		if len(buf) >= maxPart || !c.grow(&buf, len(buf)+n) {
			c.done = true
			return nil, io.MultiReader(bytes.NewReader(buf), c.src), at
		}
		m, err := io.ReadFull(c.src, buf[len(buf):len(buf)+n])
		buf = buf[:len(buf)+m]
		if c.first == nil {
			c.first = bytes.Clone(buf[:min(len(buf), maxFirst)])
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			c.done = true
			return buf, nil, at
		case err != nil:
			c.done = true
			return nil, io.MultiReader(bytes.NewReader(buf), failing{err}), at
		}
		if end, lines := c.cut(buf, c.first, c.lines); end > 0 {
			c.lines = c.lines || lines
			c.rest = buf[end:]
			c.at.Offset += int64(end)
			c.at.Lines += int64(bytes.Count(buf[:end], []byte{'\n'}))
			return buf[:end], nil, at
		}
	}
}

func (c *cutter) grow(buf *[]byte, size int) bool {
	if size > max(cap(*buf), 4*partBytes) && c.spare != nil && !c.spare(int64(size-cap(*buf))) {
		return false
	}
	*buf = slices.Grow(*buf, max(0, size-len(*buf)))
	return true
}

type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

func cutLines(text, _ []byte, _ bool) (end int, lines bool) {
	end = bytes.LastIndexByte(text, '\n') + 1
	return end, end > 0
}

// cutDocuments cuts behind the last newline followed by a document with the same first member as the first document.
// Lines within a document are indented or start with other members.
func cutDocuments(text, first []byte, known bool) (end int, lines bool) {
	if !bytes.HasPrefix(first, []byte(`{"`)) {
		return 0, false
	}
	name := bytes.IndexByte(first[2:], '"')
	if name < 0 {
		return 0, false
	}
	start := first[:2+name+1]
	// Forwards: IndexByte is many times as fast as LastIndexByte, and documents are long lines.
	n := 0
	for second := !known; ; second = false {
		newline := bytes.IndexByte(text[n:], '\n')
		if newline < 0 {
			return end, lines
		}
		n += newline + 1
		if bytes.HasPrefix(text[n:], start) {
			end = n
			lines = lines || second
		}
	}
}
