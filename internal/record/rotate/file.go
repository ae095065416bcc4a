// Package rotate is an append-only file that follows renames, is rotated by size and age, bounds the
// total of its rotated files, and refuses symbolic links to regular files. It knows no format: an
// [Inspect] function examines how a file ends. The sink in internal/record/sink writes to a [File].
package rotate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// File is a file that is appended to, and the files that it was before. But for Deleted it is used by
// one goroutine at a time.
type File struct {
	path    string
	examine Inspect
	limits  Limits
	names   names

	f          *os.File    // nil where opening failed
	info       os.FileInfo // of f, when it was opened
	regular    bool        // others, such as terminals, are only written to
	startedAt  time.Time   // when f was started, as far as is known
	size       int64       // of f when it was last looked at, or written to
	whole      int64       // up to where f is known to be whole
	left       int64       // size of f after the last write
	justOpened bool        // f has not been written to
	retry      time.Time   // no rotation before, because one failed
	lock       lock        // on f

	rotated []rotatedFile // oldest first
	deleted atomic.Uint64
}

// rotationPause is the time between attempts to rotate after a failure.
const rotationPause = 10 * time.Second

// Inspect returns how the size bytes of r end, and up to where they are whole, which they are known to be
// up to from. An error means that nothing should be appended to them.
type Inspect func(r io.ReaderAt, from, size int64) (end Ending, whole int64, err error)

// Ending is how a file ends.
type Ending uint8

// The endings.
const (
	EndsWhole   Ending = iota
	EndsInLine         // a newline must be written first
	EndsDamaged        // what is appended could not be read
)

