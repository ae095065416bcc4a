package kineto_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
)

// recorded is where traces of other projects lie; see [recordtest.Figures].
const recorded = "../../../shared/data/kineto"

// expectation holds figures of a recorded trace that were computed independently.
type expectation struct {
	File    string
	Rank    *int64
	CPUOps  int                      `json:"cpu_ops"`
	Devices map[string]deviceFigures `json:"devices"`
}

// deviceFigures are those of a device, but for its timeline: TestRecordedTimelines of
// package ingest looks at that.
type deviceFigures struct {
	Events      int   `json:"events"`
	Sum         int64 `json:"sum_duration_ns"`
	DistinctOps int   `json:"distinct_ops"`
	// Top lists name, count and sum of the operations with the largest sums.
	Top [][3]any `json:"top"`
}

func expectations(t *testing.T) []expectation { return recordtest.Figures[expectation](t, recorded) }

// openRecorded opens a recorded trace.
func openRecorded(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, name))
	if err != nil {
		t.Skipf("needs %s from tests/data of github.com/facebookresearch/HolisticTraceAnalysis in %s: %v", name, recorded, err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return check.Must(gzip.NewReader(bufio.NewReader(f)))(t)
}

func TestRecordedTraces(t *testing.T) {
	for _, want := range expectations(t) {
		t.Run(want.File, func(t *testing.T) {
			got := expectation{File: want.File, Devices: map[string]deviceFigures{}}
			devices := map[string][]*op.Entry{}
			for rec, err := range kineto.Records(openRecorded(t, want.File), want.File, nil) {
				check.OK(t, err)
				if rec.Entry == nil {
					continue
				}
				check.OK(t, rec.Entry.Validate())
				if rec.Entry.Rank.Known {
					rank := rec.Entry.Rank.V
					got.Rank = &rank
				}
				if rec.Entry.Side == op.SideHost {
					got.CPUOps++
					continue
				}
				device, _ := strings.CutPrefix(rec.Entry.DeviceID, "cuda:")
				devices[device] = append(devices[device], rec.Entry.Clone())
			}
			for name, entries := range devices {
				got.Devices[name] = figuresOf(entries, len(want.Devices[name].Top))
			}
			check.Equal(t, "figures", want, got)
		})
	}
}

// figuresOf computes a device's figures, but for those that depend on what ran when.
func figuresOf(entries []*op.Entry, top int) (d deviceFigures) {
	sums := map[string][2]int64{}
	for _, e := range entries {
		s := sums[e.Operation]
		sums[e.Operation] = [2]int64{s[0] + 1, s[1] + e.Duration}
		d.Sum += e.Duration
	}
	d.Events, d.DistinctOps = len(entries), len(sums)
	names := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(int(sums[b][1]-sums[a][1]), strings.Compare(a, b))
	})
	for _, name := range names[:top] {
		n := func(v int64) json.Number { return json.Number(strconv.FormatInt(v, 10)) }
		d.Top = append(d.Top, [3]any{name, n(sums[name][0]), n(sums[name][1])})
	}
	return d
}
