package mcp

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// directories is the file system of a Server: the files below its directories, by absolute paths. os.Root resolves a
// path when a file is opened, so no link leads out of a directory.
type directories []*os.Root

func openDirectories(paths []string) (d directories, err error) {
	for _, path := range paths {
		if path, err = filepath.Abs(path); err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return d, err
		}
		root, err := os.OpenRoot(path)
		if err != nil {
			return d, err
		}
		d = append(d, root)
	}
	return d, nil
}

// Open implements [fs.FS].
func (d directories) Open(path string) (fs.File, error) {
	root, below, err := d.find("open", path)
	if err != nil {
		return nil, err
	}
	return root.Open(below)
}

// Stat implements [fs.StatFS].
func (d directories) Stat(path string) (fs.FileInfo, error) {
	root, below, err := d.find("stat", path)
	if err != nil {
		return nil, err
	}
	return root.Stat(below)
}

// find returns the directory of an absolute path and the rest of the path.
func (d directories) find(what, path string) (root *os.Root, below string, err error) {
	for _, root := range d {
		if below, err := filepath.Rel(root.Name(), path); err == nil && filepath.IsLocal(below) {
			return root, below, nil
		}
	}
	return nil, "", &fs.PathError{Op: what, Path: path, Err: fs.ErrNotExist}
}

// resolve returns the absolute paths of inputs without symbolic links. A relative input may be in any directory.
func (d directories) resolve(inputs []string) ([]string, error) {
	if len(inputs) == 0 {
		return nil, fmt.Errorf("no input was given; %s", d.list())
	}
	paths := make([]string, len(inputs))
	for i, in := range inputs {
		for _, root := range d {
			path := in
			if !filepath.IsAbs(path) {
				path = filepath.Join(root.Name(), path)
			}
			path, err := filepath.EvalSymlinks(path)
			if err != nil {
				continue
			}
			if _, err := d.Stat(path); err == nil {
				paths[i] = path
				break
			}
		}
		if paths[i] == "" {
			return nil, fmt.Errorf("%s is not a file or directory below %s; %s", in, strings.Join(d.names(), ", "),
				d.list())
		}
	}
	return paths, nil
}

func (d directories) names() (names []string) {
	for _, root := range d {
		names = append(names, root.Name())
	}
	return names
}

// paths returns the first files whose paths contain part, and whether there are more than most.
func (d directories) paths(part string, most int) (paths []string, more bool) {
	for _, root := range d.names() {
		_ = fs.WalkDir(d, root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // what cannot be read is no input
			case path != root && strings.HasPrefix(e.Name(), ".") && e.IsDir():
				return fs.SkipDir
			case !e.Type().IsRegular() || !strings.Contains(path, part):
				return nil
			case len(paths) == most:
				more = true
				return fs.SkipAll
			}
			paths = append(paths, path)
			return nil
		})
	}
	return paths, more
}

func (d directories) list() string {
	names, more := d.paths("", 20)
	switch {
	case len(names) == 0:
		return "there are no files"
	case more:
		names = append(names, "…")
	}
	return "there are " + strings.Join(names, ", ")
}
