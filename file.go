package optrace

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// NewFileExporter returns an Exporter that appends to the file at path, which
// is created readable for its owner only where it does not exist. Shutdown
// closes the file.
//
// What an earlier process left unfinished spoils nothing: before the first
// batch a line that was cut off is ended, a length-prefixed message that was
// cut off is removed, and a compressed file that was cut off is renamed as
// [WithRotation] does. A file that holds something else than the options say is
// an error. To know that, a compressed file is read through once.
//
// A file that somebody renames or removes is begun anew. Several processes with
// the same options may append to one file, since every batch is one write.
// Where one of them may be killed they should write lines, uncompressed: in
// other forms nothing can be read behind a batch that was cut off.
//
// A symbolic link to a regular file is refused, so that nobody can lead the
// operations elsewhere; give the file itself.
func NewFileExporter(path string, opts ...Option) (*Exporter, error) {
	cfg, err := newConfig(slices.Concat(exporterVariables, fileVariables), opts)
	if err != nil {
		return nil, err
	}
	f, err := openFile(path, contents{cfg.format.encoding(), cfg.compression}, cfg.rotation)
	if err != nil {
		return nil, fmt.Errorf("optrace: opening the file to export to: %w", err)
	}
	e, err := newExporter(f, cfg)
	if e == nil {
		_ = f.Close()
		return nil, err
	}
	e.file = f
	return e, err
}

// ownerOnly is the mode of the files that are created.
const ownerOnly = 0o600

// errSymlink is why a path is refused.
var errSymlink = errors.New("is a symbolic link to a regular file, or to nothing")

// openAppending opens the file at path, or creates it. A symbolic link is
// followed only where it leads to something other than a regular file, such as
// a terminal.
func openAppending(path string) (*os.File, error) {
	const attempts = 10 // others may create and remove the file meanwhile
	var err error
	for range attempts {
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

// errReplaced tells that a file was replaced while it was being opened.
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

// truncate cuts the file at path, which must be the one described, to n bytes.
// It opens the file anew: one opened for appending cannot be cut everywhere.
func truncate(path string, file os.FileInfo, n int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|noFollow, 0)
	if err != nil {
		return err
	}
	opened, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(file, opened):
		err = &os.PathError{Op: "truncate", Path: path, Err: errReplaced}
	default:
		err = f.Truncate(n)
	}
	return errors.Join(err, f.Close())
}
