package nsys_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

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
		var got []string
		for _, e := range read(text).entries {
			got = append(got, fmt.Sprint(e.DeviceID, " ", e.Stream, " ", e.Operation, " ", e.Duration, " by ",
				e.LaunchedBy))
		}
		check.Equal(t, name, []string{
			"cpu unknown forward 1090 by ", "cpu unknown forward 809 by ",
			"cuda:0 7 void gemm_kernel<float>(float*) 400 by forward", "cuda:0 7 relu_kernel 300 by forward",
			"cuda:0 7 void gemm_kernel<float>(float*) 600 by forward",
		}, got)
	}
}

// A start months away from the others is no time, without a launch as well.
func TestWildStarts(t *testing.T) {
	const year = 365 * 24 * 3600 * 1_000_000_000
	for _, start := range []int64{-1_699_999_999_999_000_000 + 5, -3 * year, 2 * year} {
		f := read(database(t, small+fmt.Sprintf("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 7, 0, %d, 1, 1, "+
			"32, 50, 4, 1, 256, 1, 1, 16, 48, NULL, NULL);", start, start+50, process1)))
		var wild []string
		for _, e := range f.entries {
			if !e.Start.Known {
				wild = append(wild, fmt.Sprint(e.Operation, " ", e.Duration, " ", e.Warn == op.WarnBadTime))
			}
		}
		check.Equal(t, fmt.Sprint("at ", start), []string{"void gemm<float>(float*) 50 true"}, wild)
	}
}
