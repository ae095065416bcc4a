package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every package that others can import shows how it is used, in an example that runs. Those
// for tests show it in the tests of the readers.
func TestExamples(t *testing.T) {
	listings, err := filepath.Glob("api/*.txt")
	if err != nil || len(listings) == 0 {
		t.Fatal(err, listings)
	}
	for _, listing := range listings {
		name := strings.TrimSuffix(filepath.Base(listing), ".txt")
		dir := filepath.Join("..", filepath.FromSlash(strings.ReplaceAll(name, "_", "/")))
		if name == "optrace" {
			dir = ".."
		}
		if strings.HasSuffix(dir, "test") {
			continue
		}
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, path := range tests {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "\nfunc Example")
		}
		if !found {
			t.Errorf("%s has no example", dir)
		}
	}
}
