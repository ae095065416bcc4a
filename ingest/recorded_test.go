package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
)

// recorded is the folder of traces of other projects, see [recordtest.Figures].
const recorded = "../../shared/data/kineto"

// recordedFigures has independently computed figures of a trace.
type recordedFigures struct {
	File    string
	Rank    op.Int
	Devices map[string]timeline
}

// timeline has the recorded figures of a device.
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
			Communication: d.CommunicationNS.V, Memory: d.MemoryNS.V, Overlap: d.OverlapNS.V,
			OverlapRatio: d.OverlapRatio,
		}
	}
	return all
}

// TestRecordedTimelines reads each trace, and several ranks together.
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

// h100 is the folder of traces of an H100, recorded by record.py there.
const h100 = "kineto/testdata/h100/"

// Times and FLOPs on an H100 agree with PyTorch's profiler (key_averages) to the nanosecond, for each kernel and for
// each operator with kernels outside CUDA graphs.
func TestAgainstPyTorch(t *testing.T) {
	type row struct {
		Key          string
		Host         bool
		Count, FLOPs int64
		Self         float64 `json:"device_self_us"`
	}
	var truth map[string][]row
	check.OK(t, json.Unmarshal(check.Must(os.ReadFile(h100+"truth.json"))(t), &truth))
	for name, rows := range truth {
		r := check.Must(analyze.Run(t.Context(), ingest.Open(h100+name+".json.gz"), analyze.Options{}))(t)
		want := make(map[string]row)
		for _, row := range rows {
			want[fmt.Sprint(row.Host, row.Key)] = row
		}
		sum := int64(0)
		for i := range r.Operations {
			o := &r.Operations[i]
			if o.Side == "host" {
				continue
			}
			sum += o.SumNS
			if w := want["false"+o.Operation]; w.Count != o.Count || int64(math.Round(w.Self*1000)) != o.SumNS {
				t.Errorf("%s: %s ran %d times for %d ns, want %+v", name, o.Operation, o.Count, o.SumNS, w)
			}
		}
		for _, o := range r.Operators.Rows {
			if o.Kernels == 0 || o.Below != nil {
				continue
			}
			if w := want["true"+o.Operator]; int64(math.Round(w.Self*1000)) != o.DeviceSelfNS || w.FLOPs != 0 &&
				w.FLOPs != o.FLOPs.V {
				t.Errorf("%s: %s launched %d ns of %d FLOPs, want %+v", name, o.Operator, o.DeviceSelfNS, o.FLOPs.V, w)
			}
		}
		if len(r.Operations) == 0 || sum != r.Total.SumNS {
			t.Errorf("%s: the operations took %d of %d ns", name, sum, r.Total.SumNS)
		}
	}
}

// PyTorch states no numbers of CUDA graphs. The ranges around their launches tell them apart.
func TestGraphsOfPyTorch(t *testing.T) {
	r := check.Must(analyze.Run(t.Context(), ingest.Open(h100+"graphs.json.gz"), analyze.Options{}))(t)
	launches := make(map[string]int64)
	for _, o := range r.Operators.Rows {
		launches[o.Operator] = o.Calls
	}
	check.Equal(t, "launches", map[string]int64{"CUDA graph (decode)": 3 * 8, "CUDA graph (prefill)": 3}, launches)
}

// Memory given back to the driver in each step is the reason for the idle device.
func TestCallsOfPyTorch(t *testing.T) {
	r := check.Must(analyze.Run(t.Context(), ingest.Open(h100+"allocator.json.gz"), analyze.Options{}))(t)
	if !slices.ContainsFunc(r.Findings, func(f findings.Finding) bool {
		return f.Rule == "allocator" && strings.Contains(f.Text,
			"240 calls of cudaMalloc, cudaFree (80 a step), 10.6 ms, after waits in cudaDeviceSynchronize.")
	}) {
		t.Errorf("%+v", r.Findings)
	}
}

