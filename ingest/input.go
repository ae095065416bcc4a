package ingest

import (
	"errors"
	"iter"
	"slices"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Input is an input of one or several files. It can be read any number of times, each time
// from its start and as the files are then; standard input only once. It is not safe for
// concurrent use.
type Input struct {
	opts  Options
	paths []string
	// want is what is wanted the next time that the input is read.
	want attr.Want

	// What follows is of the time that it is being read, or was read last.
	began    bool
	mapping  *attr.Mapping
	partials bool
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

// Open returns the input that the files, directories and "-" among paths form.
// Nothing is opened before it is read.
func Open(paths ...string) *Input { return Options{}.Open(paths...) }

// Open is [Open] with options.
func (o Options) Open(paths ...string) *Input {
	o.Limits = o.Limits.orDefault()
	return &Input{opts: o, paths: paths, memory: newMemory(o.MaxMemory)}
}

// Want says what is wanted of the records the next time that the input is read. Without it
// readers leave no field out, and a file of partial results is one that holds no recording.
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
	in.memory.held.Store(0)
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

// Files yields the format and the stored size of each file that was read to its
// end, in the order of the input. The format of an empty file is "".
func (in *Input) Files() iter.Seq2[string, int64] {
	return func(yield func(format string, bytes int64) bool) {
		for _, f := range in.files {
			if !yield(f.format, f.bytes) {
				return
			}
		}
	}
}

// Entries yields the operations of the input, and the errors of Records as
// errors. An entry is the caller's to keep; [Input.Records] does without the copies.
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

// Records yields every record of the input with a nil error. A record that
// could not be read is an [*op.SyntaxError], after which reading goes on; any
// other error is the last thing yielded. What a record points to is valid until
// the next one. A Resource holds for the records up to the next one; where a file
// says nothing of its own, it starts with an empty one.
func (in *Input) Records() iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		var sources []source
		err := in.begin()
		if err == nil {
			sources, err = in.opts.expand(in.paths)
		}
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		var unknown *op.SyntaxError
		known := false // a resource was handed out
		for _, s := range sources {
			stale := known // it is that of another file
			more, err := in.file(s, func(rec op.Record, err error) bool {
				switch {
				case rec.Resource != nil:
					known, stale = true, false
				case stale && (rec.Entry != nil || rec.Span != nil):
					known, stale = false, false
					if !yield(op.Record{Resource: &op.Resource{}}, nil) {
						return false
					}
				}
				return yield(rec, err)
			})
			if err != nil {
				left, ok := errors.AsType[*passedOverError](err)
				if !ok {
					yield(op.Record{}, err)
					return
				}
				unknown = left.report
				more = yield(op.Record{}, unknown)
			}
			if !more {
				return
			}
		}
		if unknown != nil && len(in.stats.Formats) == 0 {
			yield(op.Record{}, errNothingRead(unknown))
		}
	}
}

// file yields the records of one file and reports whether more are wanted.
func (in *Input) file(s source, yield func(op.Record, error) bool) (more bool, err error) {
	f, err := in.open(s, in.count)
	if err != nil {
		return false, err
	}
	defer f.close()
	more, err = f.records(in.readers.of(f.format, in.readerOptions()), yield)
	if err == nil && more {
		in.files[len(in.files)-1].bytes = f.counted.n
	}
	return more, err
}

// readerOptions returns what readers are made with.
func (in *Input) readerOptions() readerOptions { return newReaderOptions(in.mapping, in.memory) }

// passedOverError is the error of a file that does not end the input.
type passedOverError struct{ report *op.SyntaxError }

// Error returns what is reported.
func (e *passedOverError) Error() string { return e.report.Error() }

// open opens a file and finds its format. A *passedOverError does not end the input.
func (in *Input) open(s source, seen func(n int)) (*file, error) {
	in.memory.opened(s.path)
	in.stats.Files++
	in.files = append(in.files, fileInfo{})
	err := s.err
	if err == nil {
		var f *file
		if f, err = in.opts.open(s.path, seen); err == nil {
			f.mapping, f.memory = in.mapping, in.memory
			if err = in.detect(f); err == nil {
				return f, nil
			}
			f.close()
		}
	}
	if report := s.passedOver(err); report != nil {
		return nil, &passedOverError{report}
	}
	return nil, err
}

// detect finds the format of a file that was opened.
func (in *Input) detect(f *file) error {
	if err := f.detect(); err != nil {
		return err
	}
	if f.format != nil && f.format.partial && !in.partials {
		return f.wrap(errPartial)
	}
	name := f.formatName()
	in.files[len(in.files)-1].format = name
	if name != "" && !slices.Contains(in.stats.Formats, name) {
		in.stats.Formats = append(in.stats.Formats, name)
	}
	return nil
}

func (in *Input) count(n int) {
	in.stats.Bytes += int64(n)
	in.memory.count(n)
	if in.opts.Progress != nil {
		in.opts.Progress(n)
	}
}

// Hold notes that whoever reads the input keeps so many bytes more of it, or less for a
// negative number. The error is a *[MemoryError] where that is more than
// [Options].MaxMemory, together with what the readers hold. It may be called concurrently.
func (in *Input) Hold(bytes int64) error { return in.memory.hold(bytes) }
