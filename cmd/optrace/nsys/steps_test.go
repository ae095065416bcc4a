package nsys_test

import (
	"bytes"
	"database/sql"
	_ "embed" // stepsBySQL
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/cmd/optrace/nsys"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

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

// Launches without an operation are gaps, unless they were still queued when the recording ended.
func TestGapsCountLostLaunches(t *testing.T) {
	insert := fmt.Sprintf(`
INSERT INTO StringIds VALUES (6, 'cudaGraphLaunch_v10000');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
	(1260, 1270, %[1]d, 50, 5), (1261, 1270, %[1]d, 51, 6), (%%d, 9999, %[1]d, 52, 5), (9998, 9999, %[1]d, 53, 5);`, thread1)
	for at, want := range map[int]int64{2750: 1, 2950: 3} { // the last operation runs from 2800 to 2900
		got := make(map[string]int64)
		text := database(t, small+fmt.Sprintf(insert, at))
		for rec, err := range nsys.RecordsAt(bytes.NewReader(text), int64(len(text)), "db", unbounded) {
			check.OK(t, err)
			if rec.Gap != nil {
				got[rec.Gap.Reason] += rec.Gap.Dropped
			}
		}
		check.Equal(t, fmt.Sprint(at),
			map[string]int64{"launch_without_operation": want, "graph_launch_without_operation": 1}, got)
	}
}
