package process

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/optrace/optrace/bench/measure"
)

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
