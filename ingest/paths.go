package ingest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// source is one file of an input.
type source struct {
	path string
	// walked tells that the file was found in a directory and not named.
	walked bool
}

// expand replaces the directories among paths by the regular files below
// them, in lexical order. Names that start with a dot are passed over. Every
// path is looked at before any is read, so that a mistyped one is told at once.
func expand(paths []string) ([]source, error) {
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
		found, err := walk(path)
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

func walk(dir string) ([]source, error) {
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
			found = append(found, source{path: path, walked: true})
		}
		return nil
	})
	return found, err
}
