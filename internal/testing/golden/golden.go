// Package golden compares results of tests with golden files.
//
// Only tests import it. Its flag -update rewrites the files:
//
//	go test ./render/text -update
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag -update, for tests that rewrite files themselves.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Check reports an error if got differs from the file at path. With -update it writes got to the file instead.
func Check[Text string | []byte](t testing.TB, path string, got Text) {
	t.Helper()
	if *Update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
