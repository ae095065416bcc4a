package headline_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/headline"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

const ms = 1_000_000

func device(id string, spanMS, busyMS, computeMS, exposedMS int64) profile.Device {
	return profile.Device{
		DeviceID: id, SpanNS: op.Known(spanMS * ms), BusyNS: op.Known(busyMS * ms), ComputeNS: op.Known(computeMS * ms),
		ExposedCommunicationNS: op.Known(exposedMS * ms),
	}
}

// total returns the total of count operations. Half of them have FLOPs, and take ns.
func total(count, tflop, ns int64) profile.Total {
	t := profile.Total{Count: count, SumNS: 40 * ms, FLOPs: tflop * 1e12}
	if tflop > 0 {
		t.Figures = work.Figures{FLOPsCount: count / 2,
			FLOPsPerSecond: op.KnownFloat(float64(tflop) * 1e21 / float64(ns))}
	}
	return t
}

func TestHeadline(t *testing.T) {
	bf16 := work.Used{{Name: "bf16", PeakFLOPsPerSecond: 989.5e12}: 90e12}
	mixed := work.Used{{Name: "bf16", PeakFLOPsPerSecond: 989.5e12}: 5e12, {Name: "f32",
		PeakFLOPsPerSecond: 67e12}: 4e12}
	h100 := []string{"NVIDIA H100 80GB HBM3"}
	one := []profile.Device{device("cuda:0", 50, 45, 40, 0)}
	run := op.Known(50 * ms)
	h100s := func(tflop, ns int64, used work.Used) headline.Facts {
		return headline.Facts{Models: h100, Devices: one, Total: total(60, tflop, ns), ExtentNS: run, Used: used}
	}
	full := h100s(29, 40*ms, bf16)
	full.Steps = []steps.Row{{ToNextNS: op.Known(16 * ms)}, {ToNextNS: op.Known(15 * ms)}, {ToNextNS: op.Known(15 * ms)}}
	late := headline.Facts{
		Models: []string{"Some GPU"}, Total: total(4, 0, 0), ExtentNS: op.Known(200 * ms), Suspect: true,
		Devices: []profile.Device{device("cuda:0", 50, 45, 25, 20), device("cuda:1", 150, 35, 35, 0)},
	}
	served := headline.Facts{Devices: one, Total: total(4, 0, 0), ExtentNS: run}
	served.Alike = []requests.Alike{{Name: "POST /", Count: 9, MedianNS: 4 * ms, P95NS: 9 * ms}}
	atOnce := served
	atOnce.Steps = []steps.Row{{ToNextNS: op.Known(0)}, {ToNextNS: op.Known(0)}, {ToNextNS: op.Known(5)}}
	trained := served
	trained.Alike = []requests.Alike{{Name: "train_step", Count: 1, MedianNS: 100 * ms, P95NS: 100 * ms}}
	trained.Steps = []steps.Row{{Name: "train_step", ToNextNS: op.Known(90 * ms)}}
	timeless := headline.Facts{Devices: []profile.Device{{DeviceID: "cuda:0"}, {DeviceID: "cuda:1"}},
		Total: total(4, 0, 0)}
	texts := make(map[string][]string)
	for name, facts := range map[string]headline.Facts{
		"nothing": {}, "a device at its peak": full, "work without FLOPs": h100s(9, 10*ms, bf16),
		"two kinds of arithmetic": h100s(9, 40*ms, mixed), "faster than the peak": h100s(90, 40*ms, bf16),
		"devices that start late": late, "no starts": timeless, "steps at once": atOnce, "requests": served, "a step": trained,
		"missing work": {Devices: one, Total: total(4, 0, 0), ExtentNS: run, Missing: true},
		"no device":    {ExtentNS: run, Host: 7},
	} {
		if h := headline.Of(&facts); h != nil {
			texts[name] = h.Text
		}
	}
	golden.JSON(t, "testdata/headlines.json", texts)
}
