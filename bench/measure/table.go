package measure

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteTable writes the report for people at a terminal.
func WriteTable(w io.Writer, rep *Report, m Machine) error {
	fmt.Fprintf(w, "%s. Ratio = peer / ours, the median of rounds side by side, on the data where it is smallest.\n\n", m)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(rep.Rows) > 0 {
		fmt.Fprintln(tw, "name\tpeer\tours\tratio\tmin–max\ttarget\t\ton\tother data\tallocations")
		for _, r := range rep.Rows {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%.2f\t%.2f–%.2f\t%s\t%s\t%s\t%s\t%s\n", r.Measure.Name, cost(r.PeerNS, r.Unit), cost(r.OursNS, r.Unit),
				r.Ratio, r.Min, r.Max, r.target(), r.verdict("MISSED"), r.Data, r.others(), r.allocs())
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if len(rep.Values) > 0 {
		fmt.Fprintln(w, "Further figures:")
		rep.writeValues(tw, "%s\t%.4g\n")
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return rep.writeNotRun(w, "Not run: %s (%s)\n")
}

// WriteMarkdown writes the report as the tables of docs/performance.md.
func WriteMarkdown(w io.Writer, rep *Report, m Machine, now time.Time) error {
	fmt.Fprintf(w, "Measured on %s. %s.\n", now.Format(time.DateOnly), m)
	if len(rep.Rows) > 0 {
		fmt.Fprint(w, "\n| name | ratio | on | other data | min–max | target | | peer | ours | limited by |\n"+
			"|---|--:|---|---|--:|--:|---|--:|--:|---|\n")
	}
	for _, r := range rep.Rows {
		fmt.Fprintf(w, "| %s | %.2f | %s | %s | %.2f–%.2f | %s | %s%s | %s | %s | %s |\n", r.Measure.Name, r.Ratio, r.Data, r.others(),
			r.Min, r.Max, r.target(), r.verdict("**missed**"), strings.TrimSuffix("; "+r.allocs(), "; "),
			cost(r.PeerNS, r.Unit), cost(r.OursNS, r.Unit), r.Measure.Limit)
	}
	if len(rep.Values) > 0 {
		fmt.Fprint(w, "\n| further figures | |\n|---|--:|\n")
		rep.writeValues(w, "| %s | %.4g |\n")
	}
	if len(rep.Reasons) > 0 {
		fmt.Fprintln(w)
	}
	return rep.writeNotRun(w, "- %s was **not run**: %s\n")
}

func (rep *Report) writeValues(w io.Writer, format string) {
	for _, name := range slices.Sorted(maps.Keys(rep.Values)) {
		fmt.Fprintf(w, format, name, rep.Values[name])
	}
}

func (rep *Report) writeNotRun(w io.Writer, format string) error {
	for _, name := range slices.Sorted(maps.Keys(rep.Reasons)) {
		if _, err := fmt.Fprintf(w, format, name, rep.Reasons[name]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Row) target() string {
	if r.Target == 0 {
		return ""
	}
	return fmt.Sprintf("≥ %g", r.Target)
}

func (r *Row) verdict(missed string) string {
	switch {
	case r.Met == nil:
		return ""
	case *r.Met:
		return "met"
	}
	return missed
}

// others returns the ratios of the cases that are not the row's.
func (r *Row) others() string {
	var all []string
	for _, c := range r.Measure.Cases {
		if c.Data != r.Data {
			all = append(all, fmt.Sprintf("%s %.2f", c.Data, r.Cases[c.Data].Ratio))
		}
	}
	return strings.Join(all, "; ")
}

// cost returns nanoseconds per unit as text.
func cost(ns float64, unit string) string {
	switch {
	case ns >= 1e8:
		return fmt.Sprintf("%.2f s/%s", ns/1e9, unit)
	case ns >= 100:
		return fmt.Sprintf("%.0f ns/%s", ns, unit)
	}
	return fmt.Sprintf("%.3g ns/%s", ns, unit)
}

// allocs returns the allocations, and whether they stay within their bound.
func (r *Row) allocs() string {
	a := r.Allocs
	if a == nil {
		return ""
	}
	bound, met := fmt.Sprintf("≤ %g", a.Max), "met"
	if a.Extra {
		bound += " extra"
	}
	if !a.Met {
		met = "MISSED"
	}
	return fmt.Sprintf("%.3g allocations (peer %.3g) per %s, %s: %s", a.Ours, a.Peer, a.Per, bound, met)
}
