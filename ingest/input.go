package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Input is an input of files. It can be read several times, each time from its start and with the files' current
// content; standard input only once. It is not safe for concurrent use.
type Input struct {
	opts  Options
	paths []string
	want  attr.Want

	// The fields below belong to the current or last read.
	began    bool
	mapping  *attr.Mapping
	partials bool
	mu       sync.Mutex // guards stats and files
	stats    Stats
	files    []fileInfo
	partSize int // the size of a part in bytes, 0 for the default
	readers  readers
	memory   *memory
}

// Stats counts the input read.
type Stats struct {
	// Files is the number of files, including standard input.
	Files int
	// Bytes is their stored size, before decompression.
	Bytes int64
	// Formats are their formats in order of first appearance.
	Formats []string
}

// Open returns the input of the files, directories and "-" in paths. It opens no file.
func Open(paths ...string) *Input { return Options{}.Open(paths...) }

// Open is [Open] with options.
func (o Options) Open(paths ...string) *Input {
	limit := cmp.Or(o.MaxMemory, DefaultMaxMemory)
	if limit < 0 {
		limit = math.MaxInt64
	}
	return &Input{opts: o, paths: paths, memory: &memory{limit: limit}}
}

// Want selects what the next read yields. By default records have all fields, and a file of partial results is an
// error.
func (in *Input) Want(w attr.Want) { in.want = w }

func (in *Input) begin() error {
	if in.began && slices.Contains(in.paths, Stdin) {
		return errStdinAgain
	}
	if in.opts.Progress != nil && in.stats.Bytes > 0 {
		in.opts.Progress(-int(in.stats.Bytes))
	}
	in.began, in.stats, in.files, in.readers = true, Stats{}, nil, readers{}
	in.mapping, in.partials, in.want = attrmap.With(in.opts.Mapping, in.want), in.want.Partials, attr.Want{}
	in.mapping = attrmap.Holding(in.mapping, in.memory.hold)
	in.memory.held.Store(0)
	in.memory.refused.Store(nil)
	return nil
}

var errStdinAgain = errors.New("reading input: standard input was read before, and can be read once")

// Stats returns the counts of the current or last read.
func (in *Input) Stats() Stats {
	s := in.stats
	s.Formats = slices.Clone(s.Formats)
	return s
}

type fileInfo struct {
	format string // "" for an empty file
	bytes  int64  // as stored, before decompression; 0 until the file has ended
}

// Files yields the format and the stored size of each file that was read to its end, in the order of the input. The
// format of an empty file is "".
func (in *Input) Files() iter.Seq2[string, int64] {
	return func(yield func(format string, bytes int64) bool) {
		for _, f := range in.files {
			if !yield(f.format, f.bytes) {
				return
			}
		}
	}
}

