package mcp

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// resolve returns the paths of inputs, which are below one of the directories. A relative one
// is relative to any of these.
func (s *Server) resolve(inputs []string) ([]string, error) {
	if len(inputs) == 0 {
		return nil, fmt.Errorf("no input was given; %s", s.list())
	}
	paths := make([]string, len(inputs))
	for i, in := range inputs {
		for _, root := range s.roots {
			path := in
			if !filepath.IsAbs(path) {
				path = filepath.Join(root, path)
			}
			path, err := filepath.EvalSymlinks(path)
			if err == nil && slices.ContainsFunc(s.roots, func(root string) bool {
				relative, err := filepath.Rel(root, path)
				return err == nil && filepath.IsLocal(relative)
			}) {
				paths[i] = path
				break
			}
		}
		if paths[i] == "" {
			return nil, fmt.Errorf("%s is no file or directory below %s; %s", in, strings.Join(s.roots, ", "), s.list())
		}
	}
	return paths, nil
}

func (s *Server) list() string {
	const most = 20
	var names []string
	for _, root := range s.roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case len(names) > most:
				return fs.SkipAll
			case err != nil:
				return nil //nolint:nilerr // what cannot be read is no input
			case path != root && strings.HasPrefix(d.Name(), ".") && d.IsDir():
				return fs.SkipDir
			case d.Type().IsRegular():
				names = append(names, path)
			}
			return nil
		})
	}
	switch {
	case len(names) == 0:
		return "there are no files"
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return "there are " + strings.Join(names, ", ")
}
