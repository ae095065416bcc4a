package text_test

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/text"
)

// compared returns a comparison of two runs, with an operation called name in the head.
func compared(tb testing.TB, name string) *diff.Report {
	tb.Helper()
	side := func(names []string, factor float64) []*diff.Run {
		var entries []*op.Entry
		at := int64(1_700_000_000_000_000_000)
		for step := range int64(40) {
			for i, name := range names {
				ns := 10_000 * float64(i+1) * (1 + 0.05*math.Sin(float64(step)*float64(i+2)))
				if i == 0 {
					ns *= factor
				}
				entries = append(entries, &op.Entry{
					Operation: name, DeviceID: "cuda:0", Rank: op.Known(3), Start: op.Known(at), Duration: int64(ns),
					Step: op.Known(step),
				})
				at += int64(ns)
			}
		}
		r := check.Must(analyze.Run(tb.Context(), analyze.Records(recordtest.Entries(entries...)),
			diff.ReportOptions(nil)))(tb)
		r.Input.Dropped = int64(len(names) - 3)
		run := check.Must(diff.NewRun("ops.jsonl", r, nil, true))(tb)
		return []*diff.Run{run}
	}
	names := []string{"matmul", "relu", "all_reduce"}
	return check.Must(diff.Compare(side(names, 1), side(append(names, name), 1.2), diff.Options{}))(tb)
}

func TestDiffGolden(t *testing.T) {
	hostile := compared(t, strings.Repeat("fused_", 30)+"\x1b[31m|\u202e")
	empty := check.Must(diff.Compare([]*diff.Run{{}}, []*diff.Run{{}}, diff.Options{}))(t)
	of := func(r *diff.Report, opts text.Options) func(io.Writer) error {
		return func(w io.Writer) error { return text.WriteDiff(w, r, opts) }
	}
	goldens(t, map[string]func(io.Writer) error{
		"diff":       of(hostile, text.Options{}),
		"diff_80":    of(hostile, text.Options{Width: 80, Rows: 2}),
		"diff_color": of(hostile, text.Options{Color: true, Width: 120}),
		"diff_empty": of(empty, text.Options{}),
	})
}

// For any names, no line is too wide or controls a terminal.
func FuzzWriteDiff(f *testing.F) {
	for _, name := range []string{"", "matmul", "\x1b]8;;x\x1b\\", strings.Repeat("x", 300), strings.Repeat("漢字", 15), "a\nb", "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var b bytes.Buffer
		check.OK(t, text.WriteDiff(&b, compared(t, name), text.Options{Width: 80}))
		if !utf8.ValidString(b.String()) || strings.ContainsAny(b.String(), "\x1b\r\u202e") {
			t.Errorf("control characters in %q", b.String())
		}
	})
}
