package peaks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestKnownDevices(t *testing.T) {
	for _, d := range peaks.Known() {
		if d.Device == "" || d.Name == "" || !strings.Contains(d.Source, "data sheet") {
			t.Errorf("%+v is not described", d)
		}
		if !(d.BytesPerSecond > 1e11 && d.BytesPerSecond < 1e13) {
			t.Errorf("%s: %g bytes per second", d.Device, d.BytesPerSecond)
		}
		for dtype, peak := range d.FLOPsPerSecond {
			if dtype.Size() == 0 || !(peak > 1e12 && peak < 1e16) {
				t.Errorf("%s: %g operations per second on %s", d.Device, peak, dtype)
			}
		}
		table, ok := peaks.Of(d.Device)
		if !ok || table.Find("cuda:0") == nil {
			t.Errorf("%s is not found", d.Device)
		}
		file, err := peaks.Parse([]byte(`{"devices":[{"match":"cuda:*","device":"` + d.Device + `"}]}`))
		if err != nil {
			t.Error(err)
			continue
		}
		want := d
		want.Match = "cuda:*"
		check.Equal(t, fmt.Sprint(d.Device), &want, file.Find("cuda:3"))
		if file.Find("cpu") != nil {
			t.Errorf("%s: a CPU", d.Device)
		}
	}
}

func TestParse(t *testing.T) {
	table := check.Must(peaks.Parse([]byte(`{"devices":[
		{"match":"cpu","name":"host","memory_bytes_per_second":2e11,"flops_per_second":{"float32":3e12,"f64":1.5e12}},
		{"match":"*GPU*1","memory_bytes_per_second":1,"flops_per_second":{}},
		{"device":"nvidia-h200-sxm"}]}`)))(t)
	want := &peaks.Device{
		Match: "cpu", Name: "host", BytesPerSecond: 2e11,
		FLOPsPerSecond: map[op.DType]float64{op.F32: 3e12, op.F64: 1.5e12},
	}
	check.Equal(t, "cpu", want, table.Find("cpu"))
	for id, bytes := range map[string]float64{"/device:GPU:1": 1, "GPU1": 1, "GPU0": 4.8e12, "GP1U": 4.8e12,
		"": 4.8e12, "cpu:0": 4.8e12} {
		check.Equal(t, fmt.Sprintf("%q: bytes per second", id), bytes, table.Find(id).BytesPerSecond)
	}
	device := func(members string) string { return `{"devices":[{` + members + `}]}` }
	const peak = `"memory_bytes_per_second":1`
	for text, want := range map[string]string{
		``:                                      "EOF",
		`{"devices":[]}`:                        "no devices",
		`{"devices":[]} 1`:                      "unexpected text after the object",
		`{"devises":[]}`:                        "unknown field",
		device(`"device":"nvidia-h101"`):        `device 1: "nvidia-h101" is not known; known are nvidia-v100-sxm2`,
		device(`"device":"amd-mi300x",` + peak): "has peaks already",
		device(`"match":"cpu"`):                 "memory_bytes_per_second is 0",
		device(`"memory_bytes_per_second":-1`):  "memory_bytes_per_second is -1",
		device(peak + `,"flops_per_second":{"f33":1}`):           `"f33" is not an element type`,
		device(peak + `,"flops_per_second":{"f32":0}`):           "flops_per_second of f32 is 0",
		device(peak + `,"flops_per_second":{"f32":1,"float":2}`): "repeated type f32",
	} {
		_, err := peaks.Parse([]byte(text))
		check.Says(t, text, want, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"devices":[{"match":"cuda:*","device":"nvidia-h100-sxm"}]}`), "cuda:0")
	f.Add([]byte(`{"devices":[{"match":"a*b*a","memory_bytes_per_second":1,"flops_per_second":{"f32":1}}]}`), "aba")
	f.Fuzz(func(t *testing.T, text []byte, id string) {
		table, err := peaks.Parse(text)
		if err != nil {
			return
		}
		if d := table.Find(id); d != nil && !(d.BytesPerSecond > 0) {
			t.Errorf("%+v", d)
		}
	})
}
