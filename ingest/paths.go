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

// Stdin is the path that stands for standard input.
const Stdin = "-"

// source is one file of an input.
type source struct {
	path string
	// walked is set for a file that was found in a directory and not named.
	walked bool
}

// expand replaces the directories among paths by the regular files below
// them, in lexical order. Names that start with a dot are passed over. Every
// path is looked at before any is read, so that a mistyped one is reported at once.
func (o *Options) expand(paths []string) ([]source, error) {
	if o.Format != "" && !slices.Contains(FormatNames(), o.Format) {
		return nil, fmt.Errorf("unknown format %q; formats are %s", o.Format, strings.Join(FormatNames(), ", "))
	}
	var sources []source
	for _, path := range paths {
		if path == Stdin {
			sources = append(sources, source{path: path})
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("reading input: %w", err)
		}
		if !info.IsDir() {
			sources = append(sources, source{path: path})
			continue
		}
		found, err := o.walk(path)
		if err != nil {
			return nil, fmt.Errorf("reading input: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("reading input: directory %s holds no files", path)
		}
		sources = append(sources, found...)
	}
	return sources, nil
}

func (o *Options) walk(dir string) ([]source, error) {
	var found []source
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
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

// isOther reports whether err means that the file is of no known format and was
// found in a directory. Directories hold other things too: they are reported,
// and fatal only where there is nothing else.
func (s source) isOther(err error) bool {
	_, ok := errors.AsType[*UnknownFormatError](err)
	return ok && s.walked
}

// refusal returns the error for a file for which isOther holds.
func (s source) refusal(err error) *op.SyntaxError {
	format, _ := errors.AsType[*UnknownFormatError](err)
	return &op.SyntaxError{File: s.path, Msg: format.Error(), Class: op.ErrorFormat}
}

// errNoFormat returns the error for an input in which all files are of no known
// format.
func errNoFormat(last *op.SyntaxError) error {
	return fmt.Errorf("reading input: no file of a known format: %v", last) //nolint:errorlint // not wrapped: this one is final
}
