// Package golden compares what tests produce with files that hold what they should produce.
//
// Only tests import it. It defines their flag -update, which rewrites the files:
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

// Update is the flag -update, for those that rewrite files in ways of their own.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Check compares got with the content of the file at path and reports the difference as an
// error. With -update it writes got to the file instead.
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
