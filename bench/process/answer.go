package process

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/crc32"
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

// row holds the exact figures of an operation or a device. Times are in nanoseconds.
type row struct {
	Name  string  `json:"name"`
	Count float64 `json:"count"`
	Sum   float64 `json:"sum"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
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
