package seed

import (
	"context"
	_ "embed"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/bench/measure"
)

//go:embed seed.rs
var source []byte

// build compiles the Rust program unless it is in the cache.
func build(ctx context.Context, env *measure.Env) (string, error) {
	rustc, err := exec.LookPath("rustc")
	if err != nil {
		return "", &measure.UnavailableError{Need: "rustc"}
	}
	_, version, err := measure.Command(ctx, 1, rustc, "--version")
	if err != nil {
		return "", &measure.UnavailableError{Need: "rustc that works: " + err.Error()}
	}
	key := crc32.ChecksumIEEE(append(version, source...))
	return env.Prepared(fmt.Sprintf("seed-%08x", key), func(path string) error {
		env.Log("compiling the Rust program")
		text := path + ".rs"
		if err := os.WriteFile(text, source, 0o644); err != nil {
			return err
		}
		_, _, err := measure.Command(ctx, 1, rustc, "-O", "-o", path, text)
		return err
	})
}

// run has the Rust program at path make a trace of n entries and analyse it.
func run(ctx context.Context, path string, n int) (measure.Sample, error) {
	_, out, err := measure.Command(ctx, 1, path, strconv.Itoa(n), strings.Join(operations, ","), strings.Join(devices, ","))
	if err != nil {
		return measure.Sample{}, err
	}
	text := strings.TrimSpace(string(out))
	end := strings.LastIndexByte(text, '\n')
	ns, err := strconv.ParseInt(text[end+1:], 10, 64)
	if err != nil {
		return measure.Sample{}, fmt.Errorf("the Rust program took: %w", err)
	}
	return measure.Sample{N: int64(n), Wall: time.Duration(ns), Sum: text[:max(0, end)]}, nil
}
