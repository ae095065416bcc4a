package ort

import "strings"

// maxDevices bounds how many providers are remembered; there are a dozen.
const maxDevices = 64

// The devices of nodes that run on the host, and of kernels of which nothing is known.
const (
	hostDevice = "cpu"
	defaultGPU = "cuda"
)

// device returns the device that an execution provider works on, without its number, which the profile does not state:
// CPUExecutionProvider is "cpu", CUDAExecutionProvider "cuda".
func (d *decoder) device(provider []byte) string {
	if name, ok := d.devices[string(provider)]; ok {
		return name
	}
	name := strings.ToLower(strings.TrimSuffix(string(provider), "ExecutionProvider"))
	switch name {
	case "dnnl", "xnnpack", "acl", "armnn": // libraries on the CPU
		name = hostDevice
	case "tensorrt", "nvtensorrtrtx": // libraries on CUDA
		name = defaultGPU
	case "migraphx":
		name = "rocm"
	}
	if len(d.devices) < maxDevices {
		d.devices[string(provider)] = name
	}
	return name
}
