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

// small has the statements of a database of two processes with one device each and equal correlation ids.
var small = schema + smallRows

//go:embed testdata/small.sql
var smallRows string

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

// sumsBySQL selects the sums of TestRecordedAgainstSQL.
//
//go:embed testdata/recorded.sql
var sumsBySQL string

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
	rows := check.Must(db.Query(sumsBySQL))(t)
	defer rows.Close()
	for rows.Next() {
		var key string
		var s sums
		check.OK(t, rows.Scan(&key, &s.Count, &s.NS, &s.Bytes))
		add(want, key, s)
	}
	check.OK(t, rows.Err())
	check.Equal(t, "", want, got)
	first := slices.MinFunc(f.entries, func(a, b *op.Entry) int { return int(a.Start.V - b.Start.V) })
	check.Equal(t, "the first start", int64(1779630014975716426+155357525002), first.Start.V)
}
