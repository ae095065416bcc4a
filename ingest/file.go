package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

type file struct {
	in      *Input
	number  int64 // from 0
	path    string
	members []source // of an archive; nil for any other file
	counted *countingReader
	content *content
	// anywhere reads the file at any offset; nil if the file allows only sequential reads.
	anywhere *countingReaderAt
	closers  []func()

	// format is nil for an empty file. src yields the content from its start.
	format *Format
	src    io.Reader
	// hosts is set if a resource at the start of the file states its host.
	hosts bool
	// mapping selects the attributes that entries inherit from their resources.
	mapping *attr.Mapping
	// users counts the goroutines that make parts of the file or read them. broken is set if a part was not read to its
	// end.
	users  atomic.Int64
	broken atomic.Bool
}

// open opens the next file and finds its format. Some errors do not end the input, see passedOver.
func (in *Input) open(s source) (*file, error) {
	in.memory.opened(s.path)
	in.mu.Lock()
	number := len(in.files)
	in.stats.Files++
	in.files = append(in.files, fileInfo{})
	in.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	src, closeFile, err := in.opts.openSource(cmp.Or(s.archive, s.path))
	if err != nil {
		return nil, fmt.Errorf("reading input: %w", err)
	}
	f := &file{in: in, number: int64(number), path: s.path, mapping: in.mapping, closers: []func(){closeFile}}
	f.users.Store(1)
	if z := s.zipped; z != nil {
		at, _ := src.(io.ReaderAt) // see members
		src = io.NewSectionReader(at, z.offset, z.size)
	}
	f.counted = &countingReader{src: src, seen: in.count}
	t := in.opts.tail
	if t != nil {
		t.open(src, s.path != Stdin)
		f.counted.src = t
	}
	if f.content, err = decompress(f.counted, s.zipped, t); err == errZip {
		f.members, err = in.members(s, src)
	} else if err == nil {
		f.closers = append(f.closers, f.content.close)
		f.anywhere = seekable(src, f.content, f.counted, in.memory)
		err = f.detect(in.opts.Format)
	}
	if err == nil && f.format != nil && f.format.partial && !in.partials {
		err = errPartial
	}
	if err == nil && f.format != nil && t != nil {
		if t.waits = f.format.grows && !f.content.isCompressed; t.format != nil {
			t.format(f.format.Name)
		}
	}
	if err != nil {
		f.close()
		return nil, f.wrap(err)
	}
	if f.members != nil { // they count in its place
		f.close()
		f.counted.count(int(-f.counted.n))
		in.mu.Lock()
		defer in.mu.Unlock()
		in.stats.Files--
		in.files = in.files[:number]
		return f, nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.files[number].format = f.formatName()
	if name := f.formatName(); name != "" && !slices.Contains(in.stats.Formats, name) {
		in.stats.Formats = append(in.stats.Formats, name)
	}
	return f, nil
}

func (o *Options) openSource(path string) (io.Reader, func(), error) {
	if path == Stdin {
		if o.Stdin != nil {
			return o.Stdin, func() {}, nil
		}
		return os.Stdin, func() {}, nil
	}
	var f fs.File
	var err error
	if o.FS != nil {
		f, err = o.FS.Open(path)
	} else {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, nil, err
	}
	// Close of a file that was only read loses no data.
	return f, func() { _ = f.Close() }, nil
}

func (f *file) close() {
	for _, c := range f.closers {
		c()
	}
}

// release drops one user of the file, which may be nil. The last one closes it.
func (f *file) release() {
	if f == nil || f.users.Add(-1) > 0 {
		return
	}
	if !f.broken.Load() {
		if f.anywhere != nil && f.format != nil && f.format.recordsAt != nil {
			f.anywhere.count(f.anywhere.size) // the parts left out
		}
		f.in.mu.Lock()
		f.in.files[f.number].bytes = f.counted.n
		f.in.mu.Unlock()
	}
	f.close()
}

func (f *file) detect(name string) (err error) {
	t := f.in.opts.tail
	if f.content.isCompressed {
		t = nil
	}
	var head []byte
	var zeros int64
	f.format, zeros, head, err = detect(f.content, name, t)
	f.src = io.MultiReader(io.LimitReader(zeroReader{}, zeros), bytes.NewReader(head), f.content)
	if f.isReport() {
		err = &refusedError{"a report of Nsight Systems: export it with nsys export --type sqlite " + filepath.Base(f.path)}
	}
	f.hosts = bytes.Contains(head, []byte(`"`+attrkey.HostName+`"`))
	return err
}

// zeroReader is an endless source of zero bytes.
type zeroReader struct{}

// Read implements io.Reader.
func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// isReport reports whether the file is a report of Nsight Systems. Such a file has no telling beginning: its name
// decides if the content has no format, or one that arbitrary bytes may match.
func (f *file) isReport() bool {
	ext := filepath.Ext(f.path)
	return (ext == ".nsys-rep" || ext == ".qdrep") && slices.Contains([]string{"", "perfetto", "otlp-proto"},
		f.formatName())
}

func (f *file) formatName() string {
	if f.format == nil {
		return ""
	}
	return f.format.Name
}

func (f *file) wrap(err error) error {
	if refused, ok := errors.AsType[*MemoryError](err); ok { // it names the file
		return refused
	}
	return fmt.Errorf("reading %s: %w", f.path, err)
}

func (f *file) inherits() bool {
	return f.format != nil && f.format.inherits && len(attrmap.Kept(f.mapping)) > 0
}

// inheriting adds the attributes that m keeps to entries and spans, from their resources and scopes. resource is the
// resource of the first records.
func inheriting(
	m *attr.Mapping, records iter.Seq2[op.Record, error], resource *op.Resource,
) iter.Seq2[op.Record, error] {
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

type readers map[*Format]readFunc

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
