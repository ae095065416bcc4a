package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
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
	for worker := range in.memory.workers(workers) {
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
