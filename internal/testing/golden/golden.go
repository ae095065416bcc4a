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

	"github.com/optrace/optrace/internal/testing/check"
)

// Update is the flag -update, for tests that rewrite files themselves.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Check reports an error if got differs from the file at path. With -update it writes got to the file instead.
func Check[Text string | []byte](t testing.TB, path string, got Text) {
	t.Helper()
	if *Update {
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	check.Equal(t, path, string(check.Must(os.ReadFile(path))(t)), string(got))
}
