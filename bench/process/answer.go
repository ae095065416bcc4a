package process

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/bench/measure"
)

// parseReport returns the rows of a report grouped by device.
func parseReport(text []byte) (rows []row, err error) {
	var rep analyze.Report
	if err := json.Unmarshal(text, &rep); err != nil {
		return nil, fmt.Errorf("the report: %w", err)
	}
	add := func(name string, s *profile.Stats) {
		rows = append(rows, row{
			name, float64(s.Count), float64(s.SumNS), float64(s.MinNS), float64(s.MaxNS),
			[]float64{s.P50NS.V, s.P95NS.V, s.P99NS.V},
		})
	}
	for i := range rep.Operations {
		add(operationPrefix+rep.Operations[i].Operation, &rep.Operations[i].Stats)
	}
	for i := range rep.Groups {
		add("device "+rep.Groups[i].Key.String(), &rep.Groups[i].Stats)
	}
	return rows, nil
}

const operationPrefix = "operation "

// row holds the figures of an operation or a device. Counts, sums and extremes are exact; the
// percentiles 50, 95 and 99 are estimates. Times are in nanoseconds.
type row struct {
	Name        string    `json:"name"`
	Count       float64   `json:"count"`
	Sum         float64   `json:"sum"`
	Min         float64   `json:"min"`
	Max         float64   `json:"max"`
	Percentiles []float64 `json:"percentiles"`
}

// digest describes the figures that must be identical on all sides.
func digest(rows []row) string {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b row) int { return cmp.Compare(a.Name, b.Name) })
	var text strings.Builder
	count := 0.0
	sum := 0.0
	for _, r := range rows {
		fmt.Fprintf(&text, "%s %.0f %.0f %.0f %.0f\n", r.Name, r.Count, r.Sum, r.Min, r.Max)
		if strings.HasPrefix(r.Name, operationPrefix) {
			count += r.Count
			sum += r.Sum
		}
	}
	figures := crc32.ChecksumIEEE([]byte(text.String()))
	return fmt.Sprintf("%d rows, %.0f operations of %.0f ns, figures %08x", len(rows), count, sum, figures)
}

// samePercentiles returns an error if percentiles differ by more than 2 %. Ours have the nearest rank
// and an error of at most 1 %; DuckDB interpolates between two ranks.
func samePercentiles(a, b []row) error {
	// Ranks of few values lie far apart.
	const most, few = 0.02, 2000
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
			if want := other[i]; r.Count >= few && math.Abs(p-want) > most*want {
				return fmt.Errorf("%s: percentile %d is %.0f ns and %.0f ns", r.Name, i, want, p)
			}
		}
	}
	return nil
}

const duckDBVersion = "1.5.6-r.1"

//go:embed query.mjs
var queryScript []byte

// duckDB is DuckDB for Node.js, installed in dir.
type duckDB struct{ node, dir string }

// newDuckDB installs DuckDB from the npm registry unless it is in the cache.
func newDuckDB(ctx context.Context, env *measure.Env) (*duckDB, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, &measure.UnavailableError{Need: "Node.js"}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, &measure.UnavailableError{Need: "npm"}
	}
	name := fmt.Sprintf("duckdb-%s-%s-%s", duckDBVersion, runtime.GOOS, runtime.GOARCH)
	dir, err := env.Prepared(name, func(dir string) error {
		env.Log("installing DuckDB %s from the npm registry", duckDBVersion)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if _, _, err := measure.Command(ctx, 1, npm, "install", "--prefix", dir, "--no-fund", "--no-audit",
			"--no-update-notifier", "@duckdb/node-api@"+duckDBVersion); err != nil {
			return &measure.UnavailableError{Need: "@duckdb/node-api " + duckDBVersion + " from the npm registry: " +
				err.Error()}
		}
		if _, _, err := (&duckDB{node, dir}).query(ctx, 1, "select 'x' as name, 1::double as count"); err != nil {
			return &measure.UnavailableError{Need: "@duckdb/node-api that runs here: " + err.Error()}
		}
		return nil
	})
	return &duckDB{node, dir}, err
}

// query runs a statement over n operations in its own process.
func (d *duckDB) query(ctx context.Context, n int64, sql string) (measure.Sample, []row, error) {
	script := filepath.Join(d.dir, "query.mjs") // Node.js looks for modules beside the script
	if err := os.WriteFile(script, queryScript, 0o644); err != nil {
		return measure.Sample{}, nil, err
	}
	s, out, err := measure.Command(ctx, n, d.node, script, sql)
	if err != nil {
		return s, nil, fmt.Errorf("DuckDB: %w", err)
	}
	var rows []row
	if err := json.Unmarshal(out, &rows); err != nil {
		return s, nil, fmt.Errorf("DuckDB's answer: %w", err)
	}
	return s, rows, nil
}
