package ort

import "strings"

// maxDevices bounds how many providers are remembered; there are a dozen.
const maxDevices = 64

// device returns the device that an execution provider works on, without its
// number, which the profile does not state: CPUExecutionProvider is "cpu",
// CUDAExecutionProvider "cuda".
func (d *decoder) device(provider []byte) string {
	if name, ok := d.devices[string(provider)]; ok {
		return name
	}
	name := strings.ToLower(strings.TrimSuffix(string(provider), "ExecutionProvider"))
	switch name {
	case "tensorrt", "nvtensorrtrtx": // libraries on CUDA
		name = "cuda"
	case "migraphx":
		name = "rocm"
	}
	if len(d.devices) < maxDevices {
		d.devices[string(provider)] = name
	}
	return name
}
