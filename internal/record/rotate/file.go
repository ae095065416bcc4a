// Package rotate is an append-only file that follows renames, rotates by size and age, bounds the total of its rotated
// files, and refuses symbolic links to regular files. An [Inspect] function examines the end of a file.
package rotate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/optrace/optrace/internal/record/env"
)

// File is a file for appending, and its rotated predecessors. It is not safe for concurrent use, except for Deleted.
type File struct {
	path    string
	examine Inspect
	limits  Limits
	names   names

	f          *os.File    // nil after a failed open
	info       os.FileInfo // of f at its opening
	regular    bool        // others, such as terminals, take writes only
	startedAt  time.Time   // the known start of f
	size       int64       // of f at the last look or write
	whole      int64       // f is known to be whole up to here
	left       int64       // size of f after the last write
	justOpened bool        // no write to f yet
	retry      time.Time   // no rotation until then, after a failure
	lock       lock        // on f

	rotated []rotatedFile // oldest first
	deleted atomic.Uint64
}

const rotationPause = 10 * time.Second

// Inspect examines the end of the size bytes of r, which are known to be whole up to from. It returns the ending and
// the new whole length. An error forbids appending.
type Inspect func(r io.ReaderAt, from, size int64) (end Ending, whole int64, err error)

// Ending is the state of a file's end.
type Ending uint8

// The endings.
const (
	EndsWhole   Ending = iota
	EndsInLine         // needs a newline first
	EndsDamaged        // appended records would be unreadable
)

// Open opens or creates the file at path, made absolute, and inspects it without a change.
func Open(path string, limits Limits, inspect Inspect) (*File, error) {
	if path == "" {
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := &File{path: path, examine: inspect, limits: limits, names: newNames(path)}
	if err := r.open(); err != nil && !nobodyReads(err) { // a pipe may get its reader later
		return nil, err
	}
	if !r.regular && limits.Enabled() {
		_ = r.Close()
		return nil, fmt.Errorf("%s: rotation needs a regular file", path)
	}
	// Others may be writing: an incomplete file is inspected again later.
	if _, err := r.inspect(); err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Deleted returns the number of deleted rotated files. It is safe for concurrent use.
func (r *File) Deleted() uint64 { return r.deleted.Load() }

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
	r.f = f
	r.info = info
	r.regular = info.Mode().IsRegular()
	r.size = info.Size()
	r.justOpened = true
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
	// A file of an earlier process was started when its predecessor ended, before its last write.
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

func (r *File) inspect() (end Ending, err error) {
	if !r.regular || r.whole == r.size {
		return EndsWhole, nil
	}
	end, r.whole, err = r.examine(r.f, r.whole, r.size)
	return end, err
}

func (r *File) newest() (f rotatedFile) {
	if n := len(r.rotated); n > 0 {
		f = r.rotated[n-1]
	}
	return f
}

// State describes the file of the next write.
type State struct {
	Other bool // a new file, or a truncated one
	Torn  bool // it ends within a line
}

// rotationError is the error of a failed rotation or deletion. The file can be written to.
type rotationError struct{ err error }

func (e *rotationError) Error() string { return "rotating: " + e.err.Error() }
func (e *rotationError) Unwrap() error { return e.err }

// IsNotice reports whether err leaves the file usable.
func IsNotice(err error) bool {
	var rotation *rotationError
	return errors.As(err, &rotation)
}

// Ready prepares for a write of about n bytes. It opens the path again after a rename or removal, and starts another
// file if this one is full, old or damaged. After an error with [IsNotice] the write may go on. Until Release no other
// process writes to the file.
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

// passDamage starts another file if appended records would be unreadable, and reports whether the file ends within a
// line. It removes no bytes: another process may be writing them.
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
	return false, fmt.Errorf("%s: is damaged repeatedly", r.path)
}

// Continue is Ready for a write that resumes the last one. It reports false if the file changed in between.
func (r *File) Continue() (bool, error) {
	if err := r.hold(); err != nil {
		return false, err
	}
	return !r.justOpened && (!r.regular || r.size == r.left), nil
}

// Release ends the hold of Ready or Continue.
func (r *File) Release() {
	if r.f != nil && r.lock.held {
		unlock(r.f)
		r.lock.held = false
	}
}

// hold locks the file at the path. It opens the path if the file was replaced.
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
		_ = r.close() // its batches are complete
	}
	return &os.PathError{Op: "open", Path: r.path, Err: errReplaced}
}

