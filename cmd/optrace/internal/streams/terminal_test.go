package streams

import (
	"os"
	"path/filepath"
	"testing"
)

func TestShowsHyperlinks(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, false},
		{map[string]string{"TERM": "xterm-kitty"}, true},
		{map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "7600"}, true},
		{map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "4600"}, false},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, true},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, false},
		{map[string]string{"TERM": "tmux-256color", "TERM_PROGRAM": "WezTerm"}, false},
		{map[string]string{"WT_SESSION": "{1}"}, true},
	} {
		if got := showsHyperlinks(func(name string) string { return tc.env[name] }); got != tc.want {
			t.Errorf("%v: %t", tc.env, got)
		}
	}
}

// A file and a device that is no terminal are none.
func TestIsTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if IsTerminal(file) || IsTerminal(null) || IsTerminal(nil) {
		t.Error("a terminal")
	}
}

func TestColumns(t *testing.T) {
	for value, want := range map[string]int{"": 0, "x": 0, "-3": 0, "0": 0, "20": 60, "132": 132} {
		if got := columns(value); got != want {
			t.Errorf("COLUMNS=%s: %d, want %d", value, got, want)
		}
	}
}
