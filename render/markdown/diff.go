// Package markdown writes reports and comparisons as Markdown, for a pull request or an issue. It escapes names, so they cannot
// make links, mentions or markup.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Options configures the Markdown.
type Options struct {
	// Rows bounds the unchanged rows of a comparison; 0 shows no unchanged row. Changed rows are always shown.
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
	var rows []string
	left := 0
	for i := range r.Rows {
		row := &r.Rows[i]
		if v := row.Verdict; !v.Changed() && v != diff.Added && v != diff.Removed && len(rows) >= opts.Rows {
			left++
			continue
		}
		name := row.Key.String()
		if row.Side != "" {
			name += " (" + row.Side + ")"
		}
		rows = append(rows, line(name, &row.Comparison))
	}
	writeTable(&b, "operation", rows)
	if left > 0 {
		fmt.Fprintf(&b, "\nWithout a change that can be told, and not shown: %d.\n", left)
	}
	rows = nil
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Device == nil || p.Verdict.Changed() {
			name := strings.ReplaceAll(p.Part, "_", " ")
			if p.Device != nil {
				name = p.Device.Label(p.Device.Rank.Known) + ", " + name
			}
			rows = append(rows, line(name, &p.Comparison))
		}
	}
	writeTable(&b, "time", rows)
	_, err := io.WriteString(w, b.String())
	return err
}

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

func writeTable(b *strings.Builder, head string, rows []string) {
	if len(rows) > 0 {
		fmt.Fprintf(b, "\n| %s | base | head | change | p | n | |\n|---|--:|--:|--:|--:|--:|---|\n%s", head,
			strings.Join(rows, ""))
	}
}

func line(name string, c *diff.Comparison) string {
	duration := func(ns op.Float) string {
		if !ns.Known {
			return "-"
		}
		return units.DurationFloat(ns.V)
	}
	change := "-"
	p := "-"
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
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %d+%d | %s |\n", code(name), duration(c.BaseNS), duration(c.HeadNS),
		change, p, c.NBase, c.NHead, verdict)
}

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
