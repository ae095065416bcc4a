package ingest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// recorded is where traces of other projects lie, beside the repository. They
// are not part of it.
const recorded = "../../shared/data/kineto"

// recordedFigures is a line of the figures that were computed of those traces
// independently.
type recordedFigures struct {
	File    string
	Rank    *int64
	Devices map[string]struct {
		Span                 int64    `json:"span_ns"`
		Busy                 int64    `json:"busy_ns"`
		Idle                 int64    `json:"idle_ns"`
		Compute              int64    `json:"compute_ns"`
		Communication        int64    `json:"communication_ns"`
		Memory               int64    `json:"memory_ns"`
		ExposedCommunication int64    `json:"exposed_communication_ns"`
		ExposedMemory        int64    `json:"exposed_memory_ns"`
		Overlap              int64    `json:"overlap_ns"`
		OverlapRatio         *float64 `json:"overlap_ratio"`
	}
}

func readFigures(t *testing.T) []recordedFigures {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, "expected.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded traces are not there")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recordedFigures
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var figures recordedFigures
		if err := json.Unmarshal(lines.Bytes(), &figures); err != nil {
			t.Fatal(err)
		}
		all = append(all, figures)
	}
	return all
}

// timelines returns the timeline of each device in the input, by rank and name.
func timelines(t *testing.T, paths ...string) map[string]analyze.Parts {
	t.Helper()
	forest := analyze.NewForest(analyze.TraceOptions{})
	for e, err := range ingest.Open(paths...).Entries() {
		if err != nil {
			t.Fatal(err)
		}
		forest.Add(e)
	}
	all := make(map[string]analyze.Parts)
	for _, line := range forest.Timelines() {
		if line.Parts == nil {
			t.Fatalf("device %v has no start times", line.DeviceKey)
		}
		all[line.Rank.String()+"/"+line.DeviceID] = *line.Parts
	}
	return all
}

// want adds the timelines of the expected figures to those of all.
func (f *recordedFigures) want(all map[string]analyze.Parts) {
	rank := op.Int{}
	if f.Rank != nil {
		rank = op.Known(*f.Rank)
	}
	for device, d := range f.Devices {
		all[rank.String()+"/cuda:"+device] = analyze.Parts{
			Span: d.Span, Busy: d.Busy, Idle: d.Idle, Compute: d.Compute,
			ExposedCommunication: d.ExposedCommunication, ExposedMemory: d.ExposedMemory,
			Communication: d.Communication, Memory: d.Memory, Overlap: d.Overlap,
		}
	}
}

func TestRecordedTimelines(t *testing.T) {
	for _, figures := range readFigures(t) {
		t.Run(figures.File, func(t *testing.T) {
			want := make(map[string]analyze.Parts)
			figures.want(want)
			got := timelines(t, filepath.Join(recorded, figures.File))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("timelines (-want +got):\n%s", diff)
			}
			for device, d := range figures.Devices {
				parts := got[rankName(figures.Rank)+"/cuda:"+device]
				ratio, ok := parts.OverlapRatio()
				if ok != (d.OverlapRatio != nil) || ok && ratio != *d.OverlapRatio {
					t.Errorf("overlap ratio of %s: %v, %t", device, ratio, ok)
				}
			}
		})
	}
}

func rankName(rank *int64) string {
	if rank == nil {
		return op.Int{}.String()
	}
	return strconv.FormatInt(*rank, 10)
}

// TestRecordedRanksFormOneInput reads the traces of several ranks at once.
func TestRecordedRanksFormOneInput(t *testing.T) {
	want := make(map[string]analyze.Parts)
	var paths []string
	for _, figures := range readFigures(t) {
		switch figures.File {
		case "sampled_rank-0.json.gz", "sampled_rank-1.json.gz", "mi250_minitoy_train_ROCm6_2_kineto.json.gz":
			figures.want(want)
			paths = append(paths, filepath.Join(recorded, figures.File))
		}
	}
	if diff := cmp.Diff(want, timelines(t, paths...)); diff != "" {
		t.Errorf("timelines (-want +got):\n%s", diff)
	}
}
