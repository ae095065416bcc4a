package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// file is a file that is being read.
type file struct {
	path    string
	counted *countingReader
	content *content
	// anywhere is the file where it can be read anywhere; nil for others.
	anywhere *countingReaderAt
	closers  []func()

	// format is nil for an empty file, and src yields its content from the start.
	format *Format
	src    io.Reader
	// hosts reports whether a resource at the start of the file states its host.
	hosts bool
	// mapping says which attributes entries inherit from their resources, memory what readers may hold.
	mapping *attr.Mapping
	memory  *memory
	// forced is the name of the format; "" where its content tells.
	forced string
}

// open opens a file and calls seen with the number of bytes of each read.
func (o *Options) open(path string, seen func(n int)) (*file, error) {
	src, closeFile, err := o.openSource(path)
	if err != nil {
		return nil, fmt.Errorf("reading input: %w", err)
	}
	f := &file{path: path, counted: &countingReader{src: src, seen: seen}, closers: []func(){closeFile}}
	f.mapping, f.forced = o.Mapping, o.Format
	f.content, err = decompress(f.counted, o.Limits)
	if err != nil {
		closeFile()
		return nil, f.wrap(err)
	}
	f.closers = append(f.closers, f.content.close)
	f.anywhere = seekable(src, f.content, f.counted)
	return f, nil
}

func (o *Options) openSource(path string) (io.Reader, func(), error) {
	if path == Stdin {
		if o.Stdin != nil {
			return o.Stdin, func() {}, nil
		}
		return os.Stdin, func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	// A failed Close of a file that was only read loses nothing.
	return f, func() { _ = f.Close() }, nil
}

func (f *file) close() {
	for _, c := range f.closers {
		c()
	}
}

// detect finds the format of the file.
func (f *file) detect() (err error) {
	var head []byte
	f.format, head, f.src, err = detect(f.content, f.forced)
	if f.isReport() {
		err = &refusedError{"a report of Nsight Systems, which is read once it is exported: nsys export --type sqlite " + filepath.Base(f.path)}
	}
	if err != nil {
		return f.wrap(err)
	}
	f.hosts = bytes.Contains(head, []byte(`"`+attrkey.HostName+`"`))
	return nil
}

// isReport reports whether the file is one of Nsight Systems' own. Their beginning does not tell, so
// that it is one by its name where that is of no format, or of one that any bytes may start like.
func (f *file) isReport() bool {
	ext := filepath.Ext(f.path)
	return (ext == ".nsys-rep" || ext == ".qdrep") && slices.Contains([]string{"", "perfetto", "otlp-proto"}, f.formatName())
}

// formatName returns the name of the format, "" for an empty file.
func (f *file) formatName() string {
	if f.format == nil {
		return ""
	}
	return f.format.Name
}

func (f *file) wrap(err error) error { return fmt.Errorf("reading %s: %w", f.path, err) }

// records yields the records of the whole file, and reports whether more are
// wanted.
func (f *file) records(read readFunc, yield func(op.Record, error) bool) (more bool, err error) {
	if f.format == nil {
		return f.end(false, yield), nil
	}
	records := read
	if f.anywhere != nil && f.format.recordsAt != nil {
		records = func(io.Reader, place) iter.Seq2[op.Record, error] {
			return f.format.recordsAt(newReaderOptions(f.mapping, f.memory), f.anywhere, f.anywhere.size, f.path)
		}
		defer f.anywhere.countRest()
	}
	more, cut, err := f.part(records(f.src, place{name: f.path}), nil, yield)
	if err != nil || !more {
		return false, err
	}
	return f.end(cut, yield), nil
}

// part yields records of the file, in front of which a resource was handed out. cut
// reports whether the last one was cut off.
func (f *file) part(
	records iter.Seq2[op.Record, error], resource *op.Resource, yield func(op.Record, error) bool,
) (more, cut bool, err error) {
	if f.inherits() {
		records = inheriting(f.mapping, records, resource)
	}
	for rec, err := range records {
		if err != nil {
			syntax, ok := errors.AsType[*op.SyntaxError](err)
			if !ok {
				return false, cut, f.wrap(err)
			}
			cut = cut || syntax.Truncated
		}
		if !yield(rec, err) {
			return false, cut, nil
		}
	}
	return true, cut, nil
}

// inherits reports whether entries and spans are to get attributes of their resources.
func (f *file) inherits() bool {
	return f.format != nil && f.format.inherits && len(attrmap.Kept(f.mapping)) > 0
}

// inheriting yields records, entries and spans with the attributes of their resources and
// scopes that m asks for. resource is that of the first ones.
func inheriting(m *attr.Mapping, records iter.Seq2[op.Record, error], resource *op.Resource) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for rec, err := range records {
			if rec.Resource != nil {
				resource = rec.Resource.Clone()
			}
			if e, s := rec.Entry, rec.Span; e != nil {
				e.Attrs = attrmap.Inherit(m, e.Attrs, e.Service, scopeOf(e.Extra), resource)
			} else if s != nil {
				s.Attrs = attrmap.Inherit(m, s.Attrs, s.Service, scopeOf(s.Extra), resource)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func scopeOf(x *op.Extra) *op.Scope {
	if x == nil {
		return nil
	}
	return &x.Scope
}

// end yields what is wrong with the compressed data, unless the format's reader
// saw the early end as well.
func (f *file) end(cut bool, yield func(op.Record, error) bool) (more bool) {
	c := f.content
	if c.damage == nil || cut && c.truncated() {
		return true
	}
	return yield(op.Record{}, &op.SyntaxError{
		File: f.path, Offset: c.total, Truncated: c.truncated(), Class: op.ErrorDamaged,
		Msg: "compressed data ends early or is damaged: " + c.damage.Error(),
	})
}

// readers are the readers of one goroutine, by format.
type readers map[*Format]readFunc

// of returns the reader of a format, nil for none.
func (r *readers) of(f *Format, o readerOptions) readFunc {
	if f == nil {
		return nil
	}
	read, ok := (*r)[f]
	if !ok {
		if *r == nil {
			*r = make(readers)
		}
		read = f.open(o)
		(*r)[f] = read
	}
	return read
}
