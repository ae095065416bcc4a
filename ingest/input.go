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

// Input is an input of one or several files. It can be read any number of times, each time from its start and as the
// files are then; standard input only once. It is not safe for concurrent use.
type Input struct {
	opts  Options
	paths []string
	// want is what is wanted the next time that the input is read.
	want attr.Want

	// What follows is of the time that it is being read, or was read last.
	began    bool
	mapping  *attr.Mapping
	partials bool
	mu       sync.Mutex // guards stats and files
	stats    Stats
	files    []fileInfo
	// partSize is the size of a part in bytes, 0 for the default.
	partSize int
	// readers are kept from file to file, by format.
	readers readers
	memory  *memory
}

// Stats counts the input read.
type Stats struct {
	// Files is the number of files, standard input included.
	Files int
	// Bytes is their size as stored, before decompression.
	Bytes int64
	// Formats are their formats in order of first sight.
	Formats []string
}

// Open returns the input that the files, directories and "-" among paths form. Nothing is opened before it is read.
func Open(paths ...string) *Input { return Options{}.Open(paths...) }

// Open is [Open] with options.
func (o Options) Open(paths ...string) *Input {
	return &Input{opts: o, paths: paths, memory: newMemory(o.MaxMemory)}
}

// Want says what is wanted of the records the next time that the input is read. Without it readers leave no field out,
// and a file of partial results is one that holds no recording.
func (in *Input) Want(w attr.Want) { in.want = w }

// begin makes in an input of which nothing has been read.
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

// errStdinAgain is the error of an input that is read for a second time.
var errStdinAgain = errors.New("reading input: standard input was read before, and can be read once")

// Stats returns the counts of the input, of the time that it is being read or was read last.
func (in *Input) Stats() Stats {
	s := in.stats
	s.Formats = slices.Clone(s.Formats)
	return s
}

// fileInfo describes a file that was opened.
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

// Entries yields the operations of the input, and the errors of Records as errors. An entry is the caller's to keep;
// [Input.Records] does without the copies.
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

// Records yields every record of the input with a nil error. A record that could not be read is an [*op.SyntaxError],
// after which reading goes on; any other error is the last thing yielded. What a record points to is valid until the
// next one. A Resource holds for the records up to the next one; where a file says nothing of its own, it starts with
// an empty one.
func (in *Input) Records() iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		if err := in.begin(); err != nil {
			yield(op.Record{}, err)
			return
		}
		known := false // a resource was handed out
		for p := range in.parts(0, nil) {
			stale := known
			more := true // it is that of another file
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

// readerOptions returns what readers are made with.
func (in *Input) readerOptions() readerOptions {
	return readerOptions{mapping: in.mapping, hold: in.memory.hold, memory: in.memory.limit}
}

// count counts n bytes of a file, which were read or, for a negative number, will be read again.
func (in *Input) count(n int) {
	in.memory.count(n)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stats.Bytes += int64(n)
	if in.opts.Progress != nil {
		in.opts.Progress(n)
	}
}

// Hold notes that whoever reads the input keeps so many bytes more of it, or less for a negative number. The error is a
// *[MemoryError] where that is more than [Options].MaxMemory, together with what the readers hold. It may be called
// concurrently.
func (in *Input) Hold(bytes int64) error { return in.memory.hold(bytes) }
