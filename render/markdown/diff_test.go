package markdown_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/markdown"
)

// report returns a comparison of operations, one of them called name.
func report(name string) *diff.Report {
	keys, err := key.Parse("operation")
	if err != nil {
		panic(err)
	}
	row := func(name string, verdict diff.Verdict, delta, p float64) diff.Row {
		c := diff.Comparison{
			Verdict: verdict, Unit: diff.UnitSteps, NBase: 20, NHead: 20, BaseNS: op.KnownFloat(120_000),
			HeadNS: op.KnownFloat(120_000 * (1 + delta)),
		}
		switch verdict {
		case diff.Added:
			c.BaseNS = op.Float{}
			c.NBase = 0
		case diff.Slower, diff.Faster, diff.Unchanged, diff.CannotTell:
			c.Delta, c.DeltaLow, c.DeltaHigh, c.P = op.KnownFloat(delta), op.KnownFloat(delta-0.02),
				op.KnownFloat(delta+0.03), op.KnownFloat(p)
		}
		return diff.Row{Key: key.Group{Keys: keys, Values: []key.Value{{Text: name, Known: true}}}, Comparison: c}
	}
	device := &device.Key{DeviceID: "cuda:0", Rank: op.Known(1)}
	host := row("enqueue", diff.Faster, -0.5, 0.0001)
	host.Side = "host"
	return &diff.Report{
		Rows: []diff.Row{
			row("matmul", diff.Slower, 0.1, 0.012), host, row(name, diff.Added, 0, 0),
			row("relu", diff.Unchanged, 0.01, 1), row("softmax", diff.CannotTell, 0.04, 0.3),
			row("add", diff.TooFew, 0, 0),
		},
		Parts: []diff.Part{
			{Part: "wall", Comparison: row("", diff.Unchanged, 0.02, 0.4).Comparison},
			{Part: "exposed_communication", Device: device, Comparison: row("", diff.Slower, 0.3, 0.002).Comparison},
			{Part: "idle", Device: device, Comparison: row("", diff.CannotTell, 0, 1).Comparison},
		},
		Warnings: []string{"one run a side", name},
	}
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
