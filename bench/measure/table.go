package measure

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteTable writes the report for people.
func WriteTable(w io.Writer, rep *Report, m Machine) error {
	kind := "full"
	if m.Quick {
		kind = "quick"
	}
	fmt.Fprintf(w, "%s on %s/%s, %s, %d CPUs, GOGC %s; %s run. Ratio = peer / ours, the median of rounds side by side.\n\n",
		m.Go, m.OS, m.Arch, m.CPU, m.CPUs, m.GOGC, kind)
	for _, part := range []struct {
		header  string
		include func(Result) bool
	}{
		{"name\tpeer\tours\tratio\tmin–max\ttarget\t\tallocations", func(r Result) bool { return r.Target > 0 }},
		{"without a target\tpeer\tours\tratio\tmin–max\t\t\t", func(r Result) bool { return r.Target == 0 }},
	} {
		if slices.ContainsFunc(rep.Results, part.include) {
			if err := writeRows(w, part.header, rep, part.include); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
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
	for _, name := range slices.Sorted(maps.Keys(rep.Reasons)) {
		if _, err := fmt.Fprintf(w, "Not run: %s (%s)\n", name, rep.Reasons[name]); err != nil {
			return err
		}
	}
	return nil
}

func writeRows(w io.Writer, header string, rep *Report, include func(Result) bool) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, header)
	for _, r := range rep.Results {
		if !include(r) {
			continue
		}
		target, met := "", ""
		if r.Target > 0 {
			target, met = fmt.Sprintf("≥ %g", r.Target), "met"
			if !r.Met() {
				met = "MISSED"
			}
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.2f\t%.2f–%.2f\t%s\t%s\t%s\n", r.Name, cost(r.PeerNS, r.Suite.Unit), cost(r.OursNS, r.Suite.Unit),
			r.Ratio.Median, r.Ratio.Min, r.Ratio.Max, target, met, allocs(r))
	}
	return tw.Flush()
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

// allocs returns what the target says on allocations, and what they are.
func allocs(r Result) string {
	a := r.Allocs
	if a == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%.3g (peer %.3g) per %s, ", r.OursAllocs, r.PeerAllocs, a.PerName)
	switch {
	case a.Extra:
		fmt.Fprintf(&b, "≤ %g extra: ", a.Max)
	default:
		fmt.Fprintf(&b, "≤ %g: ", a.Max)
	}
	if r.AllocsMet() {
		b.WriteString("met")
	} else {
		b.WriteString("MISSED")
	}
	return b.String()
}
