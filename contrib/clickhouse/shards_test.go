package clickhouse_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/contrib/clickhouse"
	"github.com/optrace/optrace/internal/testing/check"
)

// Two shards together compute the figures of package analyze.
func TestShards(t *testing.T) {
	c := startCluster(t, 2)
	db := c.shards[0].db
	files := testSuite(t, db, c.createTables)
	for i, s := range c.shards {
		if n := count(t, s.db, "SELECT count() FROM optrace_ops_local"); n < 1000 {
			t.Errorf("shard %d has %d rows", i, n)
		}
	}
	testReport(t, c.shards[1].db, analyze.Options{}, files)
	t.Run("twice", func(t *testing.T) { testLoadTwice(t, c) })
	t.Run("killed loads", func(t *testing.T) { testKilledLoads(t, c) })
	t.Run("lost shard", func(t *testing.T) { testLostShard(t, c) })
}

// A loaded file is not loaded again, even with another name.
func testLoadTwice(t *testing.T, c *cluster) {
	c.createTables(t)
	db := c.shards[0].db
	file := randomFile(t, 4, 500, false)
	load(t, db, clickhouse.LoadOptions{}, file)
	text := check.Must(os.ReadFile(file))(t)
	copied := writeFile(t, "copy.jsonl", text)
	done, err := clickhouse.Load(t.Context(), db, copied, clickhouse.LoadOptions{BatchRows: 7})
	if err != nil || done.Inserted != 0 || done.Rows == 0 {
		t.Errorf("%+v, %v", done, err)
	}
	testReport(t, db, analyze.Options{}, []string{file})

	// duplicate rows
	for _, s := range c.shards {
		for _, statement := range []string{
			"TRUNCATE TABLE optrace_inputs_local", "INSERT INTO optrace_ops_local SELECT * FROM optrace_ops_local",
		} {
			check.OK(t, s.db.Exec(t.Context(), statement))
		}
	}
	if done, err := clickhouse.Load(t.Context(), db, file, clickhouse.LoadOptions{}); err == nil {
		t.Errorf("loaded: %+v", done)
	}
	r, err := clickhouse.Source{DB: db}.Report(t.Context(), analyze.Options{})
	if err != nil || r.Total.Count != 0 {
		t.Errorf("a report on duplicate rows: %v", err)
	}
}

// Repeatedly killed loads insert each record once.
func testKilledLoads(t *testing.T, c *cluster) {
	c.createTables(t)
	program := filepath.Join(t.TempDir(), "optrace-clickhouse")
	if out, err := exec.Command("go", "build", "-o", program, "./cmd/optrace-clickhouse").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	db := c.shards[0].db
	const rows = 15_000
	file := randomFile(t, 5, rows, false)
	loading := func(batch string) *exec.Cmd {
		return exec.Command(program, "load", "-addr", c.shards[0].addr, "-batch-rows", batch, file)
	}
	killed := 0
	for i, batch := range []string{"300", "512", "100"} {
		before := count(t, db, "SELECT count() FROM optrace_ops")
		cmd := loading(batch)
		check.OK(t, cmd.Start())
		for range 1000 {
			if count(t, db, "SELECT count() FROM optrace_ops") > before+uint64(1+i)*500 {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		check.OK(t, cmd.Process.Kill())
		if cmd.Wait() != nil {
			killed++
		}
		r, err := clickhouse.Source{DB: db}.Report(t.Context(), analyze.Options{})
		if err != nil || r.Total.Count != 0 {
			t.Errorf("a report on a partly loaded file: %v", err)
		}
	}
	there := count(t, db, "SELECT count() FROM optrace_ops")
	if killed == 0 || there == 0 || there >= rows {
		t.Fatalf("%d loads were killed, and %d rows are there", killed, there)
	}
	if out, err := loading("300").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n := count(t, db, "SELECT count() FROM optrace_ops")
	different := count(t, db, "SELECT uniqExact(row) FROM optrace_ops")
	if n != different {
		t.Errorf("%d rows, %d different ones", n, different)
	}
	testReport(t, db, analyze.Options{}, []string{file})
}

// Without one shard every report is an error. After its return reports are as before.
func testLostShard(t *testing.T, c *cluster) {
	c.createTables(t)
	db := c.shards[0].db
	lost := c.shards[1]
	files := []string{randomFile(t, 6, 2000, false)}
	load(t, db, clickhouse.LoadOptions{}, files...)
	lost.kill(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r, err := (clickhouse.Source{DB: db}).Report(ctx, analyze.Options{}); err == nil {
		t.Errorf("a report on %d operations without a shard", r.Total.Count)
	}
	other := randomFile(t, 7, 2000, false)
	if done, err := clickhouse.Load(ctx, db, other, clickhouse.LoadOptions{BatchRows: 300}); err == nil {
		t.Errorf("%d rows were loaded without a shard", done.Rows)
	}
	lost.start(t, os.Getenv(serverVariable))
	testReport(t, db, analyze.Options{}, files)
	files = append(files, other)
	load(t, db, clickhouse.LoadOptions{BatchRows: 300}, other)
	testReport(t, db, analyze.Options{}, files)
}
