package nsys_test

import (
	"bytes"
	"database/sql"
	_ "embed" // stepsBySQL
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/cmd/optrace/nsys"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// many returns a database with several pages per table: n more kernels and ranges.
func many(t testing.TB, n int) []byte {
	return database(t, small+fmt.Sprintf(`
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
			SELECT 4000 + i, 4001 + i, 0, 7, i, 0, 1, 1, 32, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL FROM n;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d)
		INSERT INTO NVTX_EVENTS SELECT 4000 + i, 4001 + i, 59, 'range ' || i, 0, NULL FROM n;`, n))
}

// A truncated database reports the loss. Flipped bits or swapped pages cost little time, and errors name the table.
func TestDamaged(t *testing.T) {
	const page = 512
	text := many(t, 300)
	check := func(t *testing.T, name string, damaged []byte) {
		t.Helper()
		start := time.Now()
		f := read(damaged)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: %v", name, d)
		}
		for _, err := range append(f.errs, fmt.Sprint(f.err)) {
			if err != "<nil>" && !strings.Contains(err, "table") {
				t.Errorf("%s: an error without a table: %s", name, err)
			}
		}
	}
	for n := range cases.Some(t, 12, len(text)/page) {
		n = max(n, 1)
		f := read(text[:n*page])
		if f.err == nil && len(f.errs) == 0 {
			t.Errorf("cut off behind %d pages: %d entries without a word", n, len(f.entries))
		}
		check(t, fmt.Sprintf("cut off behind %d pages", n), text[:n*page])
		swapped := bytes.Clone(text)
		copy(swapped[n*page:][:page], text[len(text)-page:])
		check(t, fmt.Sprintf("page %d replaced", n), swapped)
	}
	cases.Seeds(t, 400, func(seed uint64, r *rand.Rand) {
		flipped := bytes.Clone(text)
		for range 1 + r.IntN(8) {
			flipped[16+r.IntN(len(text)-16)] ^= 1 << r.IntN(8)
		}
		check(t, fmt.Sprintf("seed %d", seed), flipped)
	})
}

// Pages that refer to each other, or several times to the same page, end with an error.
func TestCyclicPages(t *testing.T) {
	const page, interior = 512, 5
	text := many(t, 300)
	pages := 0
	for at := page; at < len(text); at += page {
		if text[at] != interior {
			continue
		}
		pages++
		cells := int(binary.BigEndian.Uint16(text[at+3:]))
		for name, target := range map[string]uint32{"itself": uint32(at/page) + 1, "its first child": 0} {
			cyclic := bytes.Clone(text)
			for i := range cells {
				cell := at + int(binary.BigEndian.Uint16(text[at+12+2*i:]))
				if target == 0 {
					target = binary.BigEndian.Uint32(text[cell:])
				}
				binary.BigEndian.PutUint32(cyclic[cell:], target)
			}
			f := read(cyclic)
			if name == "itself" && f.err == nil && len(f.errs) == 0 {
				t.Errorf("page %d refers to itself without a word", at/page+1)
			}
			if n := len(f.entries); n > len(text) {
				t.Errorf("page %d refers to %s: %d entries", at/page+1, name, n)
			}
		}
	}
	if pages < 2 {
		t.Errorf("%d interior pages", pages)
	}
}

// Held memory is reported and given back; an error of Hold ends the reading.
func TestMemory(t *testing.T) {
	text := many(t, 300)
	held := int64(0)
	most := int64(0)
	memory := ingest.Memory{Hold: func(n int64) error {
		held += n
		most = max(most, held)
		return nil
	}}
	optest.Find(nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db", memory))
	if held != 0 || most < 300*40 {
		t.Errorf("%d bytes are held at the end, %d at most", held, most)
	}
	var last error
	for _, err := range (ingest.Options{Stdin: bytes.NewReader(text), MaxMemory: 10_000}).Open(ingest.Stdin).Entries() {
		last = err
	}
	if _, ok := errors.AsType[*ingest.MemoryError](last); !ok && !strings.Contains(fmt.Sprint(last), "too large") {
		t.Errorf("%v", last)
	}
	for _, err := range nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db",
		ingest.Memory{Hold: func(n int64) error {
			if n > 0 {
				return &ingest.MemoryError{}
			}
			return nil
		}}) {
		last = err
	}
	if _, ok := errors.AsType[*ingest.MemoryError](last); !ok {
		t.Errorf("%v", last)
	}
}

func TestMutants(t *testing.T) {
	optest.Mutants(t, cases.Count(t, 60, 3000), database(t, small), func(text []byte) optest.Found {
		return optest.Find(ingest.Options{Stdin: bytes.NewReader(text)}.Open(ingest.Stdin).Records())
	})
}

func BenchmarkReadNsys(b *testing.B) {
	const rows = 5000
	text := many(b, rows)
	recordtest.Benchmark(b, text, 2*rows+10, func(io.Reader, string, *attr.Mapping) iter.Seq2[op.Record, error] {
		return nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db", unbounded)
	})
}

// stepsBySQL selects step, phase, path and innermost range of each kernel from the ranges open at its launch; steps
// come from all threads of the process. The last column is the innermost range at the creation of the node's original.
// The ranges of a thread nest.
//
//go:embed testdata/steps.sql
var stepsBySQL string

