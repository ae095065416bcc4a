package clickhouse_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// serverVariable names the program of a server. The tests are skipped without it.
const serverVariable = "OPTRACE_CLICKHOUSE_SERVER"

// cluster has servers on this machine, one per shard.
type cluster struct{ shards []*shard }

type shard struct {
	dir, addr string
	process   *exec.Cmd
	db        *clickhouse.Conn
}

const clusterName = "c2"

// startCluster starts servers without tables and stops them after the test.
func startCluster(t *testing.T, n int) *cluster {
	t.Helper()
	program := os.Getenv(serverVariable)
	if program == "" {
		t.Skipf("%s does not name a ClickHouse server", serverVariable)
	}
	ports := freePorts(t, 2*n)
	var remote strings.Builder
	for i := range n {
		fmt.Fprintf(&remote, "<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>", ports[2*i])
	}
	c := &cluster{}
	for i := range n {
		s := &shard{dir: t.TempDir(), addr: fmt.Sprintf("127.0.0.1:%d", ports[2*i])}
		s.configure(t, ports[2*i], ports[2*i+1], remote.String())
		db := check.Must(clickhouse.Open(clickhouse.Options{Addr: s.addr, Database: "default", User: "default"}))(t)
		s.db = db
		t.Cleanup(func() {
			check.OK(t, db.Close())
			s.kill(t)
		})
		s.start(t, program)
		c.shards = append(c.shards, s)
	}
	return c
}

// freePorts returns unused ports of this machine.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func (s *shard) configure(t *testing.T, port, interserver int, remote string) {
	t.Helper()
	users := `<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>`
	config := fmt.Sprintf(`<yandex><logger><level>warning</level><log>%[1]s/log</log><errorlog>%[1]s/errors</errorlog>
</logger><tcp_port>%[2]d</tcp_port><interserver_http_port>%[3]d</interserver_http_port><listen_host>127.0.0.1</listen_host>
<interserver_http_host>127.0.0.1</interserver_http_host><path>%[1]s/data/</path><tmp_path>%[1]s/tmp/</tmp_path>
<users_config>%[1]s/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
<remote_servers><%[4]s>%[5]s</%[4]s></remote_servers></yandex>`, s.dir, port, interserver, clusterName, remote)
	for name, text := range map[string]string{"config.xml": config, "users.xml": users} {
		check.OK(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
}

func (s *shard) start(t *testing.T, program string) {
	t.Helper()
	s.process = exec.Command(program, "--config-file="+filepath.Join(s.dir, "config.xml"))
	s.process.Dir = s.dir
	var output bytes.Buffer
	s.process.Stdout, s.process.Stderr = &output, &output
	check.OK(t, s.process.Start())
	var err error
	for range 300 {
		if err = s.db.Exec(t.Context(), "SELECT 1"); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.kill(t)
	t.Fatalf("the server does not answer: %v\n%s", err, output.String())
}

func (s *shard) kill(t *testing.T) {
	t.Helper()
	if s.process == nil {
		return
	}
	check.OK(t, s.process.Process.Kill())
	_ = s.process.Wait() // killed
	s.process = nil
}

func (c *cluster) createTables(t *testing.T) {
	t.Helper()
	for _, s := range c.shards {
		for _, table := range []string{"optrace_ops", "optrace_inputs", "optrace_ops_local", "optrace_inputs_local"} {
			check.OK(t, s.db.Exec(t.Context(), "DROP TABLE IF EXISTS "+table))
		}
		check.OK(t, (clickhouse.Schema{Cluster: clusterName}).Apply(t.Context(), s.db))
	}
}

func count(t *testing.T, db clickhouse.DB, query string) (n uint64) {
	t.Helper()
	check.OK(t, db.Query(t.Context(), query, func(scan func(...any) error) error { return scan(&n) }))
	return n
}
