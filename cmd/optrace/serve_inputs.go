package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/serve/livepage"
	"github.com/optrace/optrace/op"
)

// The limits of followed directories.
const (
	maxFollowed  = 1000
	scanInterval = 500 * time.Millisecond
)

func (s *server) follow(ctx context.Context, std streams.Streams, inputs []string) error {
	for _, path := range inputs {
		var mode fs.FileMode = fs.ModeNamedPipe
		if path != ingest.Stdin {
			info, err := os.Stat(path)
			if err != nil {
				return exit.Input(fmt.Errorf("reading input: %w", err))
			}
			mode = info.Mode()
		}
		switch {
		case mode.IsDir():
			// The separator follows a symbolic link.
			s.running.Go(func() { s.followDirectory(ctx, std, path+string(filepath.Separator)) })
		case mode.IsRegular():
			s.running.Go(func() { s.followFile(ctx, std, path, true) })
		default:
			// Reading a pipe cannot be interrupted, so the command does not wait for it.
			go s.followFile(ctx, std, path, true)
		}
	}
	return nil
}

// followFile adds the current and future records of a file to the window. An error of a named file ends the command.
func (s *server) followFile(ctx context.Context, std streams.Streams, path string, named bool) {
	in := s.window.Input("")
	w := in.Writer()
	defer w.Flush()
	f := ingest.Follower{
		Options: ingest.Options{
			MaxMemory: int64(s.flags.memory) / inputShare,
			Stdin:     std.In, Format: s.flags.format, Mapping: livepage.Mapping, Progress: func(n int) {
				in.AddBytes(int64(n))
			},
		},
		Started: in.SetFormat, Idle: w.Flush,
	}
	for rec, err := range f.Records(ctx, path) {
		syntax, ok := errors.AsType[*op.SyntaxError](err)
		switch {
		case err == nil || ok:
			w.Add(rec, syntax)
		case named:
			s.end(exit.Input(err))
		default:
			w.Add(op.Record{}, &op.SyntaxError{File: path, Offset: -1, Msg: err.Error(), Class: op.ErrorFormat})
		}
	}
}

// followDirectory follows the present and future files below a directory. It skips files followed before under another
// name, before a rotation, and compressed files that come later: they repeat followed records.
func (s *server) followDirectory(ctx context.Context, std streams.Streams, dir string) {
	var known []fs.FileInfo
	followed := make(map[string]bool)
	for first := true; ctx.Err() == nil; first = false {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // it went away, or comes back
			case path != dir && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case !d.Type().IsRegular():
				return nil
			}
			info, err := d.Info()
			if err != nil || slices.ContainsFunc(known, func(k fs.FileInfo) bool { return os.SameFile(k, info) }) {
				return nil
			}
			known = append(known, info)
			if followed[path] || !first && isCompressedName(path) || len(followed) >= maxFollowed {
				return nil
			}
			followed[path] = true
			s.running.Go(func() { s.followFile(ctx, std, path, false) })
			return nil
		})
		known = known[max(0, len(known)-4*maxFollowed):]
		select {
		case <-ctx.Done():
		case <-time.After(scanInterval):
		}
	}
}

func isCompressedName(path string) bool {
	return slices.Contains([]string{".gz", ".zst", ".xz", ".bz2", ".lz4"}, filepath.Ext(path))
}
