package kineto_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/op"
)

// recorded is where traces of other projects lie, beside the repository: the
// recordings of the tests of Holistic Trace Analysis
// (github.com/facebookresearch/HolisticTraceAnalysis, tests/data), and with them
// expected.jsonl, a line of figures for each. They are not part of the repository.
const recorded = "../../../shared/data/kineto"

// expectation holds figures of a recorded trace that were computed independently.
type expectation struct {
	File    string
	Rank    *int64
	CPUOps  int                       `json:"cpu_ops"`
	Devices map[string]deviceTimeline `json:"devices"`
}

type deviceTimeline struct {
	Events               int   `json:"events"`
	Span                 int64 `json:"span_ns"`
	Busy                 int64 `json:"busy_ns"`
	Idle                 int64 `json:"idle_ns"`
	Compute              int64 `json:"compute_ns"`
	Communication        int64 `json:"communication_ns"`
	Memory               int64 `json:"memory_ns"`
	ExposedCommunication int64 `json:"exposed_communication_ns"`
	ExposedMemory        int64 `json:"exposed_memory_ns"`
	Overlap              int64 `json:"overlap_ns"`
	Sum                  int64 `json:"sum_duration_ns"`
	DistinctOps          int   `json:"distinct_ops"`
	// Top lists name, count and sum of the operations with the largest sums.
	Top [][3]any `json:"top"`
}

func expectations(t *testing.T) []expectation {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, "expected.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs %s: copies of *.json.gz from tests/data of github.com/facebookresearch/HolisticTraceAnalysis and expected.jsonl, "+
			"the figures of each, computed by another program", recorded)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []expectation
	dec := json.NewDecoder(f)
	dec.UseNumber()
	for {
		var e expectation
		err := dec.Decode(&e)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// openRecorded opens a recorded trace.
func openRecorded(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, name))
	if err != nil {
		t.Skipf("needs %s from tests/data of github.com/facebookresearch/HolisticTraceAnalysis in %s: %v", name, recorded, err)
	}
	t.Cleanup(func() { _ = f.Close() })
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestRecordedTraces(t *testing.T) {
	for _, want := range expectations(t) {
		t.Run(want.File, func(t *testing.T) {
			got := expectation{File: want.File, Devices: map[string]deviceTimeline{}}
			devices := map[string][]*op.Entry{}
			for rec, err := range kineto.Records(openRecorded(t, want.File), want.File, nil) {
				if err != nil {
					t.Fatal(err)
				}
				if rec.Entry == nil {
					continue
				}
				if err := rec.Entry.Validate(); err != nil {
					t.Fatal(err)
				}
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
				got.Devices[name] = timeline(entries, len(want.Devices[name].Top))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

// timeline computes a device's figures in the plainest way: at each instant at
// which anything starts or ends it looks at all that is running.
func timeline(entries []*op.Entry, top int) deviceTimeline {
	var d deviceTimeline
	var times []int64
	sums := map[string][2]int64{}
	for _, e := range entries {
		times = append(times, e.Start.V, e.Start.V+e.Duration)
		s := sums[e.Operation]
		sums[e.Operation] = [2]int64{s[0] + 1, s[1] + e.Duration}
		d.Sum += e.Duration
	}
	d.Events, d.DistinctOps = len(entries), len(sums)
	slices.Sort(times)
	times = slices.Compact(times)
	d.Span = times[len(times)-1] - times[0]
	slices.SortFunc(entries, func(a, b *op.Entry) int { return int(a.Start.V - b.Start.V) })
	for i, from := range times[:len(times)-1] {
		length := times[i+1] - from
		var compute, communication, memory bool
		for _, e := range entries {
			if e.Start.V > from {
				break
			}
			if e.Start.V+e.Duration <= from {
				continue
			}
			compute = compute || e.Kind == op.KindCompute
			communication = communication || e.Kind == op.KindCollective
			memory = memory || e.Kind == op.KindMemory
		}
		add := func(sum *int64, when bool) {
			if when {
				*sum += length
			}
		}
		add(&d.Busy, compute || communication || memory)
		add(&d.Idle, !compute && !communication && !memory)
		add(&d.Compute, compute)
		add(&d.Communication, communication)
		add(&d.Memory, memory)
		add(&d.ExposedCommunication, communication && !compute)
		add(&d.ExposedMemory, memory && !compute && !communication)
		add(&d.Overlap, communication && compute)
	}
	names := make([]string, 0, len(sums))
	for name := range sums {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if sums[a][1] != sums[b][1] {
			return int(sums[b][1] - sums[a][1])
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[:top] {
		n := func(v int64) json.Number { return json.Number(strconv.FormatInt(v, 10)) }
		d.Top = append(d.Top, [3]any{name, n(sums[name][0]), n(sums[name][1])})
	}
	return d
}
