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

const followInterval = 200 * time.Millisecond

// Follower reads files while they grow. It follows uncompressed entries, OTLP in JSON Lines and in frames, and
// stdouttrace. It reads other files once. The zero value is ready to use.
type Follower struct {
	// Options says how to read.
	Options
	// Interval is the time between two looks at the file; 0 is 200 ms.
	Interval time.Duration
	// Started is called with the name of the format once it is known; nil for no call.
	Started func(format string)
	// Idle is called before the Follower waits; nil for no call. By then it has yielded every record in the file.
	Idle func()
}

// Records yields the records of the file at path, and the records appended to it, until ctx is done. If another file
// replaces it, as a rotation does, or it becomes shorter, Records reads the old file to its end and then the new
// content from its start. "-" is standard input and ends with it. Records and errors are as in [Input.Records].
func (f Follower) Records(ctx context.Context, path string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for {
			t := &tail{ctx: ctx, path: path, interval: cmp.Or(f.Interval, followInterval), format: f.Started,
				idle: f.Idle}
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

// tail reads a file that may grow. It is nil if the input is not followed.
type tail struct {
	ctx      context.Context
	path     string
	interval time.Duration
	format   func(name string) // see Follower.Started
	idle     func()            // see Follower.Idle
	src      io.Reader
	file     *os.File // nil for a pipe and the like
	read     int64    // bytes
	waits    bool     // set if Read waits at the end of the file
	replaced bool     // set once another file or other content is at the path
}

// grows reports whether the file may grow.
func (t *tail) grows() bool { return t != nil && t.file != nil && !t.replaced }

// Read implements io.Reader. At the end of a growing file it waits for more. It ends when ctx does, with the cause, or
// when the file has been replaced.
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

// wait waits and reports whether to read again. A replaced file may still have unread data.
func (t *tail) wait() bool {
	if t.idle != nil {
		t.idle()
	}
	t.replaced = t.isReplaced()
	return t.sleep()
}

// isReplaced reports whether another file is at the path, or the file is shorter than the data read.
func (t *tail) isReplaced() bool {
	now, err := os.Stat(t.path)
	if err != nil {
		return false // it may be on its way
	}
	old, err := t.file.Stat()
	return err != nil || !os.SameFile(old, now) || now.Size() < t.read
}

// awaitFile waits for a file at the path and reports whether there is one.
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
	timer := time.NewTimer(t.interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}
