package optrace_test

import (
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

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
