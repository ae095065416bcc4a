package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Program builds a command of the repository around this module and returns its
// path in dir. module is the module's directory in the repository, "" for its
// root, and pkg the command's, such as "./cmd/optrace". The Go command does nothing
// where the program is up to date. Program must be called in a directory of this
// module.
func Program(ctx context.Context, dir, module, pkg string) (string, error) {
	root, err := repositoryRoot(ctx)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("building %s: %w", pkg, err)
	}
	program := filepath.Join(dir, path.Base(pkg))
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := func() error {
		out, err := exec.CommandContext(ctx, "go", "-C", filepath.Join(root, module), "build", "-o", program, pkg).CombinedOutput()
		if err != nil {
			return fmt.Errorf("building %s: %w: %s", pkg, err, out)
		}
		return nil
	}
	works := func() bool { // -h ends with an exit status, or 2 in programs without it
		var exit *exec.ExitError
		err := exec.CommandContext(ctx, program, "-h").Run()
		return err == nil || errors.As(err, &exit) && exit.ExitCode() >= 0
	}
	if err := build(); err != nil || works() {
		return program, err
	}
	// The file is damaged in a place that the Go command does not look at.
	if err := os.Remove(program); err != nil {
		return "", err
	}
	return program, build()
}

// repositoryRoot returns the directory of the module around this one.
func repositoryRoot(ctx context.Context) (string, error) {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	root := filepath.Dir(filepath.Dir(strings.TrimSpace(string(gomod))))
	if _, err := os.Stat(filepath.Join(root, "cmd", "optrace")); err != nil {
		return "", errors.New("not in the directory of the bench module: use go run -C bench")
	}
	return root, nil
}
