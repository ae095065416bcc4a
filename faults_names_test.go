package optrace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/tensorconv"
)

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
