package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	// err is the error of an unreadable subdirectory or file of an archive.
	err error
	// zipped is set for a file of an archive, a path.
	zipped  *zipped
	archive string
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
			return nil, fmt.Errorf("reading input: directory %s holds no files; symbolic links in it are not followed", path)
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
