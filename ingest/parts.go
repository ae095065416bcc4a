package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Read calls read for every part of the input, in the given number of goroutines
// at once. Files are cut into parts of some hundred kilobytes where their format
// allows it: entries, OTLP JSON Lines and OTLP protobuf. A Parquet file
// that can be read anywhere has larger parts. Any other file is one part.
//
// Files and parts are numbered from 0 in the order of the input, parts across
// files; worker is the number of the goroutine. The records of a part are those
// of [Input.Records]: valid until the next one, and to be ranged over once. Read
// ends early when a call returns an error, and returns that of the first part.
func (in *Input) Read(workers int, read func(worker int, file, part int64, records iter.Seq2[op.Record, error]) error) error {
	if err := in.begin(); err != nil {
		return err
	}
	q := &partQueue{in: in}
	errs := make([]error, max(1, workers))
	failed := make([]int64, len(errs)) // numbers of the parts
	var running sync.WaitGroup
	for worker := range errs {
		running.Go(func() {
			for p, records := range q.parts() {
				if errs[worker] = read(worker, p.file, p.number, records); errs[worker] != nil {
					failed[worker] = p.number
					q.stop()
					return
				}
			}
		})
	}
	running.Wait()
	first := 0
	for i, err := range errs {
		if err != nil && (errs[first] == nil || failed[i] < failed[first]) {
			first = i
		}
	}
	return errs[first]
}

// partQueue hands the parts of an input to the workers of [Input.Read].
type partQueue struct {
	in *Input

	mu      sync.Mutex // guards the fields below and in.files
	sources []source
	started bool
	stopped bool
	number  int64 // of the next part
	// cutting is the file that is being cut; nil for none.
	cutting *cutFile
	// sharing is the file whose parts are being handed out; nil for none.
	sharing *sharedFile
	unknown *op.SyntaxError
	known   bool // there was a file of a known format

	progress sync.Mutex
}

// part is a part of an input: of a file that is cut or shared, a file that is
// read as a stream, or an error in place of one.
type part struct {
	file, number int64

	src    *file
	shared *sharedFile
	index  int // of the part of a shared file
	text   []byte
	rest   io.Reader
	at     place
	last   bool // of the file
	err    error
}

// cutFile is a file that is being cut.
type cutFile struct {
	*file
	index int64
	cutter
	parts int
	// sources are the resources that hold behind the parts so far; nil where none of
	// their attributes are asked for.
	sources *entries.Sources
}

// sharedFile is a file that several goroutines read, each a part at a time.
type sharedFile struct {
	*file
	index int64
	parts []iter.Seq2[op.Record, error]
	next  int
	// left counts the parts that have not been read, and broken those that were
	// not read to their end.
	left, broken int
}

// parts yields parts and their records for one goroutine. Every part is given to
// one of the goroutines.
func (q *partQueue) parts() iter.Seq2[*part, iter.Seq2[op.Record, error]] {
	return func(yield func(*part, iter.Seq2[op.Record, error]) bool) {
		var rs readers
		var buf []byte
		for {
			p, ok := q.next(buf)
			if !ok {
				return
			}
			more := yield(&p, func(yield func(op.Record, error) bool) { q.read(&p, &rs, yield) })
			q.release(&p)
			if !more {
				return
			}
			buf = p.text[:0]
		}
	}
}

// stop makes the goroutines end after their current parts.
func (q *partQueue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	if q.cutting != nil {
		q.cutting.close()
		q.cutting = nil
	}
	if s := q.sharing; s != nil {
		q.sharing = nil
		rest := len(s.parts) - s.next
		s.broken += rest
		q.passed(s, rest)
	}
}

// release ends a part.
func (q *partQueue) release(p *part) {
	if p.shared != nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.passed(p.shared, 1)
	} else if p.last {
		p.src.close()
	}
}

// passed notes that n parts of a shared file are done with. The caller holds
// q.mu.
func (q *partQueue) passed(s *sharedFile, n int) {
	if s.left -= n; s.left > 0 {
		return
	}
	if s.broken == 0 {
		s.anywhere.countRest()
		q.in.files[s.index].bytes = s.counted.n
	}
	s.close()
}

// next returns the next part, whose text may lie in buf.
func (q *partQueue) next(buf []byte) (p part, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return part{}, false
	}
	p, ok = q.take(buf)
	if !ok || p.err != nil && !isSyntax(p.err) {
		q.stopped = true
	}
	p.number = q.number
	q.number++
	return p, ok
}

func isSyntax(err error) bool {
	_, ok := errors.AsType[*op.SyntaxError](err)
	return ok
}

