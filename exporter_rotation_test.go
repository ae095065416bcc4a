package optrace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/spantest"
)

func newFile(t *testing.T, path string, opts ...optrace.FileExporterOption) *optrace.Exporter {
	t.Helper()
	exp, err := optrace.NewFileExporter(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

func export(t *testing.T, exp *optrace.Exporter, spans ...sdktrace.ReadOnlySpan) {
	t.Helper()
	if err := exp.ExportSpans(context.Background(), spans); err != nil {
		t.Fatal(err)
	}
}

// current puts the name of the current file, which sorts behind the rotated
// ones, last; it does so by itself, and this checks it.
func checkNames(t *testing.T, names []string) {
	t.Helper()
	pattern := regexp.MustCompile(`^ops-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}(_\d{4})?\.jsonl(\.zst|\.gz)?$`)
	for i, name := range names {
		if last := i == len(names)-1; last != strings.HasPrefix(name, "ops.jsonl") || !last && !pattern.MatchString(name) {
			t.Errorf("file %d of %d is named %q", i+1, len(names), name)
		}
	}
}

func TestRotationByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "ops.jsonl")
		exp := newFile(t, path, optrace.WithRotation(optrace.Rotation{MaxAge: time.Hour}))
		time.Sleep(2 * time.Hour) // an empty file does not age
		export(t, exp, spantest.Operations(1)...)
		time.Sleep(time.Hour - time.Nanosecond)
		export(t, exp, spantest.Operations(1)...)
		if names, _ := files(t, dir); len(names) != 1 {
			t.Fatalf("files %q before the hour is over", names)
		}
		time.Sleep(time.Nanosecond)
		export(t, exp, spantest.Operations(1)...)
		want := []string{"ops-2000-01-01T03-00-00.000.jsonl", "ops.jsonl"}
		names, _ := files(t, dir)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Fatalf("files (-want +got):\n%s", diff)
		}
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		// After a restart the file is as old as the last rotation.
		time.Sleep(59 * time.Minute)
		exp = newFile(t, path, optrace.WithRotation(optrace.Rotation{MaxAge: time.Hour}))
		export(t, exp, spantest.Operations(1)...)
		if names, _ := files(t, dir); len(names) != 2 {
			t.Fatalf("files %q 59 minutes after the rotation", names)
		}
		time.Sleep(time.Minute)
		export(t, exp, spantest.Operations(1)...)
		if names, _ := files(t, dir); len(names) != 3 {
			t.Fatalf("files %q an hour after the rotation", names)
		}
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// Many rotations in one instant get numbers, and a clock that was set back does
// not put new files in front of old ones.
func TestRotationNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		future := "ops-2000-01-01T00-00-07.000.jsonl"
		if err := os.WriteFile(filepath.Join(dir, future), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		exp := newFile(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
		for i := range 12 {
			export(t, exp, spantest.Operation(i).Snapshot())
		}
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		names, contents := files(t, dir)
		checkNames(t, names)
		if names[0] != future || names[1] != "ops-2000-01-01T00-00-07.000_0001.jsonl" || len(names) != 13 {
			t.Errorf("files %q", names)
		}
		if diff := cmp.Diff(spantest.UpTo(12), spantest.ReadWhole(t, slices.Concat(contents...)).Steps()); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
	})
}

// A rotated file is whole as soon as it is there: a reader may remove what it has
// read.
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
	found, ended := 0, false
	for !ended {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			ended = true
		default:
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() == "ops.jsonl" && !ended {
				continue
			}
			n := len(spantest.Read(t, readFile(t, filepath.Join(dir, e.Name()))).Entries)
			if n == 0 && !ended {
				t.Fatalf("%s is empty", e.Name())
			}
			found += n
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found != n {
		t.Errorf("%d operations were found, want %d", found, n)
	}
}

// Only files of the exporter's own pattern are deleted, oldest first.
func TestRotationDeletes(t *testing.T) {
	dir := t.TempDir()
	others := []string{
		"ops-2000-01-01T00-00-00.000.jsonl.bak", "ops-2000-01-01T00-00-00.000_01.jsonl", "ops-2000-13-01T00-00-00.000.jsonl",
		"ops-.jsonl", "ops-old.jsonl", "other-2000-01-01T00-00-00.000.jsonl", "ops-2000-01-01T00-00-00.jsonl",
	}
	own := []string{"ops-2000-01-01T00-00-00.000.jsonl", "ops-2000-01-01T00-00-00.000_0002.jsonl"}
	for _, name := range slices.Concat(others, own) {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "ops-2001-01-01T00-00-00.000.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	exp := newFile(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: 4000, MaxTotalBytes: 8000}))
	proc := newProcessor(t, exp)
	export(t, exp, spantest.Operations(1)...)
	if st := exp.Stats(); st.DeletedFiles != 1 {
		t.Errorf("%d files deleted, want the oldest one", st.DeletedFiles)
	}
	if _, err := os.Stat(filepath.Join(dir, own[1])); err != nil {
		t.Error(err)
	}
	for range 5 {
		export(t, exp, spantest.Operations(6)...)
	}
	if err := proc.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		if size(filepath.Join(dir, name)) != 5000 {
			t.Errorf("%s was touched", name)
		}
	}
	for _, name := range own {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	if st := proc.Stats(); st.DeletedFiles < 2 {
		t.Errorf("the processor's stats tell of %d deleted files", st.DeletedFiles)
	}
}

// Where a file cannot be rotated, here because the new name would be too long,
// the operations are written all the same, and the error tells, once in a while.
func TestRotationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, strings.Repeat("o", 240)+".jsonl")
		exp := newFile(t, path, optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
		failures := 0
		for range 25 {
			if err := exp.ExportSpans(context.Background(), spantest.Operations(1)); err != nil {
				failures++
			}
			time.Sleep(time.Second)
		}
		if failures != 3 {
			t.Errorf("%d errors in 25 s, want one every ten", failures)
		}
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		if names, contents := files(t, dir); len(names) != 1 || len(spantest.ReadWhole(t, contents[0]).Entries) != 25 {
			t.Errorf("files %q", names)
		}
		if st := exp.Stats(); st.Written != 25 || st.Dropped != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}
