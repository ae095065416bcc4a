package ingest_test

import (
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// recorded is where traces of other projects lie; see [recordtest.Figures].
const recorded = "../../shared/data/kineto"

// recordedFigures is a line of the figures that were computed of those traces independently.
type recordedFigures struct {
	File    string
	Rank    op.Int
	Devices map[string]timeline
}

// timeline has the recorded figures of a device, those that the records hold.
type timeline struct {
	Span                 int64    `json:"span_ns"`
	Busy                 int64    `json:"busy_ns"`
	Idle                 int64    `json:"idle_ns"`
	Compute              int64    `json:"compute_ns"`
	Communication        int64    `json:"communication_ns"`
	Memory               int64    `json:"memory_ns"`
	ExposedCommunication int64    `json:"exposed_communication_ns"`
	ExposedMemory        int64    `json:"exposed_memory_ns"`
	Overlap              int64    `json:"overlap_ns"`
	OverlapRatio         op.Float `json:"overlap_ratio"`
}

// timelines returns the timeline of each device in the input, by rank and name.
func timelines(t *testing.T, paths ...string) map[string]timeline {
	t.Helper()
	r, err := analyze.Run(t.Context(), ingest.Open(paths...), analyze.Options{})
	if err != nil || r.Input.Malformed > 0 {
		t.Fatalf("err = %v, %d malformed", err, r.Input.Malformed)
	}
	all := make(map[string]timeline)
	for _, d := range r.Devices {
		if !d.SpanNS.Known {
			if d.DeviceID == device.Unknown {
				continue
			}
			t.Fatalf("device %s has no start times", d.DeviceID)
		}
		all[d.Rank.String()+"/"+d.DeviceID] = timeline{
			Span: d.SpanNS.V, Busy: d.BusyNS.V, Idle: d.IdleNS.V, Compute: d.ComputeNS.V,
			ExposedCommunication: d.ExposedCommunicationNS.V, ExposedMemory: d.ExposedMemoryNS.V,
			Communication: d.CommunicationNS.V, Memory: d.MemoryNS.V, Overlap: d.OverlapNS.V, OverlapRatio: d.OverlapRatio,
		}
	}
	return all
}

// TestRecordedTimelines reads each trace, and those of several ranks at once.
func TestRecordedTimelines(t *testing.T) {
	inputs := make(map[string][]recordedFigures)
	for _, figures := range recordtest.Figures[recordedFigures](t, recorded) {
		inputs[figures.File] = []recordedFigures{figures}
		switch figures.File {
		case "sampled_rank-0.json.gz", "sampled_rank-1.json.gz", "mi250_minitoy_train_ROCm6_2_kineto.json.gz":
			inputs["ranks"] = append(inputs["ranks"], figures)
		}
	}
	for name, files := range inputs {
		t.Run(name, func(t *testing.T) {
			want := make(map[string]timeline)
			var paths []string
			for _, f := range files {
				paths = append(paths, filepath.Join(recorded, f.File))
				for device, d := range f.Devices {
					want[f.Rank.String()+"/cuda:"+device] = d
				}
			}
			check.Equal(t, "timelines", want, timelines(t, paths...))
		})
	}
}
