package nsys_test

import (
	"bytes"
	"database/sql"
	_ "embed" // schema
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/optrace/optrace/cmd/optrace/nsys"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// recorded is a recording of two H100 beside the repository: the test fixture of nsys-ai.
const recorded = "../../../../shared/data/nsys/h100_2gpu.sqlite"

// schema is the schema of an export, with known columns and some others.
//
//go:embed testdata/schema.sql
var schema string

// nodes is the table of graph nodes. Exports without graphs lack it.
const nodes = `CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER NOT NULL, graphNodeId INTEGER NOT NULL,
	originalGraphNodeId INTEGER,
	globalTid INTEGER);`

const (
	process1, process2 = 0x1000001000000, 0x1000002000000
	thread1, thread2   = process1 + 11, process2 + 22
)

// small is a database of two processes with one device each and equal correlation ids.
var small = schema + fmt.Sprintf(`
INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'ncclDevKernel_AllReduce'), (3, 'step'), (4,
	'worker'),
	(5, 'cudaLaunchKernel_v7000');
INSERT INTO PROCESSES VALUES (%[1]d, 1, 'train'), (%[2]d, 2, 'train');
INSERT INTO ThreadNames VALUES (4, 20, %[3]d);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1699999999999999000, '', '', 77);
INSERT INTO NVTX_EVENTS VALUES
	(1100, 1900, 59, NULL, %[3]d, 3), (1200, 1500, 59, 'aten::mm, seq = 7, op_id = 3, sizes = [[2, 3], [3, 4]]', %[3]d,
		NULL),
	(1600, 2600, 60, 'overlap', %[3]d, NULL), (1150, 1300, 59, 'other thread', %[4]d, NULL),
	(1300, NULL, 34, 'mark', %[3]d, NULL), (1400, NULL, 59, 'open', %[3]d, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(1250, 1260, %[3]d, 5, 5), (1700, 1710, %[3]d, 6, 0), (1220, 1230, %[4]d, 5, 0), (2700, 2710, %[3]d, 7, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
	(1300, 1400, 0, 7, 5, %[1]d, 1, 1, 32, 50, 4, 1, 256, 1, 1, 16, 48, NULL, NULL),
	(1310, 1330, 1, 15, 5, %[2]d, 2, 2, 32, 1, 1, 1, 32, 1, 1, 0, 0, 99, 7),
	(2800, 2900, 0, 7, 7, %[1]d, 1, 1, 32, 50, 4, 1, 256, 1, 1, 16, 48, NULL, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1800, 1850, 0, 7, 6, %[1]d, 4096, 1, 1, 2),
	(1810, 1820, 1, 15, 404, %[2]d, 8, 10, NULL, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (3000, 3500, 1, 15, 0, %[2]d, 12);
`, process1, process2, thread1, thread2)

func database(t testing.TB, statements string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db.sqlite")
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec("PRAGMA page_size = 512; BEGIN;" + statements + "COMMIT")
		db.Close()
	}
	check.OK(t, err)
	return check.Must(os.ReadFile(path))(t)
}

type found struct {
	entries []*op.Entry
	skipped map[op.SkipReason]int64
	errs    []string // about rows and tables
	err     error
}

var unbounded = ingest.Memory{Hold: func(int64) error { return nil }, SpoolBytes: math.MaxInt64}

func read(text []byte) found {
	f := found{skipped: make(map[op.SkipReason]int64)}
	for rec, err := range nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db", unbounded) {
		_, isSyntax := err.(*op.SyntaxError) //nolint:errorlint // as readers yield it
		switch {
		case isSyntax:
			f.errs = append(f.errs, err.Error())
		case err != nil:
			f.err = err
		case rec.Entry != nil:
			f.entries = append(f.entries, rec.Entry.Clone())
		case rec.Skipped.N > 0:
			f.skipped[rec.Skipped.Reason] += rec.Skipped.N
		}
	}
	return f
}

// lines returns the entries and errors, one per line.
func (f *found) lines() string {
	var b strings.Builder
	for _, e := range f.entries {
		b.Write(append(e.AppendJSON(nil), '\n'))
	}
	for _, err := range f.errs {
		b.WriteString(err + "\n")
	}
	if f.err != nil {
		fmt.Fprintln(&b, f.err)
	}
	return b.String()
}