func TestDetectsSamples(t *testing.T) {
	for _, test := range []struct {
		path, format string
		entries      int
	}{
		{"kineto/testdata/train.json", "chrome", 10},
		{"kineto/testdata/first_versions.json", "chrome", 4},
		{"kineto/testdata/plain.json", "chrome", 2},
		{"perfetto/testdata/kineto.pftrace", "perfetto", 4},
		{"ort/testdata/squeeze.json", "ort", 5},
		{"jaeger/testdata/v1.76.trace.json", "jaeger-v1", 7},
		{"jaeger/testdata/v2.20.search.json", "jaeger-v1", 21},
		{"jaeger/testdata/edge.json", "jaeger-v1", 0},
		{"stdouttrace/testdata/spans.jsonl", "stdouttrace", 14},
		{"stdouttrace/testdata/spans.pretty.json", "stdouttrace", 7},
	} {
		t.Run(test.path, func(t *testing.T) {
			in := ingest.Open(test.path)
			names, bad, err := read(in)
			if err != nil || len(bad) > 0 {
				t.Fatalf("err = %v, bad = %q", err, bad)
			}
			if diff := cmp.Diff([]string{test.format}, in.Stats().Formats); diff != "" || len(names) != test.entries {
				t.Errorf("%d operations, want %d; formats (-want +got):\n%s", len(names), test.entries, diff)
			}
		})
	}
}

// Perfetto's packets and OTLP's messages start with the same tag. Empty ones in front hide neither format: the file is
// read, or it is an error.
func TestEmptyMessagesInFront(t *testing.T) {
	perfetto := check.Must(os.ReadFile("perfetto/testdata/kineto.pftrace"))(t)
	frames := check.Must(os.ReadFile("otlp/testdata/gate_off/traces.pb"))(t)
	otlp := bytes.Join(spantest.Messages(t, frames), nil)
	const refused = -1
	for _, test := range []struct {
		name    string
		text    []byte
		count   int // of empty messages in front
		entries int
	}{
		{"Perfetto", perfetto, 1, 4},
		{"Perfetto", perfetto, 32 << 10, 4}, // 64 KiB, the first look
		{"Perfetto", perfetto, 40_000, 4},
		{"Perfetto", perfetto, 600_000, refused}, // above the last look, 1 MiB
		{"OTLP", otlp, 1, 21},
		{"OTLP", otlp, 40_000, 21},
		{"OTLP, empty messages behind", slices.Concat(otlp, bytes.Repeat([]byte("\n\x00"), 40_000)), 40_000, 21},
		{"OTLP", otlp, 600_000, refused},
		{"empty messages of two bytes alone", nil, 1, refused},
		{"empty messages alone", nil, 100, refused},
		{"empty messages alone", nil, 40_000, refused},
		{"empty messages alone", nil, 600_000, refused},
	} {
		for _, empty := range []string{"\n\x00", "\n\x80\x00"} {
			text := append(bytes.Repeat([]byte(empty), test.count), test.text...)
			name := fmt.Sprintf("%s behind %d times %q", test.name, test.count, empty)
			got := find(write(t, filepath.Join(t.TempDir(), "input"), text), ingest.Options{})
			if test.entries == refused {
				if got.Err == nil || got.Entries > 0 {
					t.Errorf("%s: %+v, want an error", name, got)
				}
				continue
			}
			if got.Err != nil || got.Entries != test.entries || got.Malformed > 0 {
				t.Errorf("%s: %+v, want %d operations", name, got, test.entries)
			}
		}
	}
	// An empty batch in a frame or in JSON is a recording without spans.
	for _, text := range []string{"\x00\x00\x00\x02\n\x00", `{"resourceSpans":[{}]}`} {
		got := find(write(t, filepath.Join(t.TempDir(), "input"), []byte(text)), ingest.Options{})
		check.Equal(t, text, optest.Found{}, got)
	}
}
