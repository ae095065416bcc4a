package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/text/termtext"
)

func tableOf(width int, p page, t *table) string {
	p.Width = width
	p.table(t)
	return p.b.String()
}

func TestTable(t *testing.T) {
	rows := func() *table {
		t := newTable("operation:n|kind:t1|count:2|sum|unused")
		t.addLinked("http://jaeger/1", "matmul", "compute", "1", "1.00 ms", "-")
		t.add(strings.Repeat("long ", 10)+"name", "memory", "12,345", "2 ns", "")
		t.add("relu", "compute", "3", "3 ns", "-")
		t.add("gelu", "compute", "4", "4 ns", "-")
		return t
	}
	p := newPage(Options{Rows: 3})
	for _, width := range []int{100, 60, 50} { // all fits, names are shortened first, then columns are left out
		p.Hyperlinks = width == 100
		golden.Check(t, fmt.Sprintf("testdata/table_%d.txt", width), tableOf(width, p, rows()))
	}
}

// Columns stay aligned for any names, and fit.
func TestTableIsAligned(t *testing.T) {
	parts := []string{
		"a", "\x1b[31m", "\x00", "\u202e", "\u200d", "矩阵", "e\u0301\u0302", "\U0001f469\u200d\U0001f680", "✅", "\xff",
		"한\u1161", "\t", "\n", "ﷺ", "x y",
	}
	for seed := range cases.Numbers(t, 200) {
		r := rand.New(rand.NewPCG(seed, 1))
		name := func() string {
			var b strings.Builder
			for range r.IntN(40) {
				b.WriteString(parts[r.IntN(len(parts))])
			}
			return b.String()
		}
		table := newTable("operation:n|device:n3|count:2|error:n1|end")
		for range 20 {
			table.add(name(), name(), "7", name(), "|")
		}
		width := 30 + r.IntN(120)
		end := -1
		for line := range strings.Lines(tableOf(width, newPage(Options{}), table)) {
			line = strings.TrimSuffix(line, "\n")
			if end < 0 {
				end = termtext.Width(line)
			}
			if strings.HasPrefix(line, "  without") || strings.HasPrefix(line, "    ") &&
				!strings.HasSuffix(line, "|") {
				continue
			}
			if got := termtext.Width(line); got != end || got > width {
				t.Errorf("seed %d: a line of %d columns, not of %d, in %d: %q", seed, got, end, width, line)
			}
		}
	}
}

func TestNotesAreFolded(t *testing.T) {
	p := newPage(Options{Width: 60, Color: true})
	p.field("input", strings.Repeat("seven77 ", 12), true)
	p.note(strings.Repeat("x", 130))
	want := "\x1b[1minput      \x1b[0m" + "\x1b[33m" + strings.TrimSpace(strings.Repeat("seven77 ", 6)) + "\x1b[0m\n" +
		"           \x1b[33m" + strings.TrimSpace(strings.Repeat("seven77 ", 6)) + "\x1b[0m\n" +
		"  " + strings.Repeat("x", 58) + "\n    " + strings.Repeat("x", 56) + "\n    " + strings.Repeat("x", 16) + "\n"
	check.Equal(t, "", want, p.b.String())
}

func TestBars(t *testing.T) {
	for share, want := range map[float64]string{
		0: "", 0.003: "", 0.0125: "▏", 0.05: "▌", 0.5: "█████", 1: "██████████", 2: "██████████", -1: "",
	} {
		check.Equal(t, fmt.Sprintf("bar(%v)", share), want, bar(share))
	}
	for _, tc := range []struct {
		whole int64
		parts []int64
		want  string
	}{
		{0, []int64{1}, ""},
		{100, []int64{50, 25, 0, 25}, "██████████▓▓▓▓▓░░░░░"},
		{100, []int64{2, 2, 2, 2}, "▓░"},
		{100, []int64{90, 90}, "██████████████████▓▓"},
	} {
		check.Equal(t, fmt.Sprintf("partsBar(%d, %v)", tc.whole, tc.parts), tc.want, partsBar(tc.whole, tc.parts...))
	}
	check.Equal(t, "strip", " ▁▄██", strip([]int64{0, 1, 50, 100, 100}, 100, 1))
	check.Equal(t, "strip of pairs", "▁▆█", strip([]int64{0, 1, 50, 100, 100}, 100, 2))
}

// Addresses unfit for text are dropped.
func TestAddress(t *testing.T) {
	for link, want := range map[string]string{
		"http://jaeger:16686/trace/1?x=y": "http://jaeger:16686/trace/1?x=y", "http://a b": "", "http://\x1b\\": "",
		"http://ä": "", "": "",
	} {
		check.Equal(t, fmt.Sprintf("address(%q)", link), want, address(correlate.Link(link)))
	}
}

func TestStartText(t *testing.T) {
	for ns, want := range map[int64]string{
		87_029_000: "+0.087029000 s", 0: "+0.000000000 s",
		1_772_366_400_000_000_001: "2026-03-01T12:00:00.000000001Z", -1: "1969-12-31T23:59:59.999999999Z",
	} {
		check.Equal(t, fmt.Sprint(ns), want, startText(ns))
	}
}
