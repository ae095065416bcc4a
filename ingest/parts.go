package ingest

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/optrace/optrace/op"
)

// Parts is an input that several goroutines read at once. Files are cut into
// parts of some hundred kilobytes where their format allows it: entries, OTLP JSON
// Lines and length-prefixed frames. Any other file is one part.
//
//	parts := ingest.Options{}.Parts(paths...)
//	for range workers {
//		go func() {
//			for part, records := range parts.Worker() {
//				for rec, err := range records { … }
//			}
//		}()
//	}
//
// A Parts is safe for concurrent use.
type Parts struct {
	opts Options
	size int // of a part in bytes

	mu      sync.Mutex // of what follows
	paths   []string
	sources []source
	started bool
	stopped bool
	number  int64 // of the next part
	// cutting is the file that is being cut; nil for none.
	cutting *cutFile
	files   []File
	unknown *op.SyntaxError
	known   bool // a file of a known format was there

	progress sync.Mutex
}

// Part is a part of an input.
type Part struct {
	// File numbers the files and Number the parts of all files, from 0 on, in the
	// order of the input.
	File, Number int64

	// A part is one of a file that is cut, a file that is read as a stream, or the
	// error in place of one.
	file *file
	text []byte
	src  io.Reader
	at   place
	last bool // of the file
	err  error
}

// cutFile is a file that is being cut.
type cutFile struct {
	*file
	index int64
	cutter
	parts int
}

// Parts returns the input that the files, directories and "-" among paths form,
// in parts. EndFile is not called; see [Parts.Files].
func (o Options) Parts(paths ...string) *Parts {
	o.Limits = o.Limits.orDefault()
	return &Parts{opts: o, size: partBytes, paths: paths}
}

// Worker returns parts and their records for one goroutine; each calls it once.
// Every part is given to one of the workers. What is said of records at
// [Input.Records] holds for those of a part; they are valid until the next one,
// and may be ranged over once. An error that is no [*op.SyntaxError] ends the
// part, and the caller calls Stop.
func (p *Parts) Worker() iter.Seq2[Part, iter.Seq2[op.Record, error]] {
	return func(yield func(Part, iter.Seq2[op.Record, error]) bool) {
		var rs readers
		var buf []byte
		for {
			part, ok := p.next(buf)
			if !ok {
				return
			}
			more := yield(part, func(yield func(op.Record, error) bool) { p.read(&part, &rs, yield) })
			if part.last {
				part.file.close()
			}
			if !more {
				return
			}
			buf = part.text[:0]
		}
	}
}

// Stop makes the workers end after the parts that they are at.
func (p *Parts) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.cutting != nil {
		p.cutting.close()
		p.cutting = nil
	}
}

// Files returns the files in the order of the input, once all workers are done.
func (p *Parts) Files() []File {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.files)
}

// next returns the next part, whose text may lie in buf.
func (p *Parts) next(buf []byte) (part Part, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return Part{}, false
	}
	part, ok = p.take(buf)
	if !ok || part.err != nil && !isSyntax(part.err) {
		p.stopped = true
	}
	part.Number = p.number
	p.number++
	return part, ok
}

func isSyntax(err error) bool {
	_, ok := errors.AsType[*op.SyntaxError](err)
	return ok
}

func (p *Parts) take(buf []byte) (part Part, ok bool) {
	if !p.started {
		p.started = true
		var err error
		if p.sources, err = p.opts.expand(p.paths); err != nil {
			return Part{err: err}, true
		}
	}
	for {
		if p.cutting != nil {
			return p.cut(buf), true
		}
		if len(p.files) == len(p.sources) {
			return p.end()
		}
		if part, ok = p.open(p.sources[len(p.files)]); ok {
			return part, true
		}
	}
}

// end returns the error that all files were of unknown formats.
func (p *Parts) end() (part Part, ok bool) {
	if p.unknown == nil || p.known {
		return Part{}, false
	}
	err := errNoFormat(p.unknown)
	p.unknown = nil
	return Part{err: err}, true
}

// open opens the next file. It returns a part where the file is not to be cut.
func (p *Parts) open(s source) (part Part, ok bool) {
	part.File = int64(len(p.files))
	f, err := p.opts.open(s.path, p.count)
	if err != nil {
		part.err = err
		return part, true
	}
	p.files = append(p.files, File{Path: s.path})
	if err = f.detect(); err != nil {
		f.close()
		if part.err = err; s.isOther(err) {
			p.unknown = s.refusal(err)
			part.err = p.unknown
		}
		return part, true
	}
	p.known = p.known || f.format != nil
	p.files[part.File].Format = f.formatName()
	part.file, part.last, part.at = f, true, place{name: s.path}
	if f.format == nil || f.format.cut == nil {
		part.src = f.src
		return part, true
	}
	p.cutting = &cutFile{file: f, index: part.File, cutter: cutter{src: f.src, cut: f.format.cut, size: p.size}}
	return Part{}, false
}

// cut returns the next part of the file that is being cut.
func (p *Parts) cut(buf []byte) Part {
	c := p.cutting
	text, stream, at := c.next(buf)
	part := Part{File: c.index, file: c.file, text: text, src: stream, last: c.done}
	part.at = place{name: c.path, Position: at, cut: c.parts > 0 || !c.done, lines: c.lines}
	c.parts++
	if c.done {
		p.cutting = nil
	}
	return part
}

// read yields the records of a part.
func (p *Parts) read(part *Part, rs *readers, yield func(op.Record, error) bool) {
	f := part.file
	if f == nil {
		yield(op.Record{}, part.err)
		return
	}
	read := rs.of(f.format, p.opts.Mapping)
	var more, cut bool
	var err error
	switch {
	case part.text != nil:
		more, cut, err = f.part(read(bytes.NewBuffer(part.text), part.at), yield)
	case part.at.cut:
		more, cut, err = f.part(read(part.src, part.at), yield)
	default:
		f.src = part.src
		if more, err = f.records(read, yield); err == nil && more {
			p.finish(part)
		}
		if err != nil {
			yield(op.Record{}, err)
		}
		return
	}
	switch {
	case err != nil:
		yield(op.Record{}, err)
	case more && part.last && f.end(cut, yield):
		p.finish(part)
	}
}

// finish notes the size of a file that has been read.
func (p *Parts) finish(part *Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[part.File].Bytes = part.file.counted.n
}

// count passes on what a read brought.
func (p *Parts) count(n int) {
	if p.opts.Progress == nil {
		return
	}
	p.progress.Lock()
	defer p.progress.Unlock()
	p.opts.Progress(n)
}
