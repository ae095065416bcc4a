package ingest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

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
	hosts  bool // set if a resource at the start of the file states its host
	// mapping selects the attributes that entries inherit from their resources.
	mapping *attr.Mapping
	// users counts the goroutines that make parts of the file or read them. broken is set if a part was not read to its
	// end.
	users  atomic.Int64
	broken atomic.Bool
}

// open opens the next file and finds its format. Some errors do not end the input, see passedOver.
func (in *Input) open(s source) (*file, error) {
	in.memory.mu.Lock()
	in.memory.file = s.path
	in.memory.read = 0
	in.memory.mu.Unlock()
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
		t.src = src
		if s.path != Stdin { // a regular file may grow
			t.file, _ = regular(src)
		}
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

// The limits of the content of a compressed file. Decompression streams: all but the window bound time, not memory.
const (
	// maxRatio is the largest accepted expansion. Repetitive spans reach some hundreds; gzip cannot exceed 1032.
	maxRatio = 2000
	// freeDecompressedBytes are accepted at any ratio: small files of equal lines compress extremely well.
	freeDecompressedBytes = 64 << 20
	// maxWindowBytes bounds the memory of a zstd frame: the largest window that zstd uses without a special flag.
	maxWindowBytes = 128 << 20
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// content is the content of a file after decompression. A truncated or damaged file ends early: Read returns io.EOF
// after the last good byte, and damage holds the reason.
type content struct {
	src          io.Reader
	stored       *countingReader
	isCompressed bool
	total        int64
	damage       error
	close        func()
}

// decompress returns the content of file. file counts the stored bytes, of a file of an archive if z is set.
func decompress(file *countingReader, z *zipped, t *tail) (*content, error) {
	src := io.Reader(file)
	if z != nil {
		src = z.content(file)
	}
	buffered := bufio.NewReaderSize(src, storedBuffer)
	head, err := buffered.Peek(len(zstdMagic))
	for errors.Is(err, io.EOF) && t.grows() && t.wait() {
		head, err = buffered.Peek(len(zstdMagic))
	}
	if err != nil && !errors.Is(err, io.EOF) && (z == nil || file.err != nil) {
		return nil, err
	}
	if bytes.HasPrefix(head, zipMagic) {
		return nil, errZip
	}
	isGzip, isZstd := bytes.HasPrefix(head, gzipMagic), bytes.Equal(head, zstdMagic)
	c := &content{src: buffered, stored: file, close: func() {}, isCompressed: isGzip || isZstd || z != nil}
	switch {
	case isGzip:
		c.src, c.damage = gzip.NewReader(buffered)
	case isZstd:
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxWindowBytes), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("opening zstd: %w", err)
		}
		c.src, c.close = z, z.Close
	}
	return c, nil
}

const storedBuffer = 64 << 10

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	if c.damage != nil {
		return 0, io.EOF
	}
	n, err := c.src.Read(p)
	if !c.isCompressed {
		return n, err
	}
	c.total += int64(n)
	switch {
	case c.total > freeDecompressedBytes && c.total > maxRatio*c.stored.n:
		return n, fmt.Errorf("decompressed content exceeds %d times the size of the file", maxRatio)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return n, fmt.Errorf("zstd frame asks for more than %d bytes of memory: %w", maxWindowBytes, err)
	case err != nil && err != io.EOF && c.stored.err == nil:
		// The file itself was read without an error: its compressed data are damaged or truncated.
		c.damage = err
		err = io.EOF
	}
	return n, err
}

func (c *content) truncated() bool {
	return errors.Is(c.damage, io.ErrUnexpectedEOF) || errors.Is(c.damage, io.EOF)
}

type countingReader struct {
	src  io.Reader
	n    int64
	err  error
	seen func(n int)
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	r.count(n)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// count adds n. It is negative for bytes to be read again.
func (r *countingReader) count(n int) {
	r.n += int64(n)
	if n != 0 && r.seen != nil {
		r.seen(n)
	}
}

var zipMagic = []byte("PK\x03\x04")

var errZip = errors.New("a zip archive") // the error of [decompress] for a zip archive

// zipped is a file in a zip archive.
type zipped struct {
	offset, size int64 // of the stored bytes
	isDeflated   bool
	sum          uint32
}

// content returns the content of a file, given its stored bytes. At its end it checks the sum.
func (z *zipped) content(stored io.Reader) io.Reader {
	if z.isDeflated {
		stored = flate.NewReader(stored)
	}
	return &summed{src: stored, sum: crc32.NewIEEE(), want: z.sum}
}

type summed struct {
	src  io.Reader
	sum  hash.Hash32
	want uint32
}

// Read implements io.Reader.
func (r *summed) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	_, _ = r.sum.Write(p[:n]) // does not fail
	if err == io.EOF && r.sum.Sum32() != r.want {
		err = zip.ErrChecksum
	}
	return n, err
}

// countingReaderAt reads a file at any offset. It adds to the count of the sequential reader, up to the size of the
// file: formats may skip parts and read others twice.
type countingReaderAt struct {
	file    *os.File
	size    int64
	mu      sync.Mutex // of counted
	counted *countingReader
	memory  *memory
}

// Hold bounds the memory of readers of the file, see [Input.Hold].
func (r *countingReaderAt) Hold(bytes int64) error { return r.memory.hold(bytes) }

// seekable returns a reader of the file behind c, nil if src is compressed or no regular file.
func seekable(src io.Reader, c *content, counted *countingReader, m *memory) *countingReaderAt {
	file, info := regular(src)
	if file == nil || file == os.Stdin || c.isCompressed { // standard input may not stand at its beginning
		return nil
	}
	return &countingReaderAt{file: file, size: info.Size(), counted: counted, memory: m}
}

// regular returns src if it is a regular file, nil otherwise. Reads of a regular file do not block.
func regular(src io.Reader) (*os.File, fs.FileInfo) {
	if file, ok := src.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return file, info
		}
	}
	return nil, nil
}

// ReadAt implements io.ReaderAt.
func (r *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(p, off)
	r.count(int64(n))
	return n, err
}

func (r *countingReaderAt) count(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = min(n, r.size-r.counted.n); n > 0 {
		r.counted.count(int(n))
	}
}
