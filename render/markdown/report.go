package markdown

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/text/units"
)

// WriteReport writes the headline, the findings and the operations with the most self time to w, with one call of
// Write. It shows operations of the host's side if there are no others. opts.Rows bounds the operations; 0 means 10.
func WriteReport(w io.Writer, r *analyze.Report, opts Options) error {
	var b strings.Builder
	if r.Headline != nil {
		b.WriteString("**" + escape(strings.Join(r.Headline.Text, " ")) + "**\n")
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d. %s\n", i+1, escape(f.Text))
		if f.Try != "" {
			b.WriteString("   - try: " + escape(f.Try) + "\n")
		}
		if gain := f.Gain(); gain != "" {
			b.WriteString("   - gain: " + gain + "\n")
		}
	}
	rows := slices.Clone(r.Operations)
	isHost := func(o profile.Operation) bool { return o.Side != "" }
	if devices := slices.DeleteFunc(slices.Clone(rows), isHost); len(devices) > 0 {
		rows = devices
	}
	slices.SortStableFunc(rows, func(a, b profile.Operation) int { return cmp.Compare(b.SelfNS.V, a.SelfNS.V) })
	for i := range rows[:min(len(rows), cmp.Or(opts.Rows, 10))] {
		o := &rows[i]
		if i == 0 {
			b.WriteString("\n| operation | count | self | share | mean | max | errors |\n|---|--:|--:|--:|--:|--:|--:|\n")
		}
		self, share := "-", "-"
		if o.SelfNS.Known {
			self, share = units.Duration(o.SelfNS.V), units.Percent(o.SelfShare.V)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", code(o.Operation), units.Count(o.Count), self, share,
			units.DurationFloat(o.MeanNS), units.Duration(o.MaxNS), units.Count(o.Errors))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
