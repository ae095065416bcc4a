package markdown_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/render/markdown"
)

// report returns a comparison of operations, one of them called name.
func report(name string) *diff.Report {
	r := new(diff.Report)
	text, err := os.ReadFile("testdata/diff.json")
	if err = cmp.Or(err, json.Unmarshal(text, r)); err != nil {
		panic(err)
	}
	r.Rows[2].Key.Values[0].Text = name
	r.Warnings[1] = name
	return r
}

func written(t *testing.T, r *diff.Report, opts markdown.Options) string {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, markdown.WriteDiff(&b, r, opts))
	return b.String()
}

func TestDiffGolden(t *testing.T) {
	for name, r := range map[string]*diff.Report{"diff": report("conv2d"), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			got := written(t, r, markdown.Options{Rows: 4})
			path := "testdata/" + name + ".md"
			golden.Check(t, path, got)
		})
	}
}

// Any names stay in their cells, without markup.
func FuzzWriteDiff(f *testing.F) {
	for _, name := range []string{"", " ", "a|b", "`", "``x`", "@team", "<img src=x>", "[a](b)", "\x1b[1m", "a\nb",
		"\xff", "\u202e"} {
		f.Add(name)
	}
	rows := strings.Count(written(&testing.T{}, report("conv2d"), markdown.Options{}), "\n")
	f.Fuzz(func(t *testing.T, name string) {
		text := written(t, report(name), markdown.Options{})
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\r\u202e\u2028") {
			t.Errorf("control characters in %q", text)
		}
		if n := strings.Count(text, "\n"); n != rows {
			t.Errorf("%d lines, want %d:\n%s", n, rows, text)
		}
		for line := range strings.Lines(text) {
			if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); cells != 0 && cells != 8 &&
				strings.HasPrefix(line, "|") {
				t.Errorf("%d bars in %q", cells, line)
			}
		}
	})
}