func TestSmall(t *testing.T) {
	text := database(t, small)
	f := read(text)
	golden.Check(t, "testdata/small.sqlite", text) // for the tests of the command
	golden.Check(t, "testdata/small.jsonl", f.lines())
	want := map[op.SkipReason]int64{
		op.SkipRuntime: 4, op.SkipMetadata: 1, op.SkipUnpaired: 1,
		"missing:CUPTI_ACTIVITY_KIND_MEMSET": 1, "missing:CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": 1,
	}
	check.Equal(t, "skipped", want, f.skipped)
	for _, e := range f.entries {
		check.OK(t, e.Validate())
	}
}

// TestRecords reads databases of the statements in testdata/cases.txt. Behind "-- small" they follow [small], and the
// result is what they change in its records. Made-up ids, which tell contents apart, are left out.
func TestRecords(t *testing.T) {
	ids := regexp.MustCompile(`"trace_id":"[^"]*",("span_id":"[^"]*",?)?`)
	shown := func(statements string) []string {
		text := database(t, statements)
		records := nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db", unbounded)
		return slices.Collect(strings.Lines(ids.ReplaceAllString(recordtest.Transcript(t, records), "")))
	}
	plain := shown(small)
	golden.Cases(t, "testdata/cases.txt", func(statements string) string {
		more, onSmall := strings.CutPrefix(statements, "-- small\n")
		if !onSmall {
			return strings.Join(shown(statements), "")
		}
		known := func(line string) bool { return slices.Contains(plain, line) }
		return strings.Join(slices.DeleteFunc(shown(small+more), known), "")
	})
}

