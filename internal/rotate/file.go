// Package rotate is an append-only file that follows renames, is rotated by size
// and age, bounds the total of its rotated files, and refuses symbolic links to
// regular files.
//
// It knows no format: an [Inspect] function examines how a file that it opens
// ends. The sink in internal/sink writes to a [File].
package rotate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// File is a file that is appended to, and the files that it was before. It is
// used by one goroutine at a time, except for Deleted.
type File struct {
	path    string
	examine Inspect
	limits  Limits
	names   names

	f          *os.File    // nil where opening failed
	info       os.FileInfo // of f, when it was opened
	regular    bool        // others, such as terminals, are only written to
	startedAt  time.Time   // when f was started, as far as is known
	size       int64       // of f after the last write
	justOpened bool        // f has not been written to
	retry      time.Time   // no rotation before, because one failed

	rotated []rotatedFile // oldest first
	deleted atomic.Uint64
}

// rotationPause is the time between attempts to rotate after a failure.
const rotationPause = 10 * time.Second

// Inspect returns how the size bytes of r end, and up to where they are whole. An
// error means that nothing should be appended to them.
type Inspect func(r io.ReaderAt, size int64) (end Ending, whole int64, err error)

// Ending is how a file ends.
type Ending uint8

// The endings.
const (
	EndsWhole     Ending = iota
	EndsInLine           // a newline must be written first
	EndsInMessage        // the incomplete message must be cut off
	EndsInBlock          // nothing can be appended to an incomplete compressed block
)

// Open opens the file at path, or creates it, and inspects it without changing
// it.
func Open(path string, limits Limits, inspect Inspect) (*File, error) {
	r := &File{path: path, examine: inspect, limits: limits, names: newNames(path)}
	if err := r.open(); err != nil {
		return nil, err
	}
	if !r.regular && limits.Enabled() {
		_ = r.f.Close()
		return nil, fmt.Errorf("%s: rotation needs a regular file", path)
	}
	if _, _, err := r.inspect(); err != nil {
		_ = r.f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Deleted returns how many rotated files have been deleted to bound the total.
// It may be called at any time.
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
	if !r.regular || !r.limits.Enabled() {
		return nil
	}
	if r.rotated, err = r.names.list(); err != nil {
		_ = f.Close()
		r.f = nil
		return err
	}
	// A file that an earlier process started was started when the one before it
	// ended, and in any case before it was last written.
	now := time.Now()
	r.startedAt = now
	if info.Size() > 0 {
		if info.ModTime().Before(now) {
			r.startedAt = info.ModTime()
		}
		if last := r.lastRotation(); !last.IsZero() && last.Before(r.startedAt) {
			r.startedAt = last
		}
	}
	return nil
}

func (r *File) inspect() (Ending, int64, error) {
	if !r.regular {
		return EndsWhole, 0, nil
	}
	return r.examine(r.f, r.size)
}

func (r *File) lastRotation() time.Time {
	if len(r.rotated) == 0 {
		return time.Time{}
	}
	return r.rotated[len(r.rotated)-1].stamp
}

// lastRotated returns the name of the newest rotated file, "" where there is none.
func (r *File) lastRotated() string {
	if len(r.rotated) == 0 {
		return ""
	}
	return r.rotated[len(r.rotated)-1].name
}

// State says which file takes the next write.
type State uint8

// The states.
const (
	SameFile      State = iota
	OtherFile           // another file than before, or one that was truncated
	OtherFileTorn       // another file, which ends within a line
)

// rotationError is the error of a file that could not be rotated or deleted but
// can be written to.
type rotationError struct{ err error }

func (e *rotationError) Error() string { return "rotating: " + e.err.Error() }
func (e *rotationError) Unwrap() error { return e.err }

// IsNotice reports whether err leaves the file usable.
func IsNotice(err error) bool {
	var rotation *rotationError
	return errors.As(err, &rotation)
}

// Ready prepares for a write of about n bytes: it opens the path again if the file
// was renamed or removed, and starts another file if it is full or old. An error
// for which [IsNotice] is true is no reason not to write.
func (r *File) Ready(n int) (State, error) {
	if err := r.reopenIfMoved(); err != nil {
		return SameFile, err
	}
	if !r.regular {
		state := SameFile
		if r.justOpened {
			state, r.justOpened = OtherFile, false
		}
		return state, nil
	}
	var failed error
	if r.shouldRotate(int64(n)) {
		if err := r.rotate(); err != nil {
			if r.f == nil {
				return SameFile, err
			}
			r.retry = time.Now().Add(rotationPause)
			failed = &rotationError{err}
		}
	}
	if r.size == 0 {
		r.startedAt = time.Now()
	}
	if !r.justOpened {
		return SameFile, failed
	}
	state, err := r.repair()
	if err != nil {
		return SameFile, err
	}
	r.justOpened = false
	return state, failed
}

// reopenIfMoved opens the path again if it leads to another file than before, or
// to none, and notices when the file was truncated.
func (r *File) reopenIfMoved() error {
	if r.f != nil && !r.regular {
		return nil
	}
	if r.f != nil {
		found, err := os.Lstat(r.path)
		switch {
		case err == nil && os.SameFile(found, r.info):
			if found.Size() < r.size { // truncated externally
				r.justOpened, r.startedAt = true, time.Now()
			}
			r.size = found.Size()
			return nil
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return nil // the open file can still be written to
		}
		_ = r.f.Close() // the batches in it are complete
		r.f = nil
	}
	return r.open()
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

// rotate renames the file and opens a new one in its place.
func (r *File) rotate() error {
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
	file, justOpened, startedAt := r.info, r.justOpened, r.startedAt
	if openErr := r.open(); openErr != nil {
		return errors.Join(err, openErr)
	}
	if os.SameFile(file, r.info) {
		r.justOpened, r.startedAt = justOpened, startedAt
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil // another process was faster
	}
	return err
}

// repair prepares a file that was found for the first write.
func (r *File) repair() (State, error) {
	end, whole, err := r.inspect()
	if err != nil {
		return OtherFile, fmt.Errorf("%s: %w", r.path, err)
	}
	switch end {
	case EndsInLine:
		return OtherFileTorn, nil
	case EndsInMessage:
		if err := truncate(r.path, r.info, whole); err != nil {
			return OtherFile, fmt.Errorf("removing a message that was cut off: %w", err)
		}
		r.size = whole
	case EndsInBlock:
		if err := r.rotate(); err != nil {
			return OtherFile, fmt.Errorf("renaming a file that was cut off: %w", err)
		}
	}
	return OtherFile, nil
}

// Reserve deletes the oldest rotated files until n more bytes fit the bound on
// the total. An error for which [IsNotice] is true is no reason not to write.
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
	return n, err
}

// Close closes the file.
func (r *File) Close() error {
	if r.f == nil {
		return nil
	}
	return r.f.Close()
}
