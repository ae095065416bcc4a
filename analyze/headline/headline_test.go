package headline_test

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/headline"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

const ms = 1_000_000

func device(id string, spanMS, busyMS, computeMS, exposedMS int64) profile.Device {
	return profile.Device{
		DeviceID: id, SpanNS: op.Known(spanMS * ms), BusyNS: op.Known(busyMS * ms), ComputeNS: op.Known(computeMS * ms),
		ExposedCommunicationNS: op.Known(exposedMS * ms),
	}
}

// total returns the total of count operations, of which half have FLOPs and take ns.
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
	busy := "NVIDIA H100 80GB HBM3: busy 90.0 % of 50.0 ms."
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
	for name, test := range map[string]struct {
		facts headline.Facts
		want  string
	}{
		"nothing": {headline.Facts{}, ""},
		"a device at its peak": {full, busy + "|A step takes 15.0 ms from start to start (median of 3 steps)." +
			"|725 TFLOP/s, 73.3 % of the bf16 peak, in 30 of 60 operations; MFU 58.6 %."},
		"work without FLOPs":      {h100s(9, 10*ms, bf16), busy},
		"two kinds of arithmetic": {h100s(9, 40*ms, mixed), busy},
		"faster than the peak":    {h100s(90, 40*ms, bf16), busy},
		"devices that start late": {late,
			"2 × Some GPU: busy 40.0 % of 100 ms on average (20.0 % of the run, 200 ms), " +
				"exposed communication 10.0 %, suspect times included.|No peak is known for Some GPU; -peaks states one."},
		"missing work": {headline.Facts{Devices: one, Total: total(4, 0, 0), ExtentNS: run, Missing: true},
			"cuda:0: the busy share is not known, because work is missing."},
		"no device": {headline.Facts{ExtentNS: run, Host: 7},
			"No device operation was recorded: the host ran 7 operations within 50.0 ms."},
		"no starts":     {timeless, "2 devices: 4 operations, 40.0 ms in all; starts are not known."},
		"steps at once": {atOnce, "cuda:0: busy 90.0 % of 50.0 ms.|9 requests: p50 4.00 ms, p95 9.00 ms (POST /)."},
		"requests":      {served, "cuda:0: busy 90.0 % of 50.0 ms.|9 requests: p50 4.00 ms, p95 9.00 ms (POST /)."},
		"a step":        {trained, "cuda:0: busy 90.0 % of 50.0 ms.|1 step: 100 ms (train_step)."},
	} {
		got := ""
		if h := headline.Of(&test.facts); h != nil {
			got = strings.Join(h.Text, "|")
		}
		check.Equal(t, name, test.want, got)
	}
}