// Open opens the file at path, or creates it, and inspects it without changing it. The path is the one
// that it is now, wherever the process goes later.
func Open(path string, limits Limits, inspect Inspect) (*File, error) {
	if path == "" {
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := &File{path: path, examine: inspect, limits: limits, names: newNames(path)}
	if err := r.open(); err != nil && !nobodyReads(err) { // a pipe gets its reader later
		return nil, err
	}
	if !r.regular && limits.Enabled() {
		_ = r.Close()
		return nil, fmt.Errorf("%s: rotation needs a regular file", path)
	}
	// Others may be writing: what looks incomplete now is looked at again.
	if _, err := r.inspect(); err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Deleted returns how many rotated files have been deleted. It may be called at any time.
func (r *File) Deleted() uint64 { return r.deleted.Load() }

// open opens the file that is at the path now, or creates it.
func (r *File) open() error {
	f, err := openAppending(r.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	r.f, r.info, r.regular, r.size, r.justOpened = f, info, info.Mode().IsRegular(), info.Size(), true
	r.whole = 0
	r.left = r.size
	if !r.regular || !r.limits.Enabled() {
		return nil
	}
	if r.rotated, err = r.names.list(); err != nil {
		_ = f.Close()
		r.f = nil
		return err
	}
	// A file of an earlier process was started when the one before it ended, before it was last written.
	now := time.Now()
	r.startedAt = now
	if info.Size() > 0 {
		if info.ModTime().Before(now) {
			r.startedAt = info.ModTime()
		}
		if last := r.newest().stamp; !last.IsZero() && last.Before(r.startedAt) {
			r.startedAt = last
		}
	}
	return nil
}

// inspect returns how the file ends.
func (r *File) inspect() (end Ending, err error) {
	if !r.regular || r.whole == r.size {
		return EndsWhole, nil
	}
	end, r.whole, err = r.examine(r.f, r.whole, r.size)
	return end, err
}

// newest returns the newest rotated file, the zero value where there is none.
func (r *File) newest() (f rotatedFile) {
	if n := len(r.rotated); n > 0 {
		f = r.rotated[n-1]
	}
	return f
}

// State says which file takes the next write.
type State struct {
	Other bool // another file than before, or one that was truncated
	Torn  bool // it ends within a line
}

// rotationError is the error of a file that could not be rotated or deleted but can be written to.
type rotationError struct{ err error }

func (e *rotationError) Error() string { return "rotating: " + e.err.Error() }
func (e *rotationError) Unwrap() error { return e.err }

// IsNotice reports whether err leaves the file usable.
func IsNotice(err error) bool {
	var rotation *rotationError
	return errors.As(err, &rotation)
}

// Ready prepares for a write of about n bytes: it opens the path again if the file was renamed or removed,
// and starts another file if it is full or old, or damaged. An error for which [IsNotice] is true is no
// reason not to write. Until Release no other process writes to the file.
func (r *File) Ready(n int) (State, error) {
	if err := r.hold(); err != nil {
		return State{}, err
	}
	var failed error
	if r.regular && r.shouldRotate(int64(n)) {
		if err := r.startAnother(); err != nil {
			if r.f == nil {
				return State{}, err
			}
			r.retry = time.Now().Add(rotationPause)
			failed = &rotationError{err}
		}
	}
	torn, err := r.passDamage()
	if err != nil {
		return State{}, err
	}
	if r.size == 0 {
		r.startedAt = time.Now()
	}
	state := State{Other: r.justOpened, Torn: torn}
	r.justOpened = false
	return state, failed
}

// passDamage starts another file where what is appended to this one could not be read, and reports
// whether the file ends within a line. Nothing is removed: another process may be writing it.
func (r *File) passDamage() (torn bool, err error) {
	for range openAttempts {
		end, err := r.inspect()
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.path, err)
		}
		if end != EndsDamaged {
			return end == EndsInLine, nil
		}
		if err := r.startAnother(); err != nil {
			return false, fmt.Errorf("renaming a damaged file: %w", err)
		}
	}
	return false, fmt.Errorf("%s: is damaged again and again", r.path)
}

// Continue is Ready for a write that is to go on where the one before ended. It cannot if the file was
// renamed, removed, truncated or written to by others.
func (r *File) Continue() (bool, error) {
	if err := r.hold(); err != nil {
		return false, err
	}
	return !r.justOpened && (!r.regular || r.size == r.left), nil
}

// Release ends what Ready or Continue began.
func (r *File) Release() {
	if r.f != nil && r.lock.held {
		unlock(r.f)
		r.lock.held = false
	}
}

// hold locks the file that the path leads to, which it opens if that is another than before.
func (r *File) hold() error {
	for range openAttempts {
		if r.f == nil {
			if err := r.open(); err != nil {
				return err
			}
		}
		if !r.regular {
			return nil
		}
		r.lock.acquire(r.f)
		if r.inPlace() {
			return nil
		}
		_ = r.close() // the batches in it are complete
	}
	return &os.PathError{Op: "open", Path: r.path, Err: errReplaced}
}

// inPlace reports whether the path leads to the open file, and notices how that has changed.
func (r *File) inPlace() bool {
	found, err := os.Lstat(r.path)
	if err != nil {
		// The open file can still be written to if it cannot be looked at.
		return !errors.Is(err, os.ErrNotExist)
	}
	if !os.SameFile(found, r.info) {
		return false
	}
	r.size = found.Size()
	if r.size < r.left { // truncated externally
		r.justOpened, r.startedAt = true, time.Now()
		r.whole = 0
		r.left = r.size
	}
	return true
}

// shouldRotate reports whether n more bytes should go to a new file.
func (r *File) shouldRotate(n int64) bool {
	if r.size == 0 {
		return false
	}
	full := r.limits.MaxBytes > 0 && r.size+n > r.limits.MaxBytes
	old := r.limits.MaxAge > 0 && time.Since(r.startedAt) >= r.limits.MaxAge
	return (full || old) && !time.Now().Before(r.retry)
}

// startAnother renames the file and begins a new one in its place.
func (r *File) startAnother() error {
	err := r.rotate()
	if r.f == nil && err != nil {
		return err
	}
	return errors.Join(err, r.hold())
}

// rotate renames the file. It stays open if that fails.
func (r *File) rotate() error {
	// Names must sort by time even where the clock was set back.
	now := time.Now()
	last := r.newest()
	if last.stamp.After(now) {
		now = last.stamp
	}
	// Renamed while it is open, and with that locked, if the system allows that.
	err := r.names.move(r.path, now, last.name)
	closeErr := r.close()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		err = r.names.move(r.path, now, last.name)
	}
	if err == nil {
		return closeErr
	}
	file := r.info
	justOpened := r.justOpened
	startedAt := r.startedAt
	whole := r.whole
	left := r.left
	if openErr := r.open(); openErr != nil {
		return errors.Join(err, openErr)
	}
	if os.SameFile(file, r.info) {
		r.justOpened = justOpened
		r.startedAt = startedAt
		r.whole = whole
		r.left = left
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil // another process was faster
	}
	return err
}

// Reserve deletes the oldest rotated files until n more bytes fit the bound on the total. Its error is a
// notice.
func (r *File) Reserve(n int) error {
	if r.limits.MaxTotal == 0 {
		return nil
	}
	total := r.size + int64(n)
	for _, f := range r.rotated {
		total += f.size
	}
	var errs []error
	for total > r.limits.MaxTotal && len(r.rotated) > 0 {
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
func (r *File) Write(p []byte) (int, error) {
	n, err := r.f.Write(p)
	r.size += int64(n)
	r.left = r.size
	if n == len(p) && err == nil {
		r.whole = r.size
	}
	if nobodyReads(err) { // until it is opened again
		_ = r.close()
	}
	return n, err
}

// Close closes the file.
func (r *File) Close() error {
	if r.f == nil {
		return nil
	}
	return r.close()
}

// close closes the file, which ends the lock.
func (r *File) close() error {
	f := r.f
	r.f = nil
	r.lock.held = false
	return f.Close()
}
