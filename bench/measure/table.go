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
	for _, part := range []struct {
		header  string
		include func(Result) bool
	}{
		{"name\tpeer\tours\tratio\tmin–max\ttarget\t\ton\tother data\tallocations", hasTarget},
		{"without a target\tpeer\tours\tratio\tmin–max\t\t\ton\tother data\t", hasNoTarget},
	} {
		if !slices.ContainsFunc(rep.Results, part.include) {
			continue
		}
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, part.header)
		for _, r := range rep.Results {
			if part.include(r) {
				c := r.Worst()
				fmt.Fprintf(tw, "%s\t%s\t%s\t%.2f\t%.2f–%.2f\t%s\t%s\t%s\t%s\t%s\n",
					r.Name, cost(c.PeerNS, c.Suite.Unit), cost(c.OursNS, c.Suite.Unit),
					c.Ratio.Median, c.Ratio.Min, c.Ratio.Max, target(r), verdict(r), c.Data, others(r), allocs(r))
			}
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if len(rep.Values) > 0 {
		fmt.Fprintln(w, "Further figures:")
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, name := range slices.Sorted(maps.Keys(rep.Values)) {
			fmt.Fprintf(tw, "%s\t%.4g\n", name, rep.Values[name])
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return writeNotRun(w, rep, "Not run: %s (%s)\n")
}

// WriteMarkdown writes the report as the tables of docs/performance.md.
func WriteMarkdown(w io.Writer, rep *Report, m Machine, now time.Time) error {
	fmt.Fprintf(w, "Measured on %s. %s.\n", now.Format(time.DateOnly), m)
	for _, part := range []struct {
		header  string
		include func(Result) bool
	}{
		{"| name | ratio | on | other data | min–max | target | | peer | ours | limited by |\n" +
			"|---|--:|---|---|--:|--:|---|--:|--:|---|\n", hasTarget},
		{"| without a target | ratio | on | other data | min–max | peer | ours | limited by |\n" +
			"|---|--:|---|---|--:|--:|--:|---|\n", hasNoTarget},
	} {
		if !slices.ContainsFunc(rep.Results, part.include) {
			continue
		}
		fmt.Fprint(w, "\n", part.header)
		for _, r := range rep.Results {
			if !part.include(r) {
				continue
			}
			c, targets := r.Worst(), ""
			if r.Target > 0 {
				v := verdict(r)
				if v == "MISSED" {
					v = "**missed**"
				}
				targets = fmt.Sprintf("| %s | %s%s ", target(r), v, strings.TrimSuffix("; "+allocs(r), "; "))
			}
			fmt.Fprintf(w, "| %s | %.2f | %s | %s | %.2f–%.2f %s| %s | %s | %s |\n", r.Name, c.Ratio.Median, c.Data, others(r),
				c.Ratio.Min, c.Ratio.Max, targets, cost(c.PeerNS, c.Suite.Unit), cost(c.OursNS, c.Suite.Unit), r.Limit)
		}
	}
	if len(rep.Values) > 0 {
		fmt.Fprint(w, "\n| further figures | |\n|---|--:|\n")
		for _, name := range slices.Sorted(maps.Keys(rep.Values)) {
			fmt.Fprintf(w, "| %s | %.4g |\n", name, rep.Values[name])
		}
	}
	if len(rep.Reasons) > 0 {
		fmt.Fprintln(w)
	}
	return writeNotRun(w, rep, "- %s was **not run**: %s\n")
}

func hasTarget(r Result) bool   { return r.Target > 0 }
func hasNoTarget(r Result) bool { return r.Target == 0 }

func writeNotRun(w io.Writer, rep *Report, format string) error {
	for _, name := range slices.Sorted(maps.Keys(rep.Reasons)) {
		if _, err := fmt.Fprintf(w, format, name, rep.Reasons[name]); err != nil {
			return err
		}
	}
	return nil
}

func target(r Result) string {
	if r.Target == 0 {
		return ""
	}
	return fmt.Sprintf("≥ %g", r.Target)
}

// verdict says whether the target is reached.
func verdict(r Result) string {
	switch {
	case r.Target == 0:
		return ""
	case r.Met():
		return "met"
	}
	return "MISSED"
}

// others returns the ratios of the cases that are not the worst.
func others(r Result) string {
	worst := r.Worst()
	var all []string
	for _, c := range r.Cases {
		if c.Data != worst.Data {
			all = append(all, fmt.Sprintf("%s %.2f", c.Data, c.Ratio.Median))
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

// allocs returns the allocations of the case that has most, and whether they stay
// within their bound.
func allocs(r Result) string {
	a := r.Allocs
	if a == nil {
		return ""
	}
	bound, met, c := fmt.Sprintf("≤ %g", a.Max), "met", r.MostAllocs()
	if a.Extra {
		bound += " extra"
	}
	if !r.AllocsMet() {
		met = "MISSED"
	}
	return fmt.Sprintf("%.3g allocations (peer %.3g) per %s, %s: %s", c.OursAllocs, c.PeerAllocs, a.PerName, bound, met)
}
