package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
)

// DefaultCache returns the directory of prepared files and programs, below the user's cache directory.
func DefaultCache() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a directory for prepared files: %w", err)
	}
	return filepath.Join(base, "optrace-bench"), nil
}

// Prepared returns the path of a file or directory in the cache. If it is missing, build makes it at a temporary
// path, and Prepared moves it into place as a whole. The name must include everything that the content depends on.
func (e *Env) Prepared(name string, build func(path string) error) (string, error) {
	path := filepath.Join(e.Cache, name)
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(e.Cache, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(e.Cache, ".making-")
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

// OptraceProgram returns the path of the command optrace.
func (e *Env) OptraceProgram(ctx context.Context) (string, error) {
	if e.Optrace != "" {
		return e.Optrace, nil
	}
	return e.Program(ctx, "cmd/optrace")
}

// Program builds a command of the repository in the cache and returns its path. The working
// directory must lie in this module.
func (e *Env) Program(ctx context.Context, pkg string) (string, error) {
	if err := os.MkdirAll(e.Cache, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(e.Cache, path.Base(pkg))
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", program,
		"github.com/optrace/optrace/"+pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s, with go run -C bench: %w: %s", pkg, err, out)
	}
	return program, nil
}