// Steps, phases and paths agree with SQL.
func TestStepsAgainstSQL(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	cases.Seeds(t, 40, func(seed uint64, r *rand.Rand) {
		text := database(t, randomSteps(r))
		f := read(text)
		var got []string
		for _, e := range f.entries {
			if e.Side == op.SideHost {
				continue
			}
			step := "none"
			if e.Step.Known {
				step = e.Step.String()
			}
			node := op.Attr{}
			if a := opmodel.FindAttr(e.Attrs, "graph node name"); a != nil {
				node = *a
			}
			got = append(got, fmt.Sprintf("%d %s %s %s %s %s %s", e.Start.V, step, e.StepName, e.Phase, e.Path,
				e.LaunchedBy, node.Value))
		}
		path := filepath.Join(t.TempDir(), "db.sqlite")
		check.OK(t, os.WriteFile(path, text, 0o644))
		db := check.Must(sql.Open("sqlite", path))(t)
		defer db.Close()
		rows := check.Must(db.Query(stepsBySQL))(t)
		defer rows.Close()
		var want []string
		for rows.Next() {
			var line string
			check.OK(t, rows.Scan(&line))
			want = append(want, line)
		}
		if diff := cmp.Diff(want, got); diff != "" || f.err != nil || len(f.errs) > 0 {
			t.Errorf("seed %d, %v %v (-want +got):\n%s", seed, f.err, f.errs, diff)
		}
	})
}

// randomSteps returns the statements of a database of two processes with two threads each. One thread has the steps.
func randomSteps(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(schema + nodes + "INSERT INTO StringIds VALUES (1, 'k');\n")
	for i, thread := range []int64{thread1, thread2} {
		name := []string{"step %d", "batch", "other %d"}[r.IntN(3)]
		at := int64(0)
		for n := range r.IntN(8) {
			at += 1 + r.Int64N(10)
			text := name
			end := at + 20 + r.Int64N(20)
			if strings.Contains(name, "%") {
				text = fmt.Sprintf(name, 3+n)
			}
			fmt.Fprintf(&b, "INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, '%s', %d, NULL);\n", at, end, text, thread)
			for inner := at + 1; inner < end-10; inner += 8 {
				outer := []string{"forward", "## backward ##", "layer"}[r.IntN(3)]
				fmt.Fprintf(&b, "INSERT INTO NVTX_EVENTS VALUES (%d, %d, 59, '%s', %d, NULL), (%d, %d, 59, 'block',"+
					" %d, NULL);\n",
					inner, inner+7, outer, thread, inner+1+r.Int64N(2), inner+4+r.Int64N(3), thread)
			}
			at = end
		}
		for k := range r.Int64N(30) {
			call := r.Int64N(at + 10)
			tid := thread + r.Int64N(2)
			correlation := k + 1
			if r.IntN(9) > 0 {
				fmt.Fprintf(&b, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, %d, %d, 0);\n", call, call+1,
					tid, correlation)
			}
			node := 10 * correlation
			fmt.Fprintf(&b, "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (%d, %d, NULL, %d), (70, %d, %[2]d, %[3]d),"+
				" (71, %[5]d, %[4]d, %[3]d);\n",
				r.Int64N(at+10), node, tid, node+1, node+2)
			start := 1000*int64(i) + 10*k + r.Int64N(5) // not when it was launched
			fmt.Fprintf(&b, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId,"+
				" globalPid, "+
				"demangledName, shortName, graphId, graphNodeId) VALUES (%d, %d, %d, 7, %d, %d, 1, 1, 5, %d);\n",
				start, start+3, i, correlation, thread&^0xffffff, node+2)
		}
	}
	return b.String()
}

// Tables with the suffix of another schema are read; tables of such names beside the ones read are counted.
func TestTablesWithSuffix(t *testing.T) {
	plain := read(database(t, small))
	for _, table := range []string{
		"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY",
		"StringIds", "TARGET_INFO_SESSION_START_TIME",
	} {
		f := read(database(t, strings.ReplaceAll(small, table+" ", table+"_V2 ")))
		check.Equal(t, table, plain.lines(), f.lines())
		check.Equal(t, table+": skipped", plain.skipped, f.skipped)
	}
	f := read(database(t, small+"CREATE TABLE NVTX_EVENTS_V3 (x INT); CREATE TABLE NVTX_EVENTS_NEW (x INT);"))
	check.Equal(t, "entries", plain.lines(), f.lines())
	check.Equal(t, "tables not read", []int64{1, 1},
		[]int64{f.skipped["category:NVTX_EVENTS_V3"], f.skipped["category:NVTX_EVENTS_NEW"]})
}

// The reported databases differ by the names of tables alone.
func TestReportedDatabases(t *testing.T) {
	const folder = "../../../../shared/data/reports/31"
	for _, name := range []string{"-nsys-plain", "a-nsys-nvtx-v2", "b-nsys-kernel-v2"} {
		text, err := os.ReadFile(folder + name + ".sqlite")
		if err != nil {
			t.Skip(err)
		}
		f := read(text)
		golden.Check(t, "testdata/reported.jsonl", f.lines())
	}
}
