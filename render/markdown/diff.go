// Package markdown writes comparisons as Markdown, for a pull request or an issue. Names are
// escaped: they cannot make links, mentions or markup.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
)

// Options configures the Markdown.
type Options struct {
	// Rows bounds the rows that did not change; all others are shown. 0 shows none of them.
	Rows int
}

// WriteDiff writes r to w with one call of Write.
func WriteDiff(w io.Writer, r *diff.Report, opts Options) error {
	var b strings.Builder
	for i := range r.Findings {
		if i == 0 {
			b.WriteString("**" + escape(r.Findings[i].Text) + "**\n\n")
		} else {
			b.WriteString("- " + escape(r.Findings[i].Text) + "\n")
		}
	}
	switch len(r.Findings) {
	case 0:
		b.WriteString("**" + headline(r) + "**\n")
	case 1:
		b.WriteString(headline(r) + "\n")
	default:
		b.WriteString("\n" + headline(r) + "\n")
	}
	for _, warning := range r.Warnings {
		b.WriteString("\n> " + escape(warning) + "\n")
	}
	var cells [][]string
	left := 0
	for i := range r.Rows {
		row := &r.Rows[i]
		if c := &row.Comparison; shown(c, opts.Rows-len(cells)) {
			name := row.Key.String()
			if row.Side != "" {
				name += " (" + row.Side + ")"
			}
			cells = append(cells, append([]string{code(name)}, figures(c)...))
		} else {
			left++
		}
	}
	writeTable(&b, "operation", cells)
	if left > 0 {
		fmt.Fprintf(&b, "\nWithout a change that can be told, and not shown: %d.\n", left)
	}
	cells = nil
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Device == nil || p.Verdict.Changed() {
			name := strings.ReplaceAll(p.Part, "_", " ")
			if p.Device != nil {
				name = p.Device.Label(p.Device.Rank.Known) + ", " + name
			}
			cells = append(cells, append([]string{code(name)}, figures(&p.Comparison)...))
		}
	}
	writeTable(&b, "time", cells)
	_, err := io.WriteString(w, b.String())
	return err
}

// headline counts what was found.
func headline(r *diff.Report) string {
	counts := make(map[diff.Verdict]int)
	for i := range r.Rows {
		counts[r.Rows[i].Verdict]++
	}
	var found []string
	for _, v := range diff.Verdicts() {
		if n := counts[v]; n > 0 {
			found = append(found, fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(v), "_", " ")))
		}
	}
	if len(found) == 0 {
		return "No operations"
	}
	return strings.Join(found, ", ")
}

// shown reports whether a row is shown while there is room for so many.
func shown(c *diff.Comparison, room int) bool {
	return c.Verdict.Changed() || c.Verdict == diff.Added || c.Verdict == diff.Removed || room > 0
}

func writeTable(b *strings.Builder, head string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | base | head | change | p | n | |\n|---|--:|--:|--:|--:|--:|---|\n", head)
	for _, cells := range rows {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
}

func figures(c *diff.Comparison) []string {
	duration := func(known bool, ns float64) string {
		if !known {
			return "-"
		}
		return units.DurationFloat(ns)
	}
	change, p := "-", "-"
	if c.P.Known {
		if p = fmt.Sprintf("%.3f", c.P.V); c.P.V < 0.0005 {
			p = "<0.001"
		}
		if change = "~"; c.Verdict.Changed() && c.Delta.Known {
			change = fmt.Sprintf("%+.1f %%", 100*c.Delta.V)
		}
		if c.DeltaLow.Known && c.Verdict != diff.TooFew {
			change += fmt.Sprintf(" [%+.1f, %+.1f]", 100*c.DeltaLow.V, 100*c.DeltaHigh.V)
		}
	}
	verdict := strings.ReplaceAll(string(c.Verdict), "_", " ")
	if c.Verdict == diff.Slower {
		verdict = "**slower**"
	}
	return []string{
		duration(c.BaseNS.Known, c.BaseNS.V), duration(c.HeadNS.Known, c.HeadNS.V), change, p, fmt.Sprintf("%d+%d", c.NBase, c.NHead), verdict,
	}
}

// code returns text as code within a table.
func code(text string) string {
	text = strings.ReplaceAll(termtext.Clean(text), "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 || strings.TrimSpace(text) == "" {
		text = " " + text + " "
	}
	return fence + text + fence
}

// escape returns text without markup.
func escape(text string) string {
	var b strings.Builder
	for _, r := range termtext.Clean(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|@~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
