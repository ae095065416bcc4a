package optrace_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/tensorconv"
)

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	return check.Must(os.ReadFile(path))(t)
}

// Invalid options are errors, and no file is written.
func TestExporterOptionErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ops.jsonl")
	for name, tt := range map[string]struct {
		path string
		opt  optrace.ExporterOption
		want string
	}{
		"format":      {path, optrace.WithFormat(9), "unknown format 9"},
		"compression": {path, optrace.WithCompression(9), "unknown compression 9"},
		"cache":       {path, optrace.WithCacheBytes(-1), "cache size -1 is negative"},
		"rotation":    {path, optrace.WithRotation(optrace.Rotation{MaxBytes: -1}), "-1 is negative"},
		"a device": {os.DevNull, optrace.WithRotation(optrace.Rotation{MaxBytes: 1000}),
			"rotation needs a regular file"},
		"a directory":  {dir, nil, dir},
		"no directory": {filepath.Join(dir, "missing", "ops.jsonl"), nil, "missing"},
		"no name":      {"", nil, "the path is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := optrace.NewFileExporter(tt.path, tt.opt)
			check.Says(t, "NewFileExporter", tt.want, err)
			check.Equal(t, "the file has been written to", 0, size(path))
			if tt.path == path {
				_, err := optrace.NewExporter(io.Discard, tt.opt)
				check.Says(t, "NewExporter", tt.want, err)
			}
		})
	}
	_, err := optrace.NewFileExporter(filepath.Join(dir, "missing", "ops.jsonl"))
	check.Is(t, "no directory", fs.ErrNotExist, err)
	_, err = optrace.NewExporter(io.Discard, optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	check.Says(t, "rotation of a writer", "rotation is for files", err)
	shutdown(t, newFile(t, path, nil, optrace.WithRotation(optrace.Rotation{}), optrace.WithMapping(nil))) // all off
	check.Equal(t, "an unknown format", "Format(7)", optrace.Format(7).String())
}

// No recorded name becomes part of a path. Row H5 of docs/faults.md.
func TestNamesAreNoPaths(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "a", "b")
	check.OK(t, os.MkdirAll(dir, 0o700))
	t.Chdir(dir)
	exp := newFile(t, "ops.jsonl", optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	recorder := check.Must(optrace.NewFlightRecorder(exp, 10))(t)
	names := []string{"../../x", "/tmp/../x", filepath.Join(above, "y"), "CON", "nul\x00byte", "..", "a\\b",
		"ops.jsonl"}
	for i, name := range names {
		stub := spantest.Operation(i)
		stub.Name = name
		stub.Resource = spantest.Service(name)
		stub.Attributes = append(stub.Attributes, tensorconv.OpName(name), tensorconv.DeviceID(name),
			tensorconv.OpPath(name))
		export(t, exp, stub.Snapshot())
		recorder.OnEnd(stub.Snapshot())
		check.OK(t, recorder.Dump(t.Context()))
	}
	shutdown(t, recorder)
	found, contents := check.Files(t, dir)
	for _, name := range found {
		if !strings.HasPrefix(name, "ops") || !strings.HasSuffix(name, ".jsonl") {
			t.Errorf("a file is named %q", name)
		}
	}
	check.Equal(t, "entries", 2*len(names), len(spantest.ReadWhole(t, bytes.Join(contents, nil)).Entries))
	for path, want := range map[string]string{above: "a", filepath.Join(above, "a"): "b"} {
		if listed := check.Must(os.ReadDir(path))(t); len(listed) != 1 || listed[0].Name() != want {
			t.Errorf("%s holds %v, want %s", path, listed, want)
		}
	}
}

// A rotated file is complete when it appears: a reader may remove it after reading.
func TestRotatedFilesAreWholeConcurrentSafe(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system reserves names by empty files")
	}
	dir := t.TempDir()
	exp := newFile(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	n := cases.Count(t, 300, 1000)
	spans := spantest.Operations(n)
	done := make(chan error)
	go func() {
		var err error
		for i := range n {
			err = errors.Join(err, exp.ExportSpans(t.Context(), spans[i:i+1]))
		}
		done <- errors.Join(err, exp.Shutdown(t.Context()))
	}()
	found := 0
	ended := false
	for !ended {
		select {
		case err := <-done:
			check.OK(t, err)
			ended = true
		default:
		}
		entries := check.Must(os.ReadDir(dir))(t)
		for _, e := range entries {
			if e.Name() == "ops.jsonl" && !ended {
				continue
			}
			n := len(spantest.Read(t, readFile(t, filepath.Join(dir, e.Name()))).Entries)
			if n == 0 && !ended {
				t.Fatalf("%s is empty", e.Name())
			}
			found += n
			check.OK(t, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	check.Equal(t, "operations were found", n, found)
}
