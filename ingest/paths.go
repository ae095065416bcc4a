package ingest

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// Stdin is the path of standard input.
const Stdin = "-"

type source struct {
	path string
	// walked is set for a file found in a directory, alone for a named file that is the whole input.
	walked, alone bool
	err           error   // the error of an unreadable subdirectory or file of an archive
	zipped        *zipped // set for a file of an archive, a path
	archive       string
}

// expand replaces directories by the regular files below them, in lexical order, without names that start with a dot.
// It looks at every path before any is read, to report a mistyped one at once.
func (o *Options) expand(paths []string) ([]source, error) {
	if o.Format != "" && !slices.Contains(FormatNames(), o.Format) {
		return nil, fmt.Errorf("unknown format %q; formats are %s", o.Format, strings.Join(FormatNames(), ", "))
	}
	var sources []source
	for _, path := range paths {
		if path == Stdin || o.tail != nil {
			sources = append(sources, source{path: path})
			continue
		}
		info, err := o.stat(path)
		if err != nil {
			return nil, fmt.Errorf("reading input: %w", err)
		}
		if !info.IsDir() {
			sources = append(sources, source{path: path})
			continue
		}
		dir := path
		if o.FS == nil {
			dir += string(filepath.Separator) // a symbolic link to a directory is walked
		}
		found, err := o.walk(dir)
		if err != nil {
			return nil, fmt.Errorf("reading input: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("reading input: directory %s holds no files; links in it are not followed", path)
		}
		sources = append(sources, found...)
	}
	if len(sources) == 1 {
		sources[0].alone = !sources[0].walked
	}
	return sources, nil
}

func (o *Options) walk(dir string) ([]source, error) {
	var found []source
	err := o.walkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			found = append(found, source{path: path, walked: true, err: err})
			return nil
		case path != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			if o.Exclude != nil {
				info, err := d.Info()
				if err != nil || o.Exclude(info) {
					return err
				}
			}
			found = append(found, source{path: path, walked: true})
		}
		return nil
	})
	return found, err
}

func (o *Options) stat(path string) (fs.FileInfo, error) {
	if o.FS != nil {
		return fs.Stat(o.FS, path)
	}
	return os.Stat(path)
}

func (o *Options) walkDir(dir string, f fs.WalkDirFunc) error {
	if o.FS != nil {
		return fs.WalkDir(o.FS, dir, f)
	}
	return filepath.WalkDir(dir, f)
}

// members returns the files in an archive, in lexical order, without names that start with a dot.
func (in *Input) members(s source, src io.Reader) ([]source, error) {
	file, ok := src.(interface {
		fs.File
		io.ReaderAt
	})
	isOther := s.walked && path.Ext(s.path) != ".zip" // a checkpoint, a document, a program
	if s.zipped != nil || s.path == Stdin || in.opts.tail != nil || isOther || !ok {
		return nil, &refusedError{"a zip archive that is streamed, followed or found under another name: unpack it"}
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, &refusedError{fmt.Sprintf("a zip archive that is cut off or damaged: %v", err)}
	}
	const perFile = 512 // bytes of memory, about
	if err := in.memory.hold(int64(len(z.File)) * perFile); err != nil {
		return nil, err
	}
	var found []source
	left := uint64(info.Size())
	for _, f := range z.File {
		name := path.Clean("/" + f.Name)
		if f.Mode().IsDir() || strings.Contains(name, "/.") || strings.HasPrefix(name, "/__MACOSX/") {
			continue
		}
		if left < f.CompressedSize64 {
			return nil, &refusedError{"a zip archive with overlapping files"}
		}
		left -= f.CompressedSize64
		at, err := f.DataOffset()
		if f.Flags&1 != 0 || f.Method != zip.Deflate && f.Method != zip.Store {
			err = fmt.Errorf("it is encrypted, or its compression method, %d, is not supported", f.Method)
		}
		if err != nil {
			err = &refusedError{"a file of a zip archive that cannot be read: " + err.Error()}
		}
		found = append(found, source{path: s.path + name, walked: true, err: err, archive: s.path, zipped: &zipped{
			offset: at, size: int64(f.CompressedSize64), isDeflated: f.Method == zip.Deflate, sum: f.CRC32}})
	}
	if len(found) == 0 {
		return nil, &refusedError{"a zip archive without files"}
	}
	slices.SortStableFunc(found, func(a, b source) int { return cmp.Compare(a.path, b.path) })
	return found, nil
}

// passedOver returns the report of a file that could not be opened, nil if err ends the input. A file of unknown format
// or without read permission ends it only if it is the only input.
func (s source) passedOver(err error) *op.SyntaxError {
	if s.alone {
		return nil
	}
	if format, ok := errors.AsType[*UnknownFormatError](err); ok {
		return &op.SyntaxError{File: s.path, Msg: format.Error(), Class: op.ErrorFormat}
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return &op.SyntaxError{File: s.path, Msg: refused.Error(), Class: op.ErrorFormat}
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return &op.SyntaxError{File: s.path, Offset: -1, Msg: path.Err.Error(), Class: op.ErrorUnreadable}
	}
	return nil
}

// errNothingRead returns the error of an input without a readable file. last is the report of the last one.
func errNothingRead(last *op.SyntaxError) error {
	what := "no file of a known format"
	if last.Class == op.ErrorUnreadable {
		what = "no file that can be read"
	}
	return fmt.Errorf("reading input: %s: %v", what, last) //nolint:errorlint // not wrapped: this one is final
}
