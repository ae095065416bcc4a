package measure

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		check.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("before\n<!-- table -->\nold\n<!-- end of table -->\nbehind\n")
	check.OK(t, check.Must(FindSection(path))(t)("new\n\n"))
	text, err := os.ReadFile(path)
	if want := "before\n<!-- table -->\n\nnew\n\n<!-- end of table -->\nbehind\n"; string(text) != want || err != nil {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	for _, text := range []string{"no table\n", "<!-- table -->\n", "<!-- end of table -->\n<!-- table -->\n"} {
		write(text)
		if _, err := FindSection(path); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
	if _, err := FindSection(filepath.Join(path, "missing")); err == nil {
		t.Error("a missing file is no error")
	}
}
