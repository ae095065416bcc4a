package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/optrace/optrace/bench/measure"
)

// File is a file in the cache.
type File struct {
	Path string
	Summary
}

// The names in the directory of a file.
const (
	spansName = "spans"
	aboutName = "about.json"
)

// Get returns the file of a configuration and format, which is made if it is not
// in the cache. It has just been read as a whole, so that it is in the page cache.
func Get(ctx context.Context, env *measure.Env, f Format, c Config) (File, error) {
	if err := c.validate(f); err != nil {
		return File{}, err
	}
	key, err := fingerprint(f, c)
	if err != nil {
		return File{}, err
	}
	dir, err := env.Prepared(fmt.Sprintf("%s-%s-%s", f, c, key), func(dir string) error {
		env.Log("preparing %d operations, %s, as %s", c.Ops, c.Kind, f)
		return generate(ctx, env, dir, f, c)
	})
	if err != nil {
		return File{}, err
	}
	return load(dir)
}

func generate(ctx context.Context, env *measure.Env, dir string, f Format, c Config) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var file File
	var err error
	path := filepath.Join(dir, spansName)
	switch {
	case c.Kind == Recorded:
		file.Summary, err = writeRecorded(ctx, env, path, f, c)
	default:
		file.Summary, err = WriteFile(path, f, c)
	}
	if err != nil {
		return err
	}
	about, err := json.Marshal(file)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, aboutName), about, 0o644)
}

// load returns the file in dir, and reads it into the page cache.
func load(dir string) (file File, err error) {
	about, err := os.ReadFile(filepath.Join(dir, aboutName))
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(about, &file); err != nil {
		return file, err
	}
	file.Path = filepath.Join(dir, spansName)
	f, err := os.Open(file.Path)
	if err != nil {
		return file, err
	}
	_, err = io.Copy(io.Discard, f)
	return file, errors.Join(err, f.Close())
}
