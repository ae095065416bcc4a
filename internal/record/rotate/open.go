package rotate

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const ownerOnly = 0o600

// errSymlink refuses a path: a link could lead the data elsewhere.
var errSymlink = errors.New("is a symbolic link to a regular or a missing file")

// errPlanted refuses another user's file in a directory such as /tmp.
var errPlanted = errors.New("belongs to another user, in a directory where everybody may create files")

const openAttempts = 100 // bounds the attempts to open a file that others create and remove meanwhile

// openAppending opens or creates the file at path. It follows symbolic links to devices and pipes only.
func openAppending(path string) (*os.File, error) {
	var err error
	for range openAttempts {
		var f *os.File
		// Creating exclusively never follows a link.
		f, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, ownerOnly)
		if err == nil || !errors.Is(err, os.ErrExist) {
			return f, err
		}
		if f, err = openExisting(path); err == nil || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errReplaced) {
			return f, err
		}
	}
	return nil, err
}

var errReplaced = errors.New("another file took its place")

func openExisting(path string) (*os.File, error) {
	found, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	flags := os.O_RDWR | os.O_APPEND | noFollow
	if found.Mode()&os.ModeSymlink != 0 {
		flags &^= noFollow
		if found, err = os.Stat(path); err != nil || found.Mode().IsRegular() {
			return nil, &os.PathError{Op: "open", Path: path, Err: errSymlink}
		}
	}
	pipe := found.Mode()&os.ModeNamedPipe != 0
	if (pipe || found.Mode().IsRegular()) && isPlanted(path, found) {
		return nil, &os.PathError{Op: "open", Path: path, Err: errPlanted}
	}
	if pipe { // opening for reading too would make a reader
		flags = flags&^os.O_RDWR | os.O_WRONLY | noWait
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(found, opened) {
		err = &os.PathError{Op: "open", Path: path, Err: errReplaced}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// names makes and recognises the names of rotated files. For ops.jsonl they are
//
//	ops-2026-11-21T00-32-27.391.jsonl
//	ops-2026-11-21T00-32-27.391_0001.jsonl
//
// The second form is for a name already taken. They sort by time.
type names struct{ dir, base, ext string }

// The parts of a rotated name behind the base.
const (
	rotatedStamp  = "2006-01-02T15-04-05.000"
	numberDigits  = 4
	maxPerInstant = 9999
)

func newNames(path string) names {
	dir, name := filepath.Split(path)
	ext := filepath.Ext(name)
	if ext == ".gz" || ext == ".zst" {
		// The extension before it belongs to the format.
		ext = filepath.Ext(strings.TrimSuffix(name, ext)) + ext
	}
	if ext == name { // .ops has no extension
		ext = ""
	}
	return names{dir: dir, base: strings.TrimSuffix(name, ext), ext: ext}
}

type rotatedFile struct {
	name  string
	stamp time.Time
	size  int64
}

func (n names) stamp(name string) (time.Time, bool) {
	middle, ok := strings.CutPrefix(name, n.base+"-")
	if !ok || !strings.HasSuffix(middle, n.ext) {
		return time.Time{}, false
	}
	middle = strings.TrimSuffix(middle, n.ext)
	if stamp, number, ok := strings.Cut(middle, "_"); ok {
		if i, err := strconv.ParseUint(number, 10, 32); err != nil || i == 0 || len(number) != numberDigits {
			return time.Time{}, false
		}
		middle = stamp
	}
	t, err := time.Parse(rotatedStamp, middle)
	return t, err == nil && t.Format(rotatedStamp) == middle
}

// list returns the rotated files, oldest first. It skips links and directories of such names.
func (n names) list() ([]rotatedFile, error) {
	entries, err := os.ReadDir(cmp.Or(n.dir, "."))
	if err != nil {
		return nil, err
	}
	var files []rotatedFile
	for _, e := range entries {
		stamp, ok := n.stamp(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil { // removed since otherwise
			files = append(files, rotatedFile{name: e.Name(), stamp: stamp, size: info.Size()})
		}
	}
	slices.SortFunc(files, func(a, b rotatedFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// move renames the file at from to the first free name of t after last. It overwrites no file and follows no link.
func (n names) move(from string, t time.Time, last string) error {
	stamp := t.UTC().Format(rotatedStamp)
	for i := range maxPerInstant + 1 {
		number := ""
		if i > 0 {
			number = fmt.Sprintf("_%0*d", numberDigits, i)
		}
		name := n.base + "-" + stamp + number + n.ext
		if name <= last {
			continue
		}
		if err := renameNew(from, n.path(name)); !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("%s-%s: all names of this millisecond are taken", n.path(n.base), stamp)
}

// renameNew renames a file unless the new name is taken.
func renameNew(from, to string) error {
	err := rename(from, to)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.EINVAL):
		return renameReserved(from, to) // not on this file system
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

// renameReserved is renameNew by an empty file that reserves the name.
func renameReserved(from, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownerOnly)
	if err != nil {
		return err
	}
	if err = f.Close(); err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		_ = os.Remove(to)
	}
	return err
}

func (n names) path(name string) string { return filepath.Join(n.dir, name) }
