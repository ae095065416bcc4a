package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/optrace/optrace/bench/measure"
)

// Build builds the command optrace of the module around this one and returns its
// path. The Go command does nothing where it is up to date. It must be called in
// a directory of this module.
func Build(ctx context.Context, env *measure.Env) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", fmt.Errorf("building optrace: %w", err)
	}
	if err := os.MkdirAll(env.Cache, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(env.Cache, "optrace")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := func() error {
		_, _, err := measure.Command(ctx, 1, "go", "-C", root, "build", "-o", path, "./cmd/optrace")
		return err
	}
	if err := build(); err != nil {
		return "", fmt.Errorf("building optrace: %w", err)
	}
	if _, _, err := measure.Command(ctx, 1, path, "version"); err == nil {
		return path, nil
	}
	// Damaged, but not where the Go command looks.
	if err := os.Remove(path); err != nil {
		return "", err
	}
	if err := build(); err != nil {
		return "", fmt.Errorf("building optrace: %w", err)
	}
	_, _, err = measure.Command(ctx, 1, path, "version")
	return path, err
}

// moduleRoot returns the directory of the module around this one.
func moduleRoot(ctx context.Context) (string, error) {
	_, gomod, err := measure.Command(ctx, 1, "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	root := filepath.Dir(filepath.Dir(strings.TrimSpace(string(gomod))))
	if _, err := os.Stat(filepath.Join(root, "cmd", "optrace")); err != nil {
		return "", errors.New("not in the directory of the bench module: use go run -C bench")
	}
	return root, nil
}

// report runs optrace on a file of n operations.
func report(ctx context.Context, program string, n int64, path string) (measure.Sample, []row, error) {
	s, out, err := measure.Command(ctx, n, program, "report", "-json", "-by", "device", "-section", "summary", path)
	if err != nil {
		return s, nil, err
	}
	rows, err := parseReport(out)
	return s, rows, err
}

// parseReport returns the rows of a report that is grouped by device.
func parseReport(text []byte) ([]row, error) {
	type stats struct {
		Count float64 `json:"count"`
		Sum   float64 `json:"sum_ns"`
		Min   float64 `json:"min_ns"`
		Max   float64 `json:"max_ns"`
		P50   float64 `json:"p50_ns"`
		P95   float64 `json:"p95_ns"`
		P99   float64 `json:"p99_ns"`
	}
	var rep struct {
		Operations []struct {
			Operation string `json:"operation"`
			stats
		} `json:"operations"`
		Groups []struct {
			Key struct {
				Device string `json:"device"`
			} `json:"key"`
			stats
		} `json:"groups"`
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		return nil, fmt.Errorf("the report: %w", err)
	}
	var rows []row
	add := func(name string, s stats) {
		rows = append(rows, row{Name: name, Count: s.Count, Sum: s.Sum, Min: s.Min, Max: s.Max, Percentiles: []float64{s.P50, s.P95, s.P99}})
	}
	for _, o := range rep.Operations {
		add("operation "+o.Operation, o.stats)
	}
	for _, g := range rep.Groups {
		add("device "+g.Key.Device, g.stats)
	}
	return rows, nil
}
