package optrace

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// rotatingFile is the file of an exporter, and the files that it was before.
// It is used by one goroutine at a time, but for deleted.
type rotatingFile struct {
	path     string
	contents contents
	limits   rotation
	names    rotatedNames

	f       *os.File    // nil where opening failed
	info    os.FileInfo // of f, when it was opened
	regular bool        // others are written to as they are
	begun   time.Time   // when f was begun, as far as is known
	size    int64       // of f after the last write
	fresh   bool        // f has been opened and not been written to
	retry   time.Time   // no rotation before, because one failed

	rotated []rotatedFile // oldest first
	deleted atomic.Uint64
}

// rotationPause is how long a rotation that failed is not tried again.
const rotationPause = 10 * time.Second

// openFile opens the file at path and looks at what it holds, without changing
// it.
func openFile(path string, c contents, limits rotation) (*rotatingFile, error) {
	r := &rotatingFile{path: path, contents: c, limits: limits, names: newRotatedNames(path)}
	if err := r.open(); err != nil {
		return nil, err
	}
	if !r.regular && limits.enabled() {
		_ = r.f.Close()
		return nil, fmt.Errorf("%s: rotation needs a regular file", path)
	}
	if _, _, err := r.inspect(); err != nil {
		_ = r.f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// open opens what is at the path now, or creates it.
func (r *rotatingFile) open() error {
	f, err := openAppending(r.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	r.f, r.info, r.regular, r.size, r.fresh = f, info, info.Mode().IsRegular(), info.Size(), true
	if !r.regular || !r.limits.enabled() {
		return nil
	}
	if r.rotated, err = r.names.list(); err != nil {
		_ = f.Close()
		r.f = nil
		return err
	}
	// A file that was begun by an earlier process was begun when the one before
	// it ended, and in any case before it was last written.
	now := time.Now()
	r.begun = now
	if info.Size() > 0 {
		if info.ModTime().Before(now) {
			r.begun = info.ModTime()
		}
		if last := r.lastRotation(); !last.IsZero() && last.Before(r.begun) {
			r.begun = last
		}
	}
	return nil
}

func (r *rotatingFile) inspect() (ending, int64, error) {
	if !r.regular {
		return endsWhole, 0, nil
	}
	return r.contents.inspect(r.f, r.size)
}

func (r *rotatingFile) lastRotation() time.Time {
	if len(r.rotated) == 0 {
		return time.Time{}
	}
	return r.rotated[len(r.rotated)-1].stamp
}

// lastRotated returns the name of the newest rotated file, "" where there is none.
func (r *rotatingFile) lastRotated() string {
	if len(r.rotated) == 0 {
		return ""
	}
	return r.rotated[len(r.rotated)-1].name
}

// fileState is what a sink must know of the file that takes its next write.
type fileState uint8

const (
	sameFile   fileState = iota
	newFile              // nothing in it comes from this sink
	tornInLine           // a new file that ends within a line
)

// rotationError tells that a file could not be rotated or deleted, while it
// can be written to.
type rotationError struct{ err error }

func (e *rotationError) Error() string { return "rotating: " + e.err.Error() }
func (e *rotationError) Unwrap() error { return e.err }

// isNotice reports whether err leaves the file usable.
func isNotice(err error) bool {
	var rotation *rotationError
	return errors.As(err, &rotation)
}

// ready prepares for a write of about n bytes: it opens the file anew where
// somebody took it away, and begins another where it is full or old. A
// *rotationError is no reason not to write.
func (r *rotatingFile) ready(n int) (fileState, error) {
	if err := r.follow(); err != nil {
		return sameFile, err
	}
	if !r.regular {
		state := sameFile
		if r.fresh {
			state, r.fresh = newFile, false
		}
		return state, nil
	}
	var failed error
	if r.due(int64(n)) {
		if err := r.rotate(); err != nil {
			if r.f == nil {
				return sameFile, err
			}
			r.retry = time.Now().Add(rotationPause)
			failed = &rotationError{err}
		}
	}
	if r.size == 0 {
		r.begun = time.Now()
	}
	if !r.fresh {
		return sameFile, failed
	}
	state, err := r.heal()
	if err != nil {
		return sameFile, err
	}
	r.fresh = false
	return state, failed
}

// follow opens the file anew where the path leads to another one than before,
// or to nothing, and notices that it was cut.
func (r *rotatingFile) follow() error {
	if r.f != nil && !r.regular {
		return nil
	}
	if r.f != nil {
		found, err := os.Lstat(r.path)
		switch {
		case err == nil && os.SameFile(found, r.info):
			if found.Size() < r.size { // copied and truncated by somebody
				r.fresh, r.begun = true, time.Now()
			}
			r.size = found.Size()
			return nil
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return nil // what is open can still be written to
		}
		_ = r.f.Close() // the batches in it are complete
		r.f = nil
	}
	return r.open()
}

// due reports whether n more bytes should go to a new file.
func (r *rotatingFile) due(n int64) bool {
	if r.size == 0 {
		return false
	}
	full := r.limits.maxBytes > 0 && r.size+n > r.limits.maxBytes
	old := r.limits.maxAge > 0 && time.Since(r.begun) >= r.limits.maxAge
	return (full || old) && !time.Now().Before(r.retry)
}

// rotate renames the file and opens a new one in its place.
func (r *rotatingFile) rotate() error {
	// Names must sort by time even where the clock was set back.
	now := time.Now()
	if last := r.lastRotation(); last.After(now) {
		now = last
	}
	to, err := r.names.reserve(now, r.lastRotated())
	if err != nil {
		return err
	}
	// Not every system renames files that are open.
	err = r.f.Close()
	r.f = nil
	if err == nil {
		err = os.Rename(r.path, to)
	}
	if err == nil {
		return r.open()
	}
	_ = os.Remove(to) // reserved and still empty
	file, fresh, begun := r.info, r.fresh, r.begun
	if openErr := r.open(); openErr != nil {
		return errors.Join(err, openErr)
	}
	if os.SameFile(file, r.info) {
		r.fresh, r.begun = fresh, begun
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil // another process was faster
	}
	return err
}

// heal prepares a file that was found for the first write.
func (r *rotatingFile) heal() (fileState, error) {
	end, whole, err := r.inspect()
	if err != nil {
		return newFile, fmt.Errorf("%s: %w", r.path, err)
	}
	switch end {
	case endsInLine:
		return tornInLine, nil
	case endsInMessage:
		if err := truncate(r.path, r.info, whole); err != nil {
			return newFile, fmt.Errorf("removing a message that was cut off: %w", err)
		}
		r.size = whole
	case endsInBlock:
		if err := r.rotate(); err != nil {
			return newFile, fmt.Errorf("renaming a file that was cut off: %w", err)
		}
	}
	return newFile, nil
}

// reserve deletes the oldest rotated files until n more bytes fit the bound on
// the total. A *rotationError is no reason not to write.
func (r *rotatingFile) reserve(n int) error {
	if r.limits.maxTotal == 0 {
		return nil
	}
	total := r.size + int64(n)
	for _, f := range r.rotated {
		total += f.size
	}
	var errs []error
	for total > r.limits.maxTotal && len(r.rotated) > 0 {
		oldest := r.rotated[0]
		r.rotated = r.rotated[1:]
		total -= oldest.size
		switch err := os.Remove(r.names.path(oldest.name)); {
		case err == nil:
			r.deleted.Add(1)
		case !errors.Is(err, os.ErrNotExist):
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return &rotationError{errors.Join(errs...)}
	}
	return nil
}

// Write implements io.Writer.
func (r *rotatingFile) Write(p []byte) (int, error) {
	n, err := r.f.Write(p)
	r.size += int64(n)
	return n, err
}

// Close closes the file.
func (r *rotatingFile) Close() error {
	if r.f == nil {
		return nil
	}
	return r.f.Close()
}
