package duckdb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/bench/measure"
)

// report runs optrace on a file of n operations.
func report(ctx context.Context, program string, n int64, path string) (measure.Sample, []row, error) {
	s, out, err := measure.Command(ctx, n, program, "report", "-json", "-by", "device", "-section", "summary", path)
	if err != nil {
		return s, nil, err
	}
	rows, err := parseReport(out)
	return s, rows, err
}

// parseReport returns the rows of a report that is grouped by device.
func parseReport(text []byte) ([]row, error) {
	type stats struct {
		Count float64 `json:"count"`
		Sum   float64 `json:"sum_ns"`
		Min   float64 `json:"min_ns"`
		Max   float64 `json:"max_ns"`
		P50   float64 `json:"p50_ns"`
		P95   float64 `json:"p95_ns"`
		P99   float64 `json:"p99_ns"`
	}
	var rep struct {
		Operations []struct {
			Operation string `json:"operation"`
			stats
		} `json:"operations"`
		Groups []struct {
			Key struct {
				Device string `json:"device"`
			} `json:"key"`
			stats
		} `json:"groups"`
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		return nil, fmt.Errorf("the report: %w", err)
	}
	var rows []row
	add := func(name string, s stats) {
		rows = append(rows, row{Name: name, Count: s.Count, Sum: s.Sum, Min: s.Min, Max: s.Max, Percentiles: []float64{s.P50, s.P95, s.P99}})
	}
	for _, o := range rep.Operations {
		add("operation "+o.Operation, o.stats)
	}
	for _, g := range rep.Groups {
		add("device "+g.Key.Device, g.stats)
	}
	return rows, nil
}

// row holds the figures of an operation or a device: counts, sums and extremes are
// exact, the percentiles 50, 95 and 99 estimates. Times are in nanoseconds.
type row struct {
	Name        string    `json:"name"`
	Count       float64   `json:"count"`
	Sum         float64   `json:"sum"`
	Min         float64   `json:"min"`
	Max         float64   `json:"max"`
	Percentiles []float64 `json:"percentiles"`
}

// digest sums up the figures that must be the same for all.
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
