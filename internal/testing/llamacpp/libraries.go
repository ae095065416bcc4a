// Package llamacpp provides llama.cpp for examples and tests: its libraries, from the npm registry, and a
// model with random weights.
package llamacpp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The npm package with the libraries of llama.cpp v0.5.0 for linux/amd64, and its hash.
const (
	npmPackage = "@node-llama-cpp/linux-x64@3.22.1"
	npmSHA256  = "0d953e1503d5ab4608d8ed5b739132308c81ac05ffeb760d2a7f30e08a9f90e0"
)

// LibraryEnv is the environment variable with a directory of other libraries.
const LibraryEnv = "YZMA_LIB"

// Libraries returns the directory of the libraries: YZMA_LIB, or a directory below the user's cache. On
// first use npm downloads them. Libraries logs the directory and the download.
func Libraries(ctx context.Context, log io.Writer) (string, error) {
	if dir := os.Getenv(LibraryEnv); dir != "" {
		fmt.Fprintf(log, "llama.cpp: the libraries in %s, from %s\n", dir, LibraryEnv)
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "optrace", "llama.cpp-"+npmSHA256[:12])
	if _, err := os.Stat(dir); err == nil {
		fmt.Fprintf(log, "llama.cpp: the downloaded libraries in %s\n", dir)
		return dir, nil
	}
	if system := runtime.GOOS + "/" + runtime.GOARCH; system != "linux/amd64" {
		return "", fmt.Errorf("llama.cpp: no known libraries for %s; set %s to a folder with them",
			system, LibraryEnv)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "fetching-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }() // the rest of the download
	if err := fetch(ctx, work, log); err != nil {
		return "", err
	}
	if err := os.Rename(work, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil { // otherwise another process was faster
			return "", err
		}
	}
	fmt.Fprintf(log, "llama.cpp: unpacked into %s\n", dir)
	return dir, nil
}

func fetch(ctx context.Context, dir string, log io.Writer) error {
	fmt.Fprintf(log, "llama.cpp: npm pack %s, 11 MB\n", npmPackage)
	var failed bytes.Buffer
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", dir, npmPackage)
	cmd.Stderr = &failed
	if out, err := cmd.Output(); err != nil {
		return fmt.Errorf("llama.cpp: npm pack %s: %w: %s%s", npmPackage, err, failed.Bytes(), out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return errors.Join(err, fmt.Errorf("llama.cpp: npm pack made %d files", len(found)))
	}
	packed, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != npmSHA256 {
		return fmt.Errorf("llama.cpp: the SHA-256 of the package is %x, not %s", sum, npmSHA256)
	}
	fmt.Fprintf(log, "llama.cpp: the SHA-256 %s is correct\n", npmSHA256)
	cmd = exec.CommandContext(ctx, "tar", "-xzf", found[0], "-C", dir, "--strip-components=3", "--wildcards",
		"package/bins/*/lib*.so")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("llama.cpp: unpacking %s: %w: %s", npmPackage, err, out)
	}
	versioned, err := filepath.Glob(filepath.Join(dir, "*.v*.so"))
	if err != nil {
		return err
	}
	for _, path := range versioned { // link each under its name without a version
		name := filepath.Base(path)
		plain, _, _ := strings.Cut(name, ".v")
		if err := os.Symlink(name, filepath.Join(dir, plain+".so")); err != nil {
			return err
		}
	}
	return os.Remove(found[0])
}
