package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Table returns the report as the tables of docs/performance.md.
func Table(rep *Report, m Machine, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s. %s.\n", now.Format(time.DateOnly), m)
	if len(rep.Rows) > 0 {
		b.WriteString("\n| name | ratio | on | other data | min–max | target | | peer | ours | limited by |\n" +
			"|---|--:|---|---|--:|--:|---|--:|--:|---|\n")
	}
	for _, r := range rep.Rows {
		fmt.Fprintf(&b, "| %s | %.2f | %s | %s | %.2f–%.2f | %s | %s%s | %s | %s | %s |\n", r.Measure.Name, r.Ratio, r.Data, r.others(),
			r.Min, r.Max, r.target(), r.verdict(), strings.TrimSuffix("; "+r.allocs(), "; "),
			cost(r.PeerNS, r.Unit), cost(r.OursNS, r.Unit), r.Measure.Limit)
	}
	if len(rep.Values) > 0 {
		b.WriteString("\n| further figures | |\n|---|--:|\n")
	}
	for _, name := range slices.Sorted(maps.Keys(rep.Values)) {
		fmt.Fprintf(&b, "| %s | %.4g |\n", name, rep.Values[name])
	}
	if len(rep.Reasons) > 0 {
		b.WriteString("\n")
	}
	for _, name := range slices.Sorted(maps.Keys(rep.Reasons)) {
		fmt.Fprintf(&b, "- %s was **not run**: %s\n", name, rep.Reasons[name])
	}
	return b.String()
}

func (r *Row) target() string {
	if r.Target == 0 {
		return ""
	}
	return fmt.Sprintf("≥ %g", r.Target)
}

func (r *Row) verdict() string {
	switch {
	case r.Met == nil:
		return ""
	case *r.Met:
		return "met"
	}
	return "**missed**"
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