// A database reads the same from a file and from a stream, and leaves no file behind.
func TestWays(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	text := database(t, small+"INSERT INTO SOMETHING_NEW VALUES (zeroblob(9000000));")
	streamed, _ := recordtest.Split(t, nsys.Records(bytes.NewReader(text), "db", unbounded))
	path := filepath.Join(t.TempDir(), "x.db")
	check.OK(t, os.WriteFile(path, text, 0o644))
	whole, _ := recordtest.Split(t, ingest.Open(path).Records())
	if diff := cmp.Diff(whole, streamed); diff != "" || len(whole) == 0 {
		t.Errorf("%d entries (-whole +streamed):\n%s", len(whole), diff)
	}
	for range nsys.Records(bytes.NewReader(text), "db", unbounded) {
		break
	}
	for _, err := range nsys.Records(bytes.NewReader(text), "db", ingest.Memory{Hold: unbounded.Hold,
		SpoolBytes: 1000}) {
		check.Says(t, "more was copied than may be", "", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	text := database(t, small)
	for _, test := range []struct {
		name string
		file []byte
		with string
		want string
	}{
		{"another database", database(t, "CREATE TABLE users (id INT);"), "",
			`without tables of Nsight Systems; it has ["users"]`},
		{"a log beside it", text, path + "-wal", "beside it holds a part of the database"},
		{"a journal beside it", text, path + "-journal", "beside it holds a part of the database"},
		{"a header alone", text[:100], "", "table sqlite_schema"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.with != "" {
				check.OK(t, os.WriteFile(test.with, []byte("x"), 0o644))
				defer os.Remove(test.with)
			}
			check.OK(t, os.WriteFile(path, test.file, 0o644))
			var last error
			for _, err := range ingest.Open(path).Entries() {
				last = err
			}
			check.Says(t, "", test.want, last)
		})
	}
}

// The figures of the recording agree with SQL.
func TestRecordedAgainstSQL(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	text, err := os.ReadFile(recorded)
	if os.IsNotExist(err) {
		t.Skipf("needs %s: a test fixture of nsys-ai, two H100", recorded)
	} else if err != nil {
		t.Fatal(err)
	}
	f := read(text)
	if f.err != nil || len(f.errs) > 0 || len(f.entries) != 3442+904+22+16782 {
		t.Fatalf("%d entries, %v, %v", len(f.entries), f.errs, f.err)
	}
	type sums struct{ Count, NS, Bytes int64 }
	got := make(map[string]sums)
	want := make(map[string]sums)
	add := func(all map[string]sums, key string, s sums) {
		all[key] = sums{all[key].Count + s.Count, all[key].NS + s.NS, all[key].Bytes + s.Bytes}
	}
	for _, e := range f.entries {
		s := sums{1, e.Duration, e.MemoryBytes.V}
		if e.Side == op.SideHost {
			s.Bytes = 0 // from shapes
			add(got, fmt.Sprint("rank ", e.Rank.V, " range ", e.Operation), s)
			continue
		}
		kind := e.Kind.String()
		add(got, e.DeviceID+" "+kind, s)
		add(got, "operation "+e.Operation, s)
		add(got, fmt.Sprint(e.DeviceID, " by ", e.LaunchedBy), s)
		add(got, fmt.Sprintf("step %v, phase %s", e.Step, e.Phase), s)
	}
	db := check.Must(sql.Open("sqlite", "file::memory:"))(t)
	defer db.Close()
	db.SetMaxOpenConns(1)
	check.Must(db.Exec("ATTACH 'file:" + recorded + `?mode=ro&immutable=1' AS recorded;
		CREATE TABLE ranges AS SELECT * FROM NVTX_EVENTS; CREATE INDEX byStart ON ranges (globalTid, start);
		CREATE TABLE forwards AS SELECT * FROM NVTX_EVENTS WHERE text LIKE 'FSDP::%forward%'`))(t)
	const all = `(SELECT start, end, deviceId, globalPid, correlationId, 'compute' kind, 0 bytes
		FROM CUPTI_ACTIVITY_KIND_KERNEL
		UNION ALL SELECT start, end, deviceId, globalPid, correlationId, 'memory', bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY
		UNION ALL SELECT start, end, deviceId, globalPid, correlationId, 'memory', bytes
			FROM CUPTI_ACTIVITY_KIND_MEMSET)`
	const launched = ` o LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = o.correlationId
		AND r.globalTid / 0x1000000 = o.globalPid / 0x1000000 GROUP BY 1`
	const cut = `substr(n.text, 1, instr(n.text, ',') - 1)`
	for _, query := range []string{
		`SELECT 'cuda:' || deviceId || ' ' || kind, count(*), sum(end - start), sum(bytes) FROM ` + all + ` GROUP BY 1`,
		`SELECT 'operation ' || value, count(*), sum(end - start),` +
			` 0 FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName GROUP BY 1`,
		`SELECT 'operation Memset (' || label || ')', count(*), sum(end - start), sum(bytes)
			FROM CUPTI_ACTIVITY_KIND_MEMSET
			JOIN ENUM_CUDA_MEM_KIND e ON e.id = memKind GROUP BY 1`,
		`SELECT 'operation Memcpy ' || CASE copyKind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 8 THEN 'DtoD' END ||
			' (' || s.label || ' -> ' || d.label || ')',
			count(*), sum(end - start), sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY
			JOIN ENUM_CUDA_MEM_KIND s ON s.id = srcKind JOIN ENUM_CUDA_MEM_KIND d ON d.id = dstKind GROUP BY 1`,
		`SELECT 'rank ' || (globalTid / 0x1000000 = (SELECT max(globalTid) / 0x1000000
			FROM NVTX_EVENTS)) || ' range ' || ` + cut + `,
			count(*), sum(end - start), 0 FROM NVTX_EVENTS n GROUP BY 1`,
		`SELECT 'cuda:' || deviceId || ' by ' || coalesce((SELECT ` + cut +
			` FROM ranges n WHERE n.globalTid = r.globalTid AND n.start <= r.start
			AND n.end > r.start ORDER BY n.start DESC, n.end LIMIT 1), ''), count(*), sum(o.end - o.start), sum(bytes)
				FROM ` + all + launched,
		`SELECT 'step unknown, phase ' || CASE WHEN EXISTS (SELECT 1 FROM forwards n WHERE n.globalTid = r.globalTid
			AND n.start <= r.start
			AND n.end > r.start) THEN 'forward' ELSE '' END, count(*), sum(o.end - o.start), sum(bytes)
				FROM ` + all + launched,
	} {
		rows := check.Must(db.Query(query))(t)
		for rows.Next() {
			var key string
			var s sums
			check.OK(t, rows.Scan(&key, &s.Count, &s.NS, &s.Bytes))
			add(want, key, s)
		}
		check.OK(t, rows.Err())
		rows.Close()
	}
	check.Equal(t, "", want, got)
	first := slices.MinFunc(f.entries, func(a, b *op.Entry) int { return int(a.Start.V - b.Start.V) })
	check.Equal(t, "the first start", int64(1779630014975716426+155357525002), first.Start.V)
}
