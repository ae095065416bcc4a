package kineto_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// recorded is the folder of traces of other projects, see [recordtest.Figures].
const recorded = "../../../shared/data/kineto"

// expectation has independently computed figures of a recorded trace.
type expectation struct {
	File    string
	Rank    *int64
	CPUOps  int                      `json:"cpu_ops"`
	Devices map[string]deviceFigures `json:"devices"`
}

// deviceFigures are the figures of a device without its timeline, see TestRecordedTimelines of package ingest.
type deviceFigures struct {
	Events      int   `json:"events"`
	Sum         int64 `json:"sum_duration_ns"`
	DistinctOps int   `json:"distinct_ops"`
	// Top lists name, count and sum of the operations with the largest sums.
	Top [][3]any `json:"top"`
}

func expectations(t *testing.T) []expectation { return recordtest.Figures[expectation](t, recorded) }

func openRecorded(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, name))
	if err != nil {
		t.Skipf("needs %s from tests/data of github.com/facebookresearch/HolisticTraceAnalysis in %s: %v", name,
			recorded, err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return check.Must(gzip.NewReader(bufio.NewReader(f)))(t)
}

func TestRecordedTraces(t *testing.T) {
	for _, want := range expectations(t) {
		t.Run(want.File, func(t *testing.T) {
			got := expectation{File: want.File, Devices: map[string]deviceFigures{}}
			sums := map[[2]string][2]int64{} // counts and nanoseconds by device and operation
			entries, _ := recordtest.Split(t, kineto.Records(openRecorded(t, want.File), want.File, nil))
			for _, e := range entries {
				check.OK(t, e.Validate())
				if e.Rank.Known {
					got.Rank = &e.Rank.V
				}
				if e.Side == op.SideHost {
					got.CPUOps++
					continue
				}
				device := strings.TrimPrefix(e.DeviceID, "cuda:")
				key := [2]string{device, e.Operation}
				d := got.Devices[device]
				sum := sums[key]
				if sum[0] == 0 {
					d.DistinctOps++
				}
				d.Events, d.Sum = d.Events+1, d.Sum+e.Duration
				got.Devices[device] = d
				sums[key] = [2]int64{sum[0] + 1, sum[1] + e.Duration}
			}
			for device, d := range got.Devices {
				for _, top := range want.Devices[device].Top {
					sum := sums[[2]string{device, top[0].(string)}]
					d.Top = append(d.Top, [3]any{top[0], json.Number(fmt.Sprint(sum[0])),
						json.Number(fmt.Sprint(sum[1]))})
				}
				got.Devices[device] = d
			}
			check.Equal(t, "figures", want, got)
		})
	}
}