func (r *File) inPlace() bool {
	found, err := os.Lstat(r.path)
	if err != nil {
		// The open file is usable even if Lstat fails.
		return !errors.Is(err, os.ErrNotExist)
	}
	if !os.SameFile(found, r.info) {
		return false
	}
	r.size = found.Size()
	if r.size < r.left { // truncated externally
		r.justOpened = true
		r.startedAt = time.Now()
		r.whole = 0
		r.left = r.size
	}
	return true
}

func (r *File) shouldRotate(n int64) bool {
	if r.size == 0 {
		return false
	}
	full := r.limits.MaxBytes > 0 && r.size+n > r.limits.MaxBytes
	old := r.limits.MaxAge > 0 && time.Since(r.startedAt) >= r.limits.MaxAge
	return (full || old) && !time.Now().Before(r.retry)
}

func (r *File) startAnother() error {
	err := r.rotate()
	if r.f == nil && err != nil {
		return err
	}
	return errors.Join(err, r.hold())
}

// rotate renames the file. After a failure the file stays open.
func (r *File) rotate() error {
	// Names must sort by time even if the clock was set back.
	now := time.Now()
	last := r.newest()
	if last.stamp.After(now) {
		now = last.stamp
	}
	// Rename it while open, and so locked, if the system allows it.
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

// Reserve deletes the oldest rotated files until n more bytes fit the bound on the total. Its error is a notice.
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

// close closes the file and so ends the lock.
func (r *File) close() error {
	f := r.f
	r.f = nil
	r.lock.held = false
	return f.Close()
}

// Limits bound the size, the age and the total of files. 0 is off.
type Limits struct {
	MaxBytes int64
	MaxAge   time.Duration
	MaxTotal int64
}

// Enabled reports whether there is any limit.
func (l Limits) Enabled() bool { return l != Limits{} }

// Validate returns an error for invalid limits.
func (l Limits) Validate() error {
	var wrong env.Faults
	wrong.Add(l.MaxBytes < 0, "file size %d is negative", l.MaxBytes)
	wrong.Add(l.MaxAge < 0, "file age %v is negative", l.MaxAge)
	wrong.Add(l.MaxTotal < 0, "total size %d is negative", l.MaxTotal)
	wrong.Add(l.MaxTotal > 0 && l.MaxBytes <= 0, "a bound on the total needs rotation by size")
	tooSmall := 0 < l.MaxTotal && l.MaxTotal < l.MaxBytes
	wrong.Add(tooSmall, "total size %d is below the file size %d", l.MaxTotal, l.MaxBytes)
	return errors.Join(wrong...)
}

// lock is an advisory lock on a file, held from the inspection of its end until after the write. It is a courtesy:
// after a wait in vain, or on a file system without locks, a process writes without it.
type lock struct {
	held  bool
	pause time.Time // the time until which acquire does not wait, after a wait in vain
}

// lockWait bounds the wait for a lock. After a wait in vain there are only single tries for lockPause.
const (
	lockWait  = 200 * time.Millisecond
	lockPause = 10 * time.Second
)

func (l *lock) acquire(f *os.File) {
	if l.held {
		return
	}
	deadline := time.Now().Add(lockWait)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		locked, busy := tryLock(f)
		l.held = locked
		now := time.Now()
		switch {
		case !busy, now.Before(l.pause):
			return
		case now.After(deadline):
			l.pause = now.Add(lockPause)
			return
		}
		time.Sleep(pause)
	}
}
