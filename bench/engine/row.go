package engine

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
)

// row is what there is to know of an operation or a device: counts, sums and
// extremes are exact, the percentiles 50, 95 and 99 estimates. Times are in
// nanoseconds.
type row struct {
	Name        string    `json:"name"`
	Count       float64   `json:"count"`
	Sum         float64   `json:"sum"`
	Min         float64   `json:"min"`
	Max         float64   `json:"max"`
	Percentiles []float64 `json:"percentiles"`
}

// digest sums up what must be the same for all.
func digest(rows []row) string {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b row) int { return cmp.Compare(a.Name, b.Name) })
	var text strings.Builder
	count, sum := 0.0, 0.0
	for _, r := range rows {
		fmt.Fprintf(&text, "%s %.0f %.0f %.0f %.0f\n", r.Name, r.Count, r.Sum, r.Min, r.Max)
		if strings.HasPrefix(r.Name, "operation ") {
			count, sum = count+r.Count, sum+r.Sum
		}
	}
	return fmt.Sprintf("%d rows, %.0f operations of %.0f ns, figures %08x", len(rows), count, sum, crc32.ChecksumIEEE([]byte(text.String())))
}

// percentileError is how far percentiles may lie apart: ours are off by 1 % at
// most and of nearest rank, DuckDB's lie between two ranks.
const percentileError = 0.02

// samePercentiles returns an error if percentiles lie too far apart.
func samePercentiles(a, b []row) error {
	of := map[string]row{}
	for _, r := range a {
		of[r.Name] = r
	}
	for _, r := range b {
		other := of[r.Name].Percentiles
		if len(other) == 0 || len(other) != len(r.Percentiles) {
			return fmt.Errorf("%s: %d percentiles and %d", r.Name, len(other), len(r.Percentiles))
		}
		for i, p := range r.Percentiles {
			want := other[i]
			// Of few values the ranks themselves lie far apart.
			const few = 2000
			if r.Count >= few && math.Abs(p-want) > percentileError*want {
				return fmt.Errorf("%s: percentile %d is %.0f ns and %.0f ns", r.Name, i, want, p)
			}
		}
	}
	return nil
}

// quote escapes text for a string of SQL.
func quote(text string) string { return strings.ReplaceAll(text, "'", "''") }