// Entries yields the operations of the input, and every error of [Input.Records]. The caller owns the entries; Records
// makes no copies.
func (in *Input) Entries() iter.Seq2[*op.Entry, error] {
	return func(yield func(*op.Entry, error) bool) {
		for rec, err := range in.Records() {
			if err == nil && rec.Entry == nil {
				continue
			}
			e := rec.Entry
			if err == nil {
				e = e.Clone()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Records yields every record of the input. A bad record is an [*op.SyntaxError], and reading goes on; any other error
// is the last value. A record's pointers are valid until the next one. A Resource applies to the records up to the next
// Resource. A file without one starts with an empty one.
func (in *Input) Records() iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		if err := in.begin(); err != nil {
			yield(op.Record{}, err)
			return
		}
		known := false // a resource was handed out
		for p := range in.parts(0, nil) {
			stale := known
			more := true // it belongs to another file
			p.read(in, &in.readers, func(rec op.Record, err error) bool {
				switch {
				case rec.Resource != nil:
					known, stale = true, false
				case stale && (rec.Entry != nil || rec.Span != nil):
					known, stale = false, false
					more = yield(op.Record{Resource: &op.Resource{}}, nil)
				}
				_, isSyntax := errors.AsType[*op.SyntaxError](err)
				more = more && yield(rec, err) && (err == nil || isSyntax)
				return more
			})
			p.src.release()
			if !more {
				return
			}
		}
	}
}

func (in *Input) readerOptions() readerOptions {
	return readerOptions{mapping: in.mapping, hold: in.memory.hold, memory: in.memory.limit}
}

// count adds n stored bytes to the counts. It is negative for bytes to be read again.
func (in *Input) count(n int) {
	in.memory.mu.Lock()
	in.memory.read += int64(n)
	in.memory.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stats.Bytes += int64(n)
	if in.opts.Progress != nil {
		in.opts.Progress(n)
	}
}

// Hold reports that the caller keeps bytes more of the input, or fewer for a negative number. The error is a
// *[MemoryError] if caller and readers together exceed [Options].MaxMemory. Hold may be called concurrently.
func (in *Input) Hold(bytes int64) error { return in.memory.hold(bytes) }

// Options configures an input. The zero value suits most uses.
type Options struct {
	// Mapping maps attribute keys to fields; nil is the conventions.
	Mapping *attr.Mapping
	// Format is the format of all files, one of [FormatNames]; "" detects the format of each file.
	Format string
	// MaxMemory is about the memory limit of the input in bytes. It covers data that readers hold and data reported to
	// [Input.Hold]. Exceeding it ends the input with a *[MemoryError]. 0 is DefaultMaxMemory, a negative number no
	// limit.
	MaxMemory int64
	// FS opens the paths; nil opens files of the operating system. An *os.File, as os.Root.FS returns it, can be read
	// in parts.
	FS fs.FS
	// Stdin is read for the path "-"; nil is os.Stdin.
	Stdin io.Reader
	// Progress is called with the number of stored bytes of each read, and with the negative sum before the input is
	// read again; nil for no calls.
	Progress func(n int)
	// Exclude reports whether to leave out a file found in a directory; nil leaves out no file. It is not called for
	// named files.
	Exclude func(fs.FileInfo) bool

	tail *tail // where the one input is followed
}

// DefaultMaxMemory is the default memory limit of an input, in bytes.
const DefaultMaxMemory = 1 << 30

// MemoryError reports an input that needs more memory than [Options].MaxMemory.
type MemoryError struct {
	// Limit is the memory limit in bytes.
	Limit int64
	// File is the file being read, and Read the number of its stored bytes read so far. With several workers, Read is
	// approximate.
	File string
	Read int64
}

var _ error = (*MemoryError)(nil)

// Error states the limit and the position.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("reading %s: more than %s of memory is needed (after %d bytes of the file)", e.File,
		units.Bytes(e.Limit), e.Read)
}

type memory struct {
	limit int64
	held  atomic.Int64
	// refused is set once a request exceeded the limit. The current record goes on without the refused memory; then the
	// input ends.
	refused atomic.Pointer[MemoryError]

	mu   sync.Mutex
	file string
	read int64
}

func (m *memory) hold(bytes int64) error {
	if m.held.Add(bytes) <= m.limit || bytes <= 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused.CompareAndSwap(nil, &MemoryError{Limit: m.limit, File: m.file, Read: m.read})
	return m.refused.Load()
}

// spare is hold for optional memory; it reports whether the memory is available.
func (m *memory) spare(bytes int64) bool {
	if m.held.Add(bytes) <= m.limit || bytes <= 0 {
		return true
	}
	m.held.Add(-bytes)
	return false
}

// perWorker is about the memory of a reading goroutine beside what it holds: buffers and interned texts.
const perWorker = 16 << 20

// source returns r for readers whose buffers and records count in the memory. free gives the memory back.
func (m *memory) source(r io.Reader) (src io.Reader, free func()) {
	held := int64(0)
	hold := func(bytes int64) error {
		held += bytes
		return m.hold(bytes)
	}
	return &lineio.Held{Reader: r, Hold: hold}, func() { _ = m.hold(-held) }
}
