package streams

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
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
		check.Equal(t, fmt.Sprint(tc.env), tc.want, showsHyperlinks(func(name string) string { return tc.env[name] }))
	}
}

// A file and a device other than a terminal are not terminals.
func TestIsTerminal(t *testing.T) {
	file := check.Must(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	defer file.Close()
	null := check.Must(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	defer null.Close()
	if IsTerminal(file) || IsTerminal(null) || IsTerminal(nil) {
		t.Error("a terminal")
	}
}

func TestColumns(t *testing.T) {
	for value, want := range map[string]int{"": 0, "x": 0, "-3": 0, "0": 0, "20": 60, "132": 132} {
		check.Equal(t, fmt.Sprintf("COLUMNS=%s", value), want, atLeast(strconv.Atoi(value)))
	}
}
