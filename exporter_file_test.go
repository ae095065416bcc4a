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
