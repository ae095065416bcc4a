// Package golden compares results of tests with golden files.
//
// Only tests import it. Its flag -update rewrites the files:
//
//	go test ./render/text -update
package golden

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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

// JSON compares a value, as indented JSON, with the file at path.
func JSON(t testing.TB, path string, v any) {
	t.Helper()
	text := check.Must(json.MarshalIndent(v, "", "\t"))(t)
	Check(t, path, append(text, '\n'))
}

// Lines compares the outputs of f for the inputs in the file at path, a line each: "input => output". With -update it
// writes the outputs. A text that begins with a double quote is in Go's notation, and so is an output that is not printable
// or empty. Empty lines and those that begin with "# " are comments.
func Lines(t testing.TB, path string, f func(input string) string) {
	t.Helper()
	var updated strings.Builder
	for line := range strings.Lines(string(check.Must(os.ReadFile(path))(t))) {
		line = strings.TrimSuffix(line, "\n")
		input, want, ok := strings.Cut(line, " => ")
		if !ok || strings.HasPrefix(line, "# ") {
			updated.WriteString(line + "\n")
			continue
		}
		text := input
		if strings.HasPrefix(input, `"`) {
			text = check.Must(strconv.Unquote(input))(t)
		}
		got := f(text)
		if got == "" || got != strings.TrimSpace(got) || got[0] == '"' || strconv.Quote(got) != `"`+got+`"` &&
			strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
			got = strconv.Quote(got)
		}
		updated.WriteString(input + " => " + got + "\n")
		if !*Update {
			check.Equal(t, input, want, got)
		}
	}
	if *Update {
		check.OK(t, os.WriteFile(path, []byte(updated.String()), 0o644))
	}
}

// Cases compares the outputs of f for the inputs in the file at path. With -update it writes them. A case is a name, an
// input without its last newline, and the output:
//
//	=== an empty document
//	{}
//	---
//	skipped unknown_record: 1
func Cases(t testing.TB, path string, f func(input string) string) {
	t.Helper()
	var updated strings.Builder
	for part := range strings.SplitSeq("\n"+string(check.Must(os.ReadFile(path))(t)), "\n=== ") {
		name, rest, ok := strings.Cut(part, "\n")
		if !ok {
			continue
		}
		input, want, _ := strings.Cut(rest+"\n", "\n---\n")
		got := strings.TrimRight(f(input), "\n")
		updated.WriteString("=== " + name + "\n" + input + "\n---\n")
		if got != "" {
			updated.WriteString(got + "\n")
		}
		if !*Update {
			check.Equal(t, name, strings.TrimRight(want, "\n"), got)
		}
	}
	if *Update {
		check.OK(t, os.WriteFile(path, []byte(updated.String()), 0o644))
	}
}
