package peaks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

func TestKnownDevices(t *testing.T) {
	for _, d := range peaks.Known() {
		if d.Device == "" || d.Name == "" || d.Source == "" {
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

// The name in a trace finds the device with its bandwidth; a partition or an unknown device has no peak.
func TestModelsOfTraces(t *testing.T) {
	for model, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "nvidia-h100-sxm", "Tesla V100-DGXS-32GB": "nvidia-v100-sxm2",
		"AMD Instinct MI300X VF": "amd-mi300x", "NVIDIA B300 SXM6 AC": "nvidia-b300-sxm",
		"TPU v5 lite":                      "google-tpu-v5e",
		"NVIDIA A100-SXM4-40GB MIG 1g.5gb": "", "NVIDIA A100-PG509-200": "", "": "",
	} {
		got := ""
		if d := peaks.OfModel(model); d != nil {
			got = d.Device
			check.Equal(t, model, model, d.Model)
		}
		check.Equal(t, model, want, got)
	}
}

// Names of kernels tell TF32 from f32, and else a rate above that of f32.
func TestArithmeticOfFloat32(t *testing.T) {
	h100, v100 := peaks.OfModel("NVIDIA H100 80GB HBM3"), peaks.OfModel("Tesla V100-SXM2-32GB")
	for _, test := range []struct {
		device    *peaks.Device
		dtype     op.DType
		operation string
		tflops    int64
		want      string
		rate      float64
	}{
		{h100, op.F32, "cutlass_80_simt_sgemm_256x128_8x4_nn_align1", 51, "f32", 67e12},
		{h100, op.F32, "cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4", 30, "tf32", 494.7e12},
		{h100, op.F32, "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n", 300, "tf32", 494.7e12},
		{h100, op.F32, "triton_mm", 300, "tf32", 494.7e12},
		{h100, op.F32, "triton_mm", 30, "f32", 67e12},
		{h100, op.BF16, "nvjet_sm90_tst", 734, "bf16", 989.5e12},
		{v100, op.F32, "triton_mm", 30, "f32", 15.7e12},
		{v100, op.BF16, "nvjet", 30, "bf16", 0},
	} {
		rate, name := test.device.Rate(test.dtype, test.operation, test.tflops*1e12, 1e9)
		check.Equal(t, test.operation, test.want, name)
		check.Equal(t, test.operation, test.rate, rate)
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
	golden.Lines(t, "testdata/errors.txt", func(text string) string {
		_, err := peaks.Parse([]byte(text))
		return fmt.Sprint(err)
	})
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

func TestGenerations(t *testing.T) {
	for _, test := range []struct {
		models      string
		cores, tf32 bool
	}{
		{"Tesla P100-PCIE-16GB, Tesla K80, Tesla P40, Quadro P4000, Quadro M60, NVIDIA TITAN Xp", false, false},
		{"NVIDIA GeForce GTX 1080 Ti, NVIDIA GeForce GT 1030, NVIDIA T1000, NVIDIA GeForce MX450", false, false},
		{"Tesla V100-SXM2-32GB, Tesla V100S-PCIE-32GB, NVIDIA TITAN V, NVIDIA TITAN RTX, Quadro GV100", true, false},
		{"Tesla T4, NVIDIA GeForce RTX 2080 Ti, NVIDIA GeForce RTX 2070 SUPER, Quadro RTX 6000", true, false},
		{"NVIDIA GeForce RTX 3090, NVIDIA A100-SXM4-40GB, NVIDIA RTX A4500, NVIDIA RTX 6000 Ada", true, true},
		{"NVIDIA GH200 480GB, NVIDIA H100 PCIe, NVIDIA L4, NVIDIA RTX PRO 6000 Blackwell, NVIDIA A40", true, true},
	} {
		for model := range strings.SplitSeq(test.models, ", ") {
			if got := peaks.HasTensorCores(model); got != test.cores {
				t.Errorf("%s has tensor cores: %t", model, got)
			}
			if got := peaks.HasTF32(model); got != test.tf32 {
				t.Errorf("%s has TF32: %t", model, got)
			}
		}
	}
}
