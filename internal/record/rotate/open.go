package rotate

import (
	"errors"
	"os"
)

// ownerOnly is the mode of created files.
const ownerOnly = 0o600

// errSymlink refuses a path: a link could lead the data elsewhere.
var errSymlink = errors.New("is a symbolic link to a regular or a missing file")

// errPlanted refuses another user's file in a directory such as /tmp.
var errPlanted = errors.New("belongs to another user, in a directory where everybody may create files")

// openAttempts bounds the attempts to open a file that others create and remove meanwhile.
const openAttempts = 100

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
