package measure

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Machine describes the machine and the process in a line.
func Machine(quick bool) string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(text), "\nmodel name")
	model, _, _ := strings.Cut(rest, "\n")
	line := fmt.Sprintf("%s on %s/%s, %s, %d CPUs, GOGC %s", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		strings.Trim(model, "\t: "), runtime.NumCPU(), cmp.Or(os.Getenv("GOGC"), "100"))
	if quick {
		line += "; quick run"
	}
	return line
}

// FindSection finds the text of a document between the lines
//
//	<!-- table -->
//	<!-- end of table -->
//
// and returns a function that replaces it.
func FindSection(path string) (replace func(text string) error, err error) {
	document, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const start = "<!-- table -->\n"
	const end = "<!-- end of table -->\n"
	before, rest, found := strings.Cut(string(document), start)
	_, behind, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		return nil, fmt.Errorf("%s has no lines %q and %q", path, start, end)
	}
	return func(text string) error {
		return os.WriteFile(path, []byte(before+start+"\n"+strings.TrimSpace(text)+"\n\n"+end+behind), 0o644)
	}, nil
}

// Table returns the report as the tables of docs/performance.md.
func Table(rep *Report, machine string, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s. %s.\n", now.Format(time.DateOnly), machine)
	if len(rep.Rows) > 0 {
		b.WriteString("\n| name | ratio | on | other data | min–max | target | | peer | ours | limited by |\n" +
			"|---|--:|---|---|--:|--:|---|--:|--:|---|\n")
	}
	for _, r := range rep.Rows {
		verdict := "met"
		if !r.Met() {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %.2f | %s | %s | %.2f–%.2f | ≥ %g | %s | %s | %s | %s |\n", r.Measure.Name, r.Ratio,
			r.Data, r.others(), r.Min, r.Max, r.Measure.Target, verdict, cost(r.PeerNS, r.Unit), cost(r.OursNS, r.Unit),
			r.Measure.Limit)
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

// others returns the ratios of the other cases.
func (r *Row) others() string {
	var all []string
	for _, c := range r.Measure.Cases {
		if c.Data != r.Data {
			all = append(all, fmt.Sprintf("%s %.2f", c.Data, r.Cases[c.Data].Ratio))
		}
	}
	return strings.Join(all, "; ")
}

func cost(ns float64, unit string) string {
	switch {
	case ns >= 1e8:
		return fmt.Sprintf("%.2f s/%s", ns/1e9, unit)
	case ns >= 100:
		return fmt.Sprintf("%.0f ns/%s", ns, unit)
	}
	return fmt.Sprintf("%.3g ns/%s", ns, unit)
}
