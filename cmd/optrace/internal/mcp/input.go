package mcp

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
)

func rootOf(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	return absolute, err
}

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
			if err == nil && slices.ContainsFunc(s.roots, func(root string) bool { return isBelow(path, root) }) {
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

// isBelow reports whether path is root or below it.
func isBelow(path, root string) bool {
	relative, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(relative)
}

// list names the first files there are.
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

// open opens inputs, which are paths of resolve. The attributes of keys are kept.
func (s *Server) open(paths []string, keys []key.Key) *ingest.Input {
	in, _ := input.Source{
		Inputs: paths, InOut: flags.InOut{Memory: s.opts.Memory}, Mapping: flags.MappingFor(keys),
	}.Open(streams.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	return in
}

// maxReports is how many reports are kept. They have no operation but those they list.
const maxReports = 8

// kept are the latest reports, the one that was asked for last at the end.
type kept []keptReport

type keptReport struct {
	of     string
	report *analyze.Report
}

// report returns the report on inputs, the one that is kept where the files and the options, which name says, are the same.
func (s *Server) report(ctx context.Context, inputs []string, name string, keys []key.Key, opts analyze.Options) (*analyze.Report, error) {
	paths, err := s.resolve(inputs)
	if err != nil {
		return nil, err
	}
	of := name + stamp(paths)
	i := slices.IndexFunc(s.reports, func(k keptReport) bool { return k.of == of })
	if i >= 0 {
		found := s.reports[i]
		s.reports = append(slices.Delete(s.reports, i, i+1), found)
		return found.report, nil
	}
	r, err := s.run(ctx, paths, keys, opts)
	if err != nil {
		return nil, err
	}
	if len(s.reports) == maxReports {
		s.reports = slices.Delete(s.reports, 0, 1)
	}
	s.reports = append(s.reports, keptReport{of, r})
	return r, nil
}

func (s *Server) run(ctx context.Context, paths []string, keys []key.Key, opts analyze.Options) (*analyze.Report, error) {
	r, err := analyze.Run(ctx, s.open(paths, keys), opts)
	if err == nil {
		err = input.Unread(paths, &r.Input)
	}
	if err != nil {
		return nil, exit.Input(err)
	}
	return r, nil
}

// stamp says which files there are, and when they were written.
func stamp(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(path string, _ fs.DirEntry, _ error) error {
			if info, err := os.Stat(path); err == nil {
				fmt.Fprintf(&b, "\x00%s\x00%d\x00%d", path, info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
	}
	return b.String()
}