func (q *partQueue) take(buf []byte) (p part, ok bool) {
	if !q.started {
		q.started = true
		var err error
		if q.sources, err = q.in.opts.expand(q.in.paths); err != nil {
			return part{err: err}, true
		}
	}
	for {
		if q.cutting != nil {
			return q.cut(buf), true
		}
		if q.sharing != nil {
			return q.share(), true
		}
		if len(q.in.files) == len(q.sources) {
			return q.end()
		}
		if p, ok = q.open(q.sources[len(q.in.files)]); ok {
			return p, true
		}
	}
}

// end returns the error that all files were of unknown formats.
func (q *partQueue) end() (p part, ok bool) {
	if q.unknown == nil || q.known {
		return part{}, false
	}
	err := errNothingRead(q.unknown)
	q.unknown = nil
	return part{err: err}, true
}

// open opens the next file. It returns a part where the file is not to be cut.
func (q *partQueue) open(s source) (p part, ok bool) {
	p.file = int64(len(q.in.files))
	f, err := q.in.open(s, q.count)
	if err != nil {
		p.err = err
		if left, ok := errors.AsType[*passedOverError](err); ok {
			q.unknown = left.report
			p.err = q.unknown
		}
		return p, true
	}
	q.known = q.known || f.format != nil
	p.src, p.last, p.at = f, true, place{name: s.path}
	size := cmp.Or(q.in.partSize, partBytes)
	// Which resource holds at the start of a part is not known.
	if f.format != nil && f.format.partsAt != nil && f.anywhere != nil && !f.inherits() {
		// An error is that of the whole file, which is read then.
		counted := f.counted.n
		if parts, err := f.format.partsAt(f.anywhere, f.anywhere.size, f.path, size); err == nil && len(parts) > 1 {
			q.sharing = &sharedFile{file: f, index: p.file, parts: parts, left: len(parts)}
			return part{}, false
		}
		f.counted.count(int(counted - f.counted.n)) // it is read from its start
	}
	if f.format == nil || f.format.cut == nil && !f.format.walks {
		p.rest = f.src
		return p, true
	}
	q.cutting = &cutFile{file: f, index: p.file, cutter: cutter{src: f.src, cut: f.format.cut, size: size}}
	if f.format.walks {
		q.cutting.walk = otlp.NewProtoWalk()
	}
	if f.inherits() || f.format.inherits && f.hosts {
		q.cutting.sources = new(entries.Sources)
	}
	return part{}, false
}

// cut returns the next part of the file that is being cut.
func (q *partQueue) cut(buf []byte) part {
	c := q.cutting
	var proto otlp.ProtoPlace
	if c.walk != nil {
		proto = c.walk.Place()
	}
	text, stream, at := c.next(buf)
	p := part{file: c.index, src: c.file, text: text, rest: stream, last: c.done}
	p.at = place{name: c.path, Position: at, cut: c.parts > 0 || !c.done, lines: c.lines, proto: proto}
	p.at.more = !c.done
	if c.sources != nil {
		p.at.sources = c.sources.Clone()
		c.sources.Follow(text)
	}
	c.parts++
	if c.done {
		q.cutting = nil
	}
	return p
}

// share returns the next part of the file that is being shared.
func (q *partQueue) share() part {
	s := q.sharing
	p := part{file: s.index, src: s.file, shared: s, index: s.next}
	if s.next++; s.next == len(s.parts) {
		q.sharing = nil
	}
	return p
}

// read yields the records of a part.
func (q *partQueue) read(p *part, rs *readers, yield func(op.Record, error) bool) {
	f := p.src
	if f == nil {
		yield(op.Record{}, p.err)
		return
	}
	if s := p.shared; s != nil {
		more, _, err := f.part(s.parts[p.index], nil, yield)
		if err != nil {
			yield(op.Record{}, err)
		}
		if err != nil || !more {
			q.mu.Lock()
			defer q.mu.Unlock()
			s.broken++
		}
		return
	}
	read := rs.of(f.format, q.in.readerOptions())
	var more, cut bool
	var err error
	switch {
	case p.text != nil:
		more, cut, err = f.part(read(bytes.NewBuffer(p.text), p.at), p.at.announced(), yield)
	case p.at.cut:
		more, cut, err = f.part(read(p.rest, p.at), p.at.announced(), yield)
	default:
		f.src = p.rest
		if more, err = f.records(read, yield); err == nil && more {
			q.finish(p)
		}
		if err != nil {
			yield(op.Record{}, err)
		}
		return
	}
	switch {
	case err != nil:
		yield(op.Record{}, err)
	case more && p.last && f.end(cut, yield):
		q.finish(p)
	}
}

// finish notes the size of a file that has been read.
func (q *partQueue) finish(p *part) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.in.files[p.file].bytes = p.src.counted.n
}

// count counts the bytes of a read.
func (q *partQueue) count(n int) {
	q.progress.Lock()
	defer q.progress.Unlock()
	q.in.count(n)
}
