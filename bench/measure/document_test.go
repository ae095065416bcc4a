package measure

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n<!-- table -->\nold\n<!-- end of table -->\nbehind\n")
	s, err := FindSection(path, "table")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Replace("new\n\n"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := "before\n<!-- table -->\n\nnew\n\n<!-- end of table -->\nbehind\n"; string(text) != want || err != nil {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	if want := "before\n<!-- table -->\n<!-- end of table -->\nbehind\n"; s.Rest() != want {
		t.Errorf("the rest is %q, want %q", s.Rest(), want)
	}
	for _, text := range []string{"no table\n", "<!-- table -->\n", "<!-- end of table -->\n<!-- table -->\n"} {
		write(text)
		if _, err := FindSection(path, "table"); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
	if _, err := FindSection(filepath.Join(path, "missing"), "table"); err == nil {
		t.Error("a missing file is no error")
	}
}
