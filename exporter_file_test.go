package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/tensorconv"
)

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestNewFileExporter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	exp := newFile(t, path)
	if text := readFile(t, path); len(text) != 0 {
		t.Errorf("the constructor wrote %q", text)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if perm := info.Mode().Perm(); perm != 0o600 {
			t.Errorf("the file's mode is %v, want only its owner to read it", perm)
		}
	}
	if err := exp.ExportSpans(t.Context(), spantest.Operations(2)); err != nil {
		t.Fatal(err)
	}
	if n := len(spantest.ReadWhole(t, readFile(t, path)).Entries); n != 2 {
		t.Errorf("%d entries before Shutdown, want 2", n)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestNewFileExporterErrors(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{
		"directory":         dir,
		"missing directory": filepath.Join(dir, "missing", "ops.jsonl"),
		"empty":             "",
	} {
		t.Run(name, func(t *testing.T) {
			if exp, err := optrace.NewFileExporter(path); err == nil {
				t.Errorf("NewFileExporter(%q) succeeds", path)
				_ = exp.Shutdown(t.Context())
			}
		})
	}
	_, err := optrace.NewFileExporter(filepath.Join(dir, "missing", "ops.jsonl"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v, want fs.ErrNotExist within", err)
	}
}

// Whatever an earlier process left, what is appended to it is readable.
func TestFileExporterAppends(t *testing.T) {
	var whole bytes.Buffer
	if err := newExporter(t, &whole).ExportSpans(t.Context(), spantest.Operations(2)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name      string
		before    []byte
		malformed int
		want      []int64
	}{
		{name: "nothing", want: []int64{0}},
		{name: "whole lines", before: whole.Bytes(), want: []int64{0, 1, 0}},
		{name: "torn line", before: whole.Bytes()[:whole.Len()-20], malformed: 1, want: []int64{0, 0}},
		{name: "missing newline", before: whole.Bytes()[:whole.Len()-1], want: []int64{0, 1, 0}},
		{name: "newline alone", before: []byte("\n"), want: []int64{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			if tt.before != nil {
				if err := os.WriteFile(path, tt.before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			exp := newFile(t, path)
			if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err != nil {
				t.Fatal(err)
			}
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			text := readFile(t, path)
			if !bytes.HasPrefix(text, tt.before) {
				t.Error("what was there before has changed")
			}
			rec := spantest.Read(t, text)
			if len(rec.Malformed) != tt.malformed {
				t.Errorf("%d lines cannot be read, want %d: %v", len(rec.Malformed), tt.malformed, rec.Malformed)
			}
			if diff := cmp.Diff(tt.want, rec.Steps()); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

// A context that is done does not keep the file from being closed.
func TestFileExporterShutdownCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	exp := newFile(t, path)
	if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := exp.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown of an idle exporter returns %v", err)
	}
	if err := os.Remove(path); err != nil { // fails on Windows while the file is open
		t.Error(err)
	}
}

// exportShared makes two exporters write to the file at path, at the same time, and
// returns how many operations they have written.
func exportShared(t *testing.T, path string, options ...optrace.FileExporterOption) (written int) {
	t.Helper()
	const batches, perBatch = 40, 3
	done := make(chan optrace.Stats)
	for range 2 {
		exp := newFile(t, path, options...)
		go func() {
			for range batches {
				if err := exp.ExportSpans(t.Context(), spantest.Operations(perBatch)); err != nil {
					t.Error(err)
				}
			}
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			done <- exp.Stats()
		}()
	}
	for range 2 {
		if st := <-done; st.Written != batches*perBatch {
			t.Errorf("stats %+v", st)
		}
		written += batches * perBatch
	}
	return written
}

// Two exporters of one file, with and without rotation: batches stay whole, and nothing is lost.
func TestFileExportersShareFileConcurrentSafe(t *testing.T) {
	for _, limit := range []int64{0, 4000} {
		dir := t.TempDir()
		written := exportShared(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: limit}))
		names, contents := files(t, dir)
		rec := spantest.ReadWhole(t, bytes.Join(contents, nil))
		rec.CheckBatches(t, false)
		if len(rec.Entries) != written || rec.Writers() != 2 || (len(names) > 1) != (limit > 0) {
			t.Errorf("limit %d: %d entries of %d writers in %d files, want %d of 2", limit, len(rec.Entries), rec.Writers(), len(names), written)
		}
	}
}

// files returns the contents of the files in dir in the order of their names.
func files(t *testing.T, dir string) (names []string, contents [][]byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
		contents = append(contents, readFile(t, filepath.Join(dir, e.Name())))
	}
	return names, contents
}

// What would make a file unreadable is refused.
func TestReopenForeign(t *testing.T) {
	for _, before := range outputs() {
		for _, o := range outputs() {
			path := filepath.Join(t.TempDir(), "ops.out")
			content := before.batchOf(t, 2)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			exp, err := optrace.NewFileExporter(path, o.fileOptions()...)
			if err == nil {
				_ = exp.Shutdown(t.Context())
			}
			if (err == nil) != (before == o) {
				t.Errorf("appending %v to %v: error %v", o, before, err)
			}
			if !bytes.Equal(content, readFile(t, path)) {
				t.Errorf("appending %v to %v has changed the file", o, before)
			}
		}
	}
}

// The file is the one that its path meant when the exporter was made, wherever the
// process goes.
func TestW6RelativePathAndChdir(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	t.Chdir(from)
	exp := newFile(t, "ops.jsonl", optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	t.Chdir(to)
	for i := range 3 {
		export(t, exp, spantest.Operation(i).Snapshot())
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, _ := files(t, to); len(names) != 0 {
		t.Errorf("files %q where the process went", names)
	}
	if names, _ := files(t, from); len(names) != 3 {
		t.Errorf("files %q, want 3", names)
	}
}

// H5: no name that is recorded becomes part of a path, whatever it looks like.
func TestNamesAreNoPaths(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "a", "b")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	exp := newFile(t, "ops.jsonl", optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	recorder, err := optrace.NewFlightRecorder(exp, 10)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"../../x", "/tmp/../x", filepath.Join(above, "y"), "CON", "nul\x00byte", "..", "a\\b", "ops.jsonl"}
	for i, name := range names {
		stub := spantest.Operation(i)
		stub.Name, stub.Resource = name, spantest.Service(name)
		stub.Attributes = append(stub.Attributes, tensorconv.OpName(name), tensorconv.DeviceID(name), tensorconv.OpPath(name))
		export(t, exp, stub.Snapshot())
		recorder.OnEnd(stub.Snapshot())
		if err := recorder.Dump(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := recorder.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, contents := files(t, dir)
	checkNames(t, found)
	entries := 0
	for _, text := range contents {
		entries += len(spantest.ReadWhole(t, text).Entries)
	}
	if entries != 2*len(names) {
		t.Errorf("%d entries in %q, want %d", entries, found, 2*len(names))
	}
	for path, want := range map[string][]string{above: {"a"}, filepath.Join(above, "a"): {"b"}} {
		var got []string
		listed, err := os.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range listed {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
