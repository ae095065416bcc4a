package ingest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// Options says how to read. Its Progress and Exclude are not called for files that are
	// followed.
	Options
	// Interval is how often it looks for more; 0 is 200 ms.
	Interval time.Duration
	// Started is called with the name of a file's format when that is known; nil for no call.
	Started func(format string)
	// Read is called with the number of bytes that each read brought; nil for no call.
	Read func(n int)
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
			t, err := f.openTail(ctx, path)
			if err != nil {
				yield(op.Record{}, fmt.Errorf("reading input: %w", err))
				return
			}
			more := f.file(t, yield)
			t.close()
			if !more || !t.replaced || !t.awaitFile() {
				return
			}
		}
	}
}

// file yields the records of one file, and reports whether more are wanted.
func (f Follower) file(t *tail, yield func(op.Record, error) bool) bool {
	format, head, err := t.detect()
	switch {
	case t.ctx.Err() != nil:
		return false
	case t.replaced:
		return true
	case err != nil:
		yield(op.Record{}, fmt.Errorf("reading %s: %w", t.path, err))
		return false
	}
	if format == nil || !format.grows {
		if t.path != Stdin {
			return f.whole(t.path, yield)
		}
		f.Stdin = io.MultiReader(bytes.NewReader(head), t.src)
		return f.whole(Stdin, yield)
	}
	if f.Started != nil {
		f.Started(format.Name)
	}
	t.waits = true
	src := io.MultiReader(bytes.NewReader(head), t)
	for rec, err := range format.open(newReaderOptions(f.Mapping, newMemory(f.MaxMemory)))(src, place{name: t.path}) {
		if _, ok := errors.AsType[*op.SyntaxError](err); err != nil && !ok {
			if t.ctx.Err() == nil {
				yield(op.Record{}, fmt.Errorf("reading %s: %w", t.path, err))
			}
			return false
		}
		if t.ctx.Err() != nil || !yield(rec, err) {
			return false
		}
	}
	return true
}

// whole yields the records of a file that is not followed.
func (f Follower) whole(path string, yield func(op.Record, error) bool) bool {
	in := f.Options.Open(path)
	for rec, err := range in.Records() {
		if !yield(rec, err) {
			return false
		}
	}
	if formats := in.Stats().Formats; f.Started != nil && len(formats) > 0 {
		f.Started(formats[0])
	}
	if f.Read != nil {
		f.Read(int(in.Stats().Bytes))
	}
	if f.Idle != nil {
		f.Idle()
	}
	return true
}

// tail reads a file that may grow.
type tail struct {
	Follower
	ctx   context.Context
	path  string
	src   io.Reader
	close func()
	file  *os.File // nil for what has an end, such as a pipe
	read  int64    // bytes
	// waits is set where reading waits at the end of the file.
	waits bool
	// replaced is set where another file, or another content, was found at the path.
	replaced bool
}

func (f Follower) openTail(ctx context.Context, path string) (*tail, error) {
	src, closeFile, err := f.openSource(path)
	if err != nil {
		return nil, err
	}
	t := &tail{Follower: f, ctx: ctx, path: path, src: src, close: closeFile}
	t.Interval = cmp.Or(f.Interval, followInterval)
	if file, ok := src.(*os.File); ok && path != Stdin && isRegular(file) {
		t.file = file
	}
	return t, nil
}

// Read implements io.Reader. At the end of a file that grows it waits for more. It ends
// when ctx does, with the error of that, and where the file has been replaced.
func (t *tail) Read(p []byte) (int, error) {
	for {
		n, err := t.next(p)
		if n > 0 || err != io.EOF || t.file == nil || !t.waits || t.replaced {
			return n, err
		}
		if t.Idle != nil {
			t.Idle()
		}
		// What is written between the read above and this look is read once more.
		t.replaced = t.isReplaced()
		if !t.sleep() {
			return 0, context.Cause(t.ctx)
		}
	}
}

// next reads what is there.
func (t *tail) next(p []byte) (int, error) {
	n, err := t.src.Read(p)
	t.read += int64(n)
	if n > 0 && t.Follower.Read != nil {
		t.Follower.Read(n)
	}
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
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
	timer := time.NewTimer(t.Interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// detect finds the format of the file by its beginning, which it returns. It waits for the
// first line, or for as much of a binary file as tells its format. The format is nil for
// a compressed file.
func (t *tail) detect() (*Format, []byte, error) {
	text := make([]byte, 0, firstLook)
	for {
		n, err := t.next(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		atEnd := n == 0 && err == io.EOF
		isLine := bytes.IndexByte(text, '\n') >= 0 || t.file == nil && atEnd
		h := newHead(text, t.file == nil && atEnd)
		switch {
		case bytes.HasPrefix(text, gzipMagic), bytes.HasPrefix(text, zstdMagic):
			return nil, text, nil
		case h.empty() && t.file == nil && atEnd:
			return nil, text, nil
		case !h.empty() && (isLine || atEnd && h.opening == 0 && len(text) >= minBinary || len(text) == cap(text)):
			if f := h.format(t.Format); f != nil {
				return f, text, nil
			}
			if atEnd && isLine && (len(h.members) > 0 || h.opening == 0) || len(text) >= lastLook {
				if f := h.damagedFormat(t.Format); f != nil {
					return f, text, nil
				}
				return nil, nil, h.refusal()
			}
		}
		if len(text) == cap(text) {
			text = append(make([]byte, 0, 4*cap(text)), text...)
		}
		if atEnd {
			if t.Idle != nil {
				t.Idle()
			}
			if t.isReplaced() {
				t.replaced = true
				return nil, text, nil
			}
			if !t.sleep() {
				return nil, nil, context.Cause(t.ctx)
			}
		}
	}
}

// minBinary is how much of a binary file there must be to tell its format.
const minBinary = 64
