// Package cache keeps what takes long to make: generated files, programs and
// the packages of other tools.
//
// An entry of the cache is there as a whole or not at all: it is made under
// another name and renamed. Its name says everything that it depends on.
package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Default returns the directory of the cache, below the user's cache directory.
func Default() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a directory for prepared files: %w", err)
	}
	return filepath.Join(base, "optrace-bench"), nil
}

// Get returns the path of the entry of that name in dir. Where it is missing, or
// valid, which may be nil, says that it is damaged, build makes it at the path
// that it is given, as a file or a directory. Where several processes make the
// same entry at once, the last one's stays.
func Get(dir, name string, valid func(path string) error, build func(path string) error) (string, error) {
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err == nil && (valid == nil || valid(path) == nil) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, ".making-")
	if err != nil {
		return "", err
	}
	made := filepath.Join(tmp, name)
	err = build(made)
	if err == nil {
		err = errors.Join(os.RemoveAll(path), os.Rename(made, path))
	}
	if err != nil {
		err = fmt.Errorf("making %s: %w", name, err)
	}
	return path, errors.Join(err, os.RemoveAll(tmp))
}
