package ingest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"time"

	"github.com/optrace/optrace/op"
)

// followInterval is how often a Follower looks for more by default.
const followInterval = 200 * time.Millisecond

// Follower reads files while they grow. It follows entries, OTLP in JSON Lines and in
// frames, and stdouttrace, none of them compressed; files of any other format it reads
// once, as they are. The zero value is ready to use.
type Follower struct {
	// Options says how to read.
	Options
	// Interval is how often it looks for more; 0 is 200 ms.
	Interval time.Duration
	// Started is called with the name of a file's format when that is known; nil for no call.
	Started func(format string)
	// Idle is called before the Follower waits for more; nil for no call. All records that
	// are there have been yielded by then.
	Idle func()
}

// Records yields the records of the file at path, and those that are appended to it, until
// ctx is done. When another file takes the place of the file, as in a rotation, or the file
// becomes shorter, it is read to its end, and the new content from its start. "-" is
// standard input, which ends. Records and errors are those of [Input.Records].
func (f Follower) Records(ctx context.Context, path string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for {
			t := &tail{Follower: f, ctx: ctx, path: path}
			opts := f.Options
			opts.tail = t
			for rec, err := range opts.Open(path).Records() {
				if _, ok := errors.AsType[*op.SyntaxError](err); err != nil && !ok && t.replaced {
					break // too little to tell the format
				}
				if ctx.Err() != nil || !yield(rec, err) {
					return
				}
			}
			if !t.replaced || !t.awaitFile() {
				return
			}
		}
	}
}

// tail reads a file that may grow. It is nil where an input is not followed.
type tail struct {
	Follower
	ctx  context.Context
	path string
	src  io.Reader
	file *os.File // nil for what has an end, such as a pipe
	read int64    // bytes
	// waits is set where reading waits at the end of the file.
	waits bool
	// replaced is set where another file, or another content, was found at the path.
	replaced bool
}

// open makes t read src.
func (t *tail) open(src io.Reader) {
	t.src = src
	if file, ok := src.(*os.File); ok && t.path != Stdin && isRegular(file) {
		t.file = file
	}
}

// grows reports whether there may be more behind the end.
func (t *tail) grows() bool { return t != nil && t.file != nil && !t.replaced }

// Read implements io.Reader. At the end of a file that grows it waits for more. It ends
// when ctx does, with the error of that, and where the file has been replaced.
func (t *tail) Read(p []byte) (int, error) {
	for {
		n, err := t.src.Read(p)
		t.read += int64(n)
		switch {
		case n > 0:
			return n, nil
		case err != io.EOF || !t.waits || !t.grows():
			return 0, err
		case !t.wait():
			return 0, context.Cause(t.ctx)
		}
	}
}

// wait waits for more behind the end, and reports whether to look for it. Where the file has been
// replaced, there may be what was written before that.
func (t *tail) wait() bool {
	if t.Idle != nil {
		t.Idle()
	}
	t.replaced = t.isReplaced()
	return t.sleep()
}

// started notes the format of a file.
func (t *tail) started(f *Format, isCompressed bool) {
	t.waits = f.grows && !isCompressed
	if t.Started != nil {
		t.Started(f.Name)
	}
}

// isReplaced reports whether another file is at the path, or the file is shorter than what
// was read.
func (t *tail) isReplaced() bool {
	now, err := os.Stat(t.path)
	if err != nil {
		return false // it may be on its way
	}
	old, err := t.file.Stat()
	return err != nil || !os.SameFile(old, now) || now.Size() < t.read
}

// awaitFile waits until there is a file at the path, and reports whether there is.
func (t *tail) awaitFile() bool {
	for {
		if _, err := os.Stat(t.path); err == nil {
			return true
		}
		if !t.sleep() {
			return false
		}
	}
}

func (t *tail) sleep() bool {
	timer := time.NewTimer(cmp.Or(t.Interval, followInterval))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}
