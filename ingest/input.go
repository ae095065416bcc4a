package ingest

import (
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/optrace/optrace/internal/model/attrmap"
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
	// partSize is the size of a part in bytes, 0 for the default.
	partSize int
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
	return &Input{opts: o, paths: paths, memory: newMemory(o.MaxMemory)}
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
	in.memory.count(n)
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
